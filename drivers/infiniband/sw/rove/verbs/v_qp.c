// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/rove-abi.h>
#include <rdma/uverbs_ioctl.h>
#include "../obj/area.h"
#include "../obj/dev.h"
#include "../obj/qp.h"
#include "../obj/uctx.h"
#include "mmap.h"
#include "v_qp.h"

static_assert(sizeof(struct rove_create_qp_req) == 16);
static_assert(sizeof(struct rove_create_qp_resp) == 56);

static int check_request(struct ib_udata *udata)
{
	struct rove_create_qp_req req;
	int err;

	err = ib_copy_validate_udata_in_cm(udata, req, reserved_40, 0);
	if (err)
		return err;
	return req.reserved_40 ? -EOPNOTSUPP : 0;
}

/* Tells the process where its rings are and how to ring. */
static int respond(struct rove_ibqp *shell, struct rove_uctx *u, struct ib_udata *udata)
{
	struct rove_create_qp_resp resp = {};
	struct rove_qp *qp = shell->qp;
	int err;

	/* An XRC target has nothing that it could fill. */
	if (!qp->uctx)
		return ib_respond_udata(udata, resp);

	shell->mmap = rove_mmap_insert(&u->ib, qp->mem, &resp.offset);
	if (IS_ERR(shell->mmap))
		return PTR_ERR(shell->mmap);

	resp.length = qp->mem->len;
	resp.db_slot = qp->db_slot;
	resp.sq_offset = qp->sq_offset;
	resp.sq_entries = qp->sq_entries;
	resp.sq_stride = qp->sq_stride;
	resp.rq_offset = qp->rq_offset;
	resp.rq_entries = qp->rq_entries;
	resp.rq_stride = qp->rq_stride;
	resp.max_inline = qp->limits.max_inline;
	err = ib_respond_udata(udata, resp);
	if (err)
		rdma_user_mmap_entry_remove(shell->mmap);
	return err;
}

int rove_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct rove_uctx *u = rdma_udata_to_drv_context(udata, struct rove_uctx, ib);
	struct rove_ibqp *shell = container_of(ib, struct rove_ibqp, ib);
	int err;

	if (udata) {
		err = check_request(udata);
		if (err)
			return err;
	}

	shell->qp = rove_qp_create(rove_dev_of(ib->device), ib->pd, ib, init, u);
	if (IS_ERR(shell->qp))
		return PTR_ERR(shell->qp);
	ib->qp_num = shell->qp->qpn;

	if (udata) {
		err = respond(shell, u, udata);
		if (err) {
			rove_qp_destroy(shell->qp);
			return err;
		}
	}
	return 0;
}

int rove_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	return rove_qp_modify(rove_qp_of(ib), attr, mask);
}

int rove_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	rove_qp_query(rove_qp_of(ib), attr, init);
	return 0;
}

int rove_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct rove_ibqp *shell = container_of(ib, struct rove_ibqp, ib);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;
	rdma_user_mmap_entry_remove(shell->mmap);
	rove_qp_destroy(shell->qp);
	return 0;
}
