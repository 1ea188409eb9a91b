// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: creation, states, and finding them by number. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "compat.h"
#include "rove-abi.h"
#include "rove.h"

#define SUPPORTED_COMP_MASK	(IBV_QP_INIT_ATTR_PD |			\
				 IBV_QP_INIT_ATTR_XRCD |		\
				 IBV_QP_INIT_ATTR_CREATE_FLAGS |	\
				 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

/* ---- the table of QPs by number --------------------------------------------- */

static u32 dir_index(u32 qpn)
{
	return qpn >> ROVE_QP_TABLE_BITS & ROVE_QP_TABLE_MASK;
}

static struct rove_qp *table_find(struct rove_context *ctx, u32 qpn)
{
	struct rove_qp_leaf *leaf = smp_load_acquire(&ctx->qp_dir[dir_index(qpn)]);

	return leaf ? smp_load_acquire(&leaf->qp[qpn & ROVE_QP_TABLE_MASK]) : NULL;
}

/*
 * Called with the lock of a CQ held in which the QP has a completion: the QP
 * stays until that one has been cleaned away, which takes the same lock. A target
 * of XRC is not in the table, so nothing keeps the leaf that it would be in.
 */
struct rove_qp *rove_qp_find(struct rove_context *ctx, u32 qpn, bool any)
{
	struct rove_qp *qp;

	if (likely(!any))
		return table_find(ctx, qpn);
	pthread_mutex_lock(&ctx->qp_mutex);
	qp = table_find(ctx, qpn);
	pthread_mutex_unlock(&ctx->qp_mutex);
	return qp;
}

static int table_insert(struct rove_context *ctx, struct rove_qp *qp)
{
	u32 qpn = qp->vqp.qp.qp_num;
	u32 dir = dir_index(qpn);
	struct rove_qp_leaf *leaf;
	int err = 0;

	pthread_mutex_lock(&ctx->qp_mutex);
	leaf = ctx->qp_dir[dir];
	if (!leaf) {
		leaf = calloc(1, sizeof(*leaf));
		if (!leaf) {
			err = ENOMEM;
			goto out;
		}
		smp_store_release(&ctx->qp_dir[dir], leaf);
	}
	leaf->users++;
	smp_store_release(&leaf->qp[qpn & ROVE_QP_TABLE_MASK], qp);
out:
	pthread_mutex_unlock(&ctx->qp_mutex);
	return err;
}

static void table_remove(struct rove_context *ctx, struct rove_qp *qp)
{
	u32 qpn = qp->vqp.qp.qp_num;
	u32 dir = dir_index(qpn);
	struct rove_qp_leaf *leaf;

	pthread_mutex_lock(&ctx->qp_mutex);
	leaf = ctx->qp_dir[dir];
	/* The module may have given the number away again by now. */
	if (leaf->qp[qpn & ROVE_QP_TABLE_MASK] == qp)
		smp_store_release(&leaf->qp[qpn & ROVE_QP_TABLE_MASK], NULL);
	if (!--leaf->users) {
		smp_store_release(&ctx->qp_dir[dir], NULL);
		free(leaf);
	}
	pthread_mutex_unlock(&ctx->qp_mutex);
}

/* ---- creation --------------------------------------------------------------- */

/*
 * Handles of another context would name other objects in the kernel than those that
 * completions are looked for in here.
 */
static bool is_of(const struct ibv_cq *cq, const struct ibv_context *ctx)
{
	return cq && cq->context == ctx;
}

static int check_init_attr(const struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	u32 ops = rove_post_ops(attr->qp_type);

	if ((!ops && attr->qp_type != IBV_QPT_XRC_RECV) ||
	    !check_comp_mask(attr->comp_mask, SUPPORTED_COMP_MASK))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	    !check_comp_mask(attr->send_ops_flags, rove_post_ex_flags(ops)))
		return EOPNOTSUPP;
	switch (attr->qp_type) {
	case IBV_QPT_XRC_RECV:
		return 0;
	case IBV_QPT_XRC_SEND:
		return is_of(attr->send_cq, ctx) ? 0 : EINVAL;
	default:
		if (attr->srq && attr->srq->context != ctx)
			return EINVAL;
		return is_of(attr->send_cq, ctx) && is_of(attr->recv_cq, ctx) ? 0 : EINVAL;
	}
}

static bool queue_ok(u32 entries, u32 stride, u32 offset, u32 length)
{
	return !(entries & (entries - 1)) && stride % sizeof(u64) == 0 &&
	       offset % sizeof(u64) == 0 && offset >= sizeof(struct rove_qp_hdr) &&
	       offset + (u64)entries * stride <= length;
}

