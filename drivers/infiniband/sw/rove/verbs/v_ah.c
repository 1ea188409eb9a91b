// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/rove-abi.h>
#include <rdma/uverbs_ioctl.h>
#include "../obj/ah.h"
#include "../obj/dev.h"
#include "v_ah.h"

static_assert(sizeof(struct rove_create_ah_resp) == 8);

int rove_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct rove_ibah *shell = container_of(ib, struct rove_ibah, ib);
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL_ACCOUNT : GFP_ATOMIC;
	struct rove_create_ah_resp resp = {};
	struct rove_ah *ah;
	int err;

	err = ib_is_udata_in_empty(udata);
	if (err)
		return err;

	ah = rove_ah_create(rove_dev_of(ib->device), ib->pd, init->ah_attr, gfp);
	if (IS_ERR(ah))
		return PTR_ERR(ah);

	if (udata) {
		resp.ah = ah->handle;
		err = ib_respond_udata(udata, resp);
		if (err) {
			rove_ah_destroy(ah);
			return err;
		}
	}
	shell->ah = ah;
	return 0;
}

int rove_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	*attr = rove_ah_of(ib)->attr;
	return 0;
}

int rove_destroy_ah(struct ib_ah *ib, u32 flags)
{
	rove_ah_destroy(rove_ah_of(ib));
	return 0;
}
