// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/rove-abi.h>
#include <rdma/uverbs_ioctl.h>
#include "../obj/area.h"
#include "../obj/dev.h"
#include "../obj/qp.h"
#include "../obj/uctx.h"
#include "mmap.h"
#include "v_ctx.h"

static_assert(sizeof(struct rove_uctx_req) == 16);
static_assert(sizeof(struct rove_uctx_resp) == 40);

/* Which version both sides speak. There is one so far. */
static int negotiate(const struct rove_uctx_req *req)
{
	if (req->abi_min > ROVE_ABI_VERSION || req->abi_max < ROVE_ABI_VERSION)
		return -EPROTONOSUPPORT;
	return 0;
}

int rove_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata)
{
	struct rove_uctx *u = rove_uctx_of(ctx);
	struct rove_uctx_resp resp = {};
	struct rove_uctx_req req;
	int err;

	err = ib_copy_validate_udata_in_cm(udata, req, abi_max, 0);
	if (err)
		return err;
	err = negotiate(&req);
	if (err) {
		ibdev_dbg(ctx->device, "the provider speaks ABI %u to %u, the module %u\n",
			  req.abi_min, req.abi_max, ROVE_ABI_VERSION);
		return err;
	}

	err = rove_uctx_init(u, rove_dev_of(ctx->device));
	if (err)
		return err;
	u->mmap = rove_mmap_insert(ctx, u->mem, &resp.db_offset);
	if (IS_ERR(u->mmap)) {
		err = PTR_ERR(u->mmap);
		goto err_uctx;
	}
	/* The first of a context: see rove_query_ucontext(). */
	if (WARN_ON_ONCE(resp.db_offset != ROVE_DB_OFFSET)) {
		err = -EBUSY;
		goto err_mmap;
	}

	resp.abi = ROVE_ABI_VERSION;
	resp.db_slots = ROVE_DB_SLOTS;
	resp.db_length = u->mem->len;
	resp.max_inline = ROVE_MAX_INLINE;
	resp.max_send_sge = ROVE_MAX_SGE;
	resp.max_recv_sge = ROVE_MAX_SGE;
	err = ib_respond_udata(udata, resp);
	if (err)
		goto err_mmap;
	return 0;

err_mmap:
	rdma_user_mmap_entry_remove(u->mmap);
err_uctx:
	rove_uctx_exit(u);
	return err;
}

/* For who imports the context: all that is to be known of it is known already. */
int rove_query_ucontext(struct ib_ucontext *ctx, struct uverbs_attr_bundle *attrs)
{
	return 0;
}

void rove_dealloc_ucontext(struct ib_ucontext *ctx)
{
	struct rove_uctx *u = rove_uctx_of(ctx);

	rdma_user_mmap_entry_remove(u->mmap);
	rove_uctx_exit(u);
}

/*
 * Having this, the core lets the device go under processes that use it. What they
 * have mapped is memory and stays as it is.
 */
void rove_disassociate_ucontext(struct ib_ucontext *ctx)
{
}

int rove_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}

int rove_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}

int rove_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}

int rove_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}