/* Each WR that the limits allow fits its slot, and each slot the area. */
static bool resp_ok(const struct urove_create_qp_resp *resp, const struct ibv_qp_cap *cap)
{
	u64 send_sges = (u64)cap->max_send_sge * sizeof(struct rove_sge);
	u64 recv_sges = (u64)cap->max_recv_sge * sizeof(struct rove_sge);

	if (!resp->sq_entries ||
	    !queue_ok(resp->sq_entries, resp->sq_stride, resp->sq_offset, resp->length) ||
	    sizeof(struct rove_sqe) + send_sges > resp->sq_stride ||
	    sizeof(struct rove_sqe) + (u64)resp->max_inline > resp->sq_stride ||
	    resp->max_inline > UINT16_MAX)
		return false;
	/* None with an SRQ, and for XRC. */
	return !resp->rq_entries ||
	       (queue_ok(resp->rq_entries, resp->rq_stride, resp->rq_offset, resp->length) &&
		sizeof(struct rove_rqe) + recv_sges <= resp->rq_stride);
}

static void init_wq(struct rove_wq *wq, u32 *prod, u32 *cons, void *slots,
		    u32 entries, u32 stride, u32 max_sge)
{
	pthread_spin_init(&wq->lock, PTHREAD_PROCESS_PRIVATE);
	rove_ring_init(&wq->ring, prod, cons, slots, entries, stride);
	wq->max_sge = max_sge;
}

static void init_queues(struct rove_qp *qp, void *area, const struct urove_create_qp_resp *resp,
			const struct ibv_qp_cap *cap)
{
	struct rove_qp_hdr *hdr = area;

	qp->hdr = hdr;
	init_wq(&qp->sq, &hdr->sq_prod, &hdr->sq_cons, area + resp->sq_offset,
		resp->sq_entries, resp->sq_stride, cap->max_send_sge);
	init_wq(&qp->rq, &hdr->rq_prod, &hdr->rq_cons, area + resp->rq_offset,
		resp->rq_entries, resp->rq_stride, cap->max_recv_sge);
}

static void destroy_queues(struct rove_qp *qp)
{
	pthread_spin_destroy(&qp->rq.lock);
	pthread_spin_destroy(&qp->sq.lock);
	munmap(qp->hdr, qp->length);
}

/* Maps the queues of a QP that exists in the module. */
static int map_queues(struct rove_context *ctx, struct rove_qp *qp,
		      struct ibv_qp_init_attr_ex *attr, const struct urove_create_qp_resp *resp)
{
	struct ibv_qp_cap *cap = &attr->cap;
	void *area;

	if (!resp_ok(resp, cap)) {
		verbs_err(&ctx->vctx, "the module describes a QP that cannot be\n");
		return EPROTO;
	}
	area = rove_map(&ctx->vctx.context, resp->offset, resp->length);
	if (!area)
		return errno;

	qp->length = resp->length;
	qp->db_slot = resp->db_slot < ctx->db_slots ? resp->db_slot : ROVE_DB_NO_SLOT;
	qp->max_inline = resp->max_inline;
	init_queues(qp, area, resp, cap);

	cap->max_send_wr = resp->sq_entries;
	cap->max_recv_wr = resp->rq_entries;
	cap->max_inline_data = resp->max_inline;
	return 0;
}

/* Its receive CQ, if that is another than the send CQ. */
static struct rove_cq *own_recv_cq(struct rove_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	/* What an XRC initiator was given as such is not its own, and may be gone. */
	if (!ibqp->recv_cq || ibqp->recv_cq == ibqp->send_cq || ibqp->qp_type == IBV_QPT_XRC_SEND)
		return NULL;
	return to_rove_cq(ibqp->recv_cq);
}

/*
 * To the module the CQs are free once the QP is destroyed, and another thread may
 * destroy them before they are cleaned here.
 */
static void get_cqs(struct rove_qp *qp)
{
	struct rove_cq *recv_cq = own_recv_cq(qp);

	rove_cq_get(to_rove_cq(qp->vqp.qp.send_cq));
	if (recv_cq)
		rove_cq_get(recv_cq);
}

static void put_cqs(struct rove_qp *qp)
{
	struct rove_cq *recv_cq = own_recv_cq(qp);

	rove_cq_put(to_rove_cq(qp->vqp.qp.send_cq));
	if (recv_cq)
		rove_cq_put(recv_cq);
}

/*
 * The target of XRC is kept by the kernel, and has no queues: a handle to change its
 * state. Its completions belong to SRQs.
 */
static struct rove_qp *alloc_target(void)
{
	struct rove_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	/* Who posts to it is refused under these. */
	pthread_spin_init(&qp->sq.lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp->rq.lock, PTHREAD_PROCESS_PRIVATE);
	return qp;
}

