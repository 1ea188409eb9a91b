// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "../obj/mcast.h"
#include "../obj/qp.h"
#include "v_mcast.h"

/* The core has checked that the QP is of UD and the GID of a group; there are no LIDs. */
int rove_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	return rove_mcast_attach(rove_qp_of(ib), gid);
}

int rove_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	return rove_mcast_detach(rove_qp_of(ib), gid);
}
