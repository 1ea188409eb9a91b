// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/rove-abi.h>
#include <rdma/uverbs_ioctl.h>
#include "../obj/area.h"
#include "../obj/dev.h"
#include "../obj/srq.h"
#include "../obj/uctx.h"
#include "mmap.h"
#include "v_srq.h"

static_assert(sizeof(struct rove_create_srq_req) == 16);
static_assert(sizeof(struct rove_create_srq_resp) == 32);
static_assert(sizeof(struct rove_modify_srq_req) == 16);

static int check_request(struct ib_udata *udata)
{
	struct rove_create_srq_req req;
	int err;

	err = ib_copy_validate_udata_in_cm(udata, req, reserved_40, 0);
	if (err)
		return err;
	return req.reserved_40 ? -EOPNOTSUPP : 0;
}

/* Tells the process where the ring is. */
static int respond(struct rove_ibsrq *shell, struct ib_udata *udata)
{
	struct rove_uctx *u = rdma_udata_to_drv_context(udata, struct rove_uctx, ib);
	struct rove_create_srq_resp resp = {};
	struct rove_srq *srq = shell->srq;
	int err;

	shell->mmap = rove_mmap_insert(&u->ib, srq->mem, &resp.offset);
	if (IS_ERR(shell->mmap))
		return PTR_ERR(shell->mmap);

	resp.length = srq->mem->len;
	resp.entries = srq->entries;
	resp.stride = srq->stride;
	resp.max_sge = srq->max_sge;
	err = ib_respond_udata(udata, resp);
	if (err)
		rdma_user_mmap_entry_remove(shell->mmap);
	return err;
}

int rove_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct rove_ibsrq *shell = container_of(ib, struct rove_ibsrq, ib);
	int err;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (init->srq_type == IB_SRQT_XRC && (!udata || !init->ext.xrc.xrcd || !init->ext.cq))
		return -EINVAL;
	if (udata) {
		err = check_request(udata);
		if (err)
			return err;
	}

	shell->srq = rove_srq_create(rove_dev_of(ib->device), ib->pd, ib, init, udata);
	if (IS_ERR(shell->srq))
		return PTR_ERR(shell->srq);
	if (init->srq_type == IB_SRQT_XRC)
		ib->ext.xrc.srq_num = shell->srq->srqn;

	if (udata) {
		err = respond(shell, udata);
		if (err) {
			rove_srq_destroy(shell->srq);
			return err;
		}
	}
	return 0;
}

/* ---- modify ---------------------------------------------------------------- */

static void forget_next(struct rove_ibsrq *shell)
{
	rdma_user_mmap_entry_remove(shell->next_mmap);
	shell->next_mmap = NULL;
}

/* A new area, which the process is to map. */
static int prepare_resize(struct rove_ibsrq *shell, u32 max_wr, struct ib_udata *udata)
{
	struct rove_uctx *u = rdma_udata_to_drv_context(udata, struct rove_uctx, ib);
	struct rove_srq *srq = shell->srq;
	struct rove_srq_hdr *hdr = srq->mem->addr;
	struct rdma_user_mmap_entry *mmap;
	u64 offset;
	int err;

	err = rove_srq_prepare(srq, max_wr);
	if (err)
		return err;
	forget_next(shell);
	mmap = rove_mmap_insert(&u->ib, srq->next_mem, &offset);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	shell->next_mmap = mmap;
	WRITE_ONCE(hdr->next_entries, srq->next_entries);
	WRITE_ONCE(hdr->next_offset, offset);
	WRITE_ONCE(hdr->next_length, srq->next_mem->len);
	return 0;
}

static int commit_resize(struct rove_ibsrq *shell, u32 max_wr)
{
	struct rove_srq *srq = shell->srq;
	int err;

	if (!shell->next_mmap || srq->next_entries < max_wr)
		return -EINVAL;
	err = rove_srq_commit(srq);
	if (!err)
		swap(shell->mmap, shell->next_mmap);
	forget_next(shell);
	return err;
}

static int resize(struct rove_ibsrq *shell, u32 max_wr, u32 step, struct ib_udata *udata)
{
	int err;

	switch (step) {
	case ROVE_RESIZE_PREPARE:
		return prepare_resize(shell, max_wr, udata);
	case ROVE_RESIZE_COMMIT:
		return commit_resize(shell, max_wr);
	}
	/* The kernel's own has nothing to map. */
	if (udata)
		return -EOPNOTSUPP;
	err = rove_srq_prepare(shell->srq, max_wr);
	return err ?: rove_srq_commit(shell->srq);
}

int rove_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata)
{
	struct rove_ibsrq *shell = container_of(ib, struct rove_ibsrq, ib);
	struct rove_modify_srq_req req = {};
	struct rove_srq *srq = shell->srq;
	int err = 0;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (udata) {
		err = ib_copy_validate_udata_in_cm(udata, req, reserved_60, 0);
		if (err)
			return err;
	}
	if (req.reserved_60 || (req.step && !(mask & IB_SRQ_MAX_WR)))
		return -EOPNOTSUPP;
	/* Both or nothing. */
	if ((mask & IB_SRQ_MAX_WR) && (mask & IB_SRQ_LIMIT) && attr->srq_limit > attr->max_wr)
		return -EINVAL;

	mutex_lock(&srq->mutex);
	if (mask & IB_SRQ_MAX_WR)
		err = resize(shell, attr->max_wr, req.step, udata);
	if (!err && (mask & IB_SRQ_LIMIT) && req.step != ROVE_RESIZE_PREPARE)
		err = rove_srq_set_limit(srq, attr->srq_limit);
	mutex_unlock(&srq->mutex);
	return err;
}

int rove_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct rove_srq *srq = rove_srq_of(ib);

	mutex_lock(&srq->mutex);
	attr->max_wr = srq->entries;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	mutex_unlock(&srq->mutex);
	return 0;
}

int rove_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct rove_ibsrq *shell = container_of(ib, struct rove_ibsrq, ib);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;
	forget_next(shell);
	rdma_user_mmap_entry_remove(shell->mmap);
	rove_srq_destroy(shell->srq);
	return 0;
}