static void free_target(struct rove_qp *qp)
{
	pthread_spin_destroy(&qp->rq.lock);
	pthread_spin_destroy(&qp->sq.lock);
	free(qp);
}

static struct ibv_qp *create_target(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct urove_create_qp_resp resp = {};
	struct urove_create_qp cmd = {};
	struct rove_qp *qp;
	int err;

	qp = alloc_target();
	if (!qp)
		return NULL;
	err = rove_cmd_create_qp(ctx, &qp->vqp, attr, &cmd.ibv_cmd, sizeof(cmd),
				 &resp.ibv_resp, sizeof(resp));
	if (err) {
		free_target(qp);
		errno = err;
		return NULL;
	}
	return &qp->vqp.qp;
}

struct ibv_qp *rove_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	struct rove_qp *qp;
	int err;

	qp = alloc_target();
	if (!qp)
		return NULL;
	err = ibv_cmd_open_qp(ctx, &qp->vqp, sizeof(qp->vqp), attr, &cmd, sizeof(cmd),
			      &resp, sizeof(resp));
	if (err) {
		free_target(qp);
		errno = err;
		return NULL;
	}
	return &qp->vqp.qp;
}

struct ibv_qp *rove_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr)
{
	struct rove_context *ctx = to_rove_ctx(ibctx);
	struct urove_create_qp_resp resp = {};
	struct urove_create_qp cmd = {};
	struct rove_qp *qp;
	int err;

	err = check_init_attr(ibctx, attr);
	if (err) {
		errno = err;
		return NULL;
	}
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return create_target(ibctx, attr);

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	err = rove_cmd_create_qp(ibctx, &qp->vqp, attr, &cmd.ibv_cmd, sizeof(cmd),
				 &resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	err = map_queues(ctx, qp, attr, &resp);
	if (err)
		goto err_destroy;
	err = table_insert(ctx, qp);
	if (err)
		goto err_unmap;

	get_cqs(qp);
	qp->ops = rove_post_ops(attr->qp_type);
	qp->sq_sig_all = attr->sq_sig_all;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		rove_post_init_ex(qp, attr->send_ops_flags);
	return &qp->vqp.qp;

err_unmap:
	destroy_queues(qp);
err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	free(qp);
	errno = err;
	return NULL;
}

struct ibv_qp *rove_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = rove_create_qp_ex(pd->context, &attr_ex);

	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

/* ---- the rest of its life ---------------------------------------------------- */

/* The module writes no more completions of this QP. */
static void clean_cqs(struct rove_qp *qp)
{
	struct rove_cq *recv_cq = own_recv_cq(qp);

	rove_cq_clean(to_rove_cq(qp->vqp.qp.send_cq), qp->vqp.qp.qp_num);
	if (recv_cq)
		rove_cq_clean(recv_cq, qp->vqp.qp.qp_num);
}

static void reset_wq(struct rove_wq *wq)
{
	wq->ring.head = 0;
	wq->limit = 0;
	WRITE_ONCE(wq->completed, 0);
}

/*
 * The module empties both queues and starts their indices at 0 again. Nothing
 * may be posted in between: its index would be that of the queue's former life.
 */
static int modify_to_reset(struct rove_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};
	int err;

	pthread_spin_lock(&qp->sq.lock);
	pthread_spin_lock(&qp->rq.lock);
	err = ibv_cmd_modify_qp(&qp->vqp.qp, attr, mask, &cmd, sizeof(cmd));
	if (!err) {
		clean_cqs(qp);
		reset_wq(&qp->sq);
		reset_wq(&qp->rq);
		/* libibverbs does it too, but only after the locks are open. */
		qp->vqp.qp.state = IBV_QPS_RESET;
	}
	pthread_spin_unlock(&qp->rq.lock);
	pthread_spin_unlock(&qp->sq.lock);
	return err;
}

int rove_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET && to_rove_qp(ibqp)->hdr)
		return modify_to_reset(to_rove_qp(ibqp), attr, mask);
	return ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
}

int rove_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		  struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, mask, init_attr, &cmd, sizeof(cmd));
}

int rove_destroy_qp(struct ibv_qp *ibqp)
{
	struct rove_qp *qp = to_rove_qp(ibqp);
	int err;

	err = ibv_cmd_destroy_qp(ibqp);
	if (err)
		return err;

	if (!qp->hdr) {
		free_target(qp);
		return 0;
	}
	clean_cqs(qp);
	put_cqs(qp);
	table_remove(to_rove_ctx(ibqp->context), qp);
	destroy_queues(qp);
	free(qp);
	return 0;
}
