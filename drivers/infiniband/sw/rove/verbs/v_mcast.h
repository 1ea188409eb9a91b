/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_V_MCAST_H
#define ROVE_VERBS_V_MCAST_H

#include <rdma/ib_verbs.h>

int rove_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid);
int rove_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid);

#endif /* ROVE_VERBS_V_MCAST_H */
