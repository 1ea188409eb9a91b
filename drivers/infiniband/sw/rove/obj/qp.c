// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: numbers, life, attributes and states.
 *
 * A QP is found by number under RCU and run under its halves. rove_qp_destroy()
 * takes both halves for good: whoever finds the QP after that finds it busy and
 * dead, and goes. It is freed after a grace period.
 */
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "../trace.h"
#include "../wire/opcode.h"
#include "absent.h"
#include "area.h"
#include "cq.h"
#include "dev.h"
#include "half.h"
#include "keep.h"
#include "qp.h"
#include "responder.h"
#include "run.h"
#include "srq.h"
#include "uctx.h"

/* Private send WQEs: how many at first, how many times more at a time, and bytes. */
#define SLOTS_FIRST	16U
#define SLOTS_STEP	4
#define SLOTS_GROW_MAX	SZ_64K

#define GSI_QPN		1
/* 0 and 1 are special, 0xffffff is multicast. */
#define QPN_MIN		16
#define QPN_MAX		0xfffffe

/* SEND and WRITE bytes in flight on one QP. */
#define WINDOW_BYTES	(1024 * 1024)
/* READ bytes asked for and not there yet, and those that one request asks for. */
#define READ_WINDOW	(1024 * 1024)
#define READ_CHUNK	(READ_WINDOW / 2)
/* PSNs behind a lost one that are worth keeping: a window of small packets. */
#define KEEP_PSNS	(WINDOW_BYTES / 256)

/* All QPs of the module but the GSI ones, by number: one listener serves all
 * links of a namespace, and the number tells the link.
 */
static DEFINE_XARRAY_ALLOC(qps);
static u32 next_qpn;

struct rove_qp *rove_qp_find(u32 qpn)
{
	return xa_load(&qps, qpn);
}

/* ---- creation ------------------------------------------------------------- */

static int check_init(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_GSI:
	case IB_QPT_XRC_INI:
		break;
	case IB_QPT_XRC_TGT:
		/* It has no queues: requests name SRQs. */
		return init->create_flags || !init->xrcd ? -EINVAL : 0;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags || init->rwq_ind_tbl || (init->srq && init->qp_type == IB_QPT_GSI))
		return -EOPNOTSUPP;
	if (!init->send_cq || (!init->recv_cq && init->qp_type != IB_QPT_XRC_INI))
		return -EINVAL;
	if (cap->max_send_wr > ROVE_MAX_WR || cap->max_send_sge > ROVE_MAX_SGE ||
	    cap->max_inline_data > ROVE_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > ROVE_MAX_WR || cap->max_recv_sge > ROVE_MAX_SGE))
		return -EINVAL;
	return 0;
}

static void set_limits(struct rove_qp *qp, u32 send_sge)
{
	struct rove_wqe_limits *lim = &qp->limits;

	lim->max_inline = min(qp->sq_stride - (u32)sizeof(struct rove_sqe), ROVE_MAX_INLINE);
	lim->max_sge = send_sge;
	lim->xrc = rove_qp_is_xrc(qp);
	switch (qp->type) {
	case IB_QPT_RC:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		/* Pages that a kernel user names are believed; processes bind windows. */
		lim->ops = BIT(ROVE_WR_OPS) - 1;
		lim->ops &= ~(qp->uctx ? BIT(ROVE_WR_REG_MR) : BIT(ROVE_WR_BIND_MW));
		if (lim->xrc)
			lim->ops = BIT(ROVE_WR_FETCH_ADD + 1) - 1;
		break;
	case IB_QPT_UC:
		lim->ops = BIT(ROVE_WR_SEND) | BIT(ROVE_WR_SEND_IMM) | BIT(ROVE_WR_WRITE) |
			   BIT(ROVE_WR_WRITE_IMM);
		break;
	default:
		lim->ud = true;
		lim->max_pkey_index = qp->type == IB_QPT_GSI ? ROVE_PKEY_TABLE_LEN - 1 : 0;
		lim->ops = BIT(ROVE_WR_SEND) | BIT(ROVE_WR_SEND_IMM);
	}
}

/*
 * An idle QP has few private WQEs. The first time that they do not do it gets more, step
 * by step, unless all of them are too much to be had with BH off.
 */
static u32 first_slots(u32 sq_entries, u32 stride)
{
	if ((u64)sq_entries * stride > SLOTS_GROW_MAX)
		return sq_entries;
	return min(sq_entries, SLOTS_FIRST);
}

bool rove_qp_grow(struct rove_qp *qp)
{
	u32 have = qp->req.mask + 1;
	void *slots;

	if (have == qp->sq_entries)
		return false;
	have = min(have * SLOTS_STEP, qp->sq_entries);
	slots = kcalloc(have, qp->req.stride, GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!slots)
		return false;
	kvfree(rove_req_grow(&qp->req, slots, have));
	return true;
}

static int create_rings(struct rove_qp *qp, struct ib_qp_cap *cap)
{
	u32 send_sge = max(cap->max_send_sge, 1U), private, entries;
	void *slots;

	if (qp->srq || rove_qp_is_xrc(qp)) {
		qp->max_recv_sge = qp->srq ? qp->srq->max_sge : ROVE_MAX_SGE;
		qp->rq_entries = 0;
	} else {
		qp->max_recv_sge = max(cap->max_recv_sge, 1U);
		qp->rq_entries = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	}
	qp->sq_entries = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	qp->sq_stride = rove_wqe_sq_stride(send_sge, cap->max_inline_data);
	qp->rq_stride = rove_wqe_rq_stride(qp->max_recv_sge);
	qp->sq_offset = ROVE_QP_WQES;
	qp->rq_offset = qp->sq_offset + qp->sq_entries * qp->sq_stride;
	qp->mem = rove_area_alloc(qp->rq_offset + qp->rq_entries * qp->rq_stride);
	if (!qp->mem)
		return -ENOMEM;
	qp->hdr = qp->mem->addr;

	private = rove_wqe_private_stride(qp->sq_stride);
	entries = first_slots(qp->sq_entries, private);
	slots = kvcalloc(entries, private, GFP_KERNEL_ACCOUNT);
	if (!slots)
		goto err_area;
	rove_req_init(&qp->req, slots, entries, private);

	qp->rwqe = kzalloc(struct_size(qp->rwqe, sge, qp->max_recv_sge), GFP_KERNEL_ACCOUNT);
	if (!qp->rwqe)
		goto err_slots;

	set_limits(qp, send_sge);

	cap->max_send_wr = qp->sq_entries;
	cap->max_recv_wr = qp->rq_entries;
	cap->max_send_sge = send_sge;
	cap->max_recv_sge = qp->rq_entries ? qp->max_recv_sge : 0;
	cap->max_inline_data = qp->limits.max_inline;
	return 0;

err_slots:
	kvfree(slots);
err_area:
	rove_area_put(qp->mem);
	return -ENOMEM;
}

/* What only the owners of the halves look at. */
static void free_private(struct rove_qp *qp)
{
	kfree(qp->rwqe);
	kvfree(qp->req.slots);
}

/* Both queues empty, indices at zero. Both halves owned, or not visible yet. */
static void reset_rings(struct rove_qp *qp)
{
	struct rove_qp_hdr *hdr = qp->hdr;
	u8 *base = qp->mem->addr;

	memset(hdr, 0, sizeof(*hdr));
	qp->waits = false;
	rove_ring_init(&qp->sq, &hdr->sq_prod, &hdr->sq_cons, base + qp->sq_offset, qp->sq_entries,
		       qp->sq_stride);
	rove_ring_init(&qp->rq, &hdr->rq_prod, &hdr->rq_cons, base + qp->rq_offset, qp->rq_entries,
		       qp->rq_stride);
	qp->sq_prod = qp->sq;
	qp->rq_prod = qp->rq;
}

static void init_half(struct rove_half *h, struct rove_qp *qp)
{
	atomic_set(&h->word, 0);
	skb_queue_head_init(&h->packets);
	h->mrs = (struct rove_mr_view){ .table = &qp->dev->mrs };
	rove_absent_init_half(h, qp);
}

static void init_machines(struct rove_qp *qp)
{
	struct rove_pkeys keys = { .table = qp->dev->pkeys, .num = 1 };
	u8 type;

	/* What comes to QP 1 may be of any partition; what it sends says of which. */
	if (qp->type == IB_QPT_GSI)
		keys.num = ROVE_PKEY_TABLE_LEN;

	switch (qp->type) {
	case IB_QPT_RC:
		type = ROVE_QPT_RC;
		qp->transport = ROVE_TR_RC;
		break;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		type = ROVE_QPT_RC;
		qp->transport = ROVE_TR_XRC;
		break;
	case IB_QPT_UC:
		type = ROVE_QPT_UC;
		qp->transport = ROVE_TR_UC;
		break;
	default:
		type = ROVE_QPT_UD;
		qp->transport = ROVE_TR_UD;
	}
	rove_resp_init(&qp->resp);
	qp->req.conf = (struct rove_req_conf){
		.type = type,
		.pmtu = ROVE_MAX_PMTU,
		.pkeys = keys,
		.sqpn = qp->qpn,
		.window = WINDOW_BYTES,
		.read_window = READ_WINDOW,
		.read_chunk = READ_CHUNK,
		.xrc = rove_qp_is_xrc(qp),
	};
	qp->resp.conf = (struct rove_resp_conf){
		.type = type,
		.pmtu = ROVE_MAX_PMTU,
		.pkeys = keys,
		.xrc = rove_qp_is_xrc(qp),
		.keep = KEEP_PSNS,
	};
}

/* From here on it can be found. */
static int publish(struct rove_qp *qp)
{
	int err;

	if (qp->type == IB_QPT_GSI) {
		qp->qpn = GSI_QPN;
		qp->req.conf.sqpn = GSI_QPN;
		if (cmpxchg((struct rove_qp **)&qp->dev->gsi, NULL, qp))
			return -EBUSY;
		return 0;
	}

	/* What is found stays for a grace period: nothing may fail once it is shown. */
	if (qp->uctx) {
		err = xa_alloc(&qp->uctx->slots, &qp->db_slot, NULL,
			       XA_LIMIT(0, ROVE_DB_SLOTS - 1), GFP_KERNEL_ACCOUNT);
		if (err == -EBUSY)
			qp->db_slot = ROVE_DB_NO_SLOT;
		else if (err)
			return err;
	}

	/* The number is part of the machines: reserve it, then show the QP. */
	err = xa_alloc_cyclic(&qps, &qp->qpn, NULL, XA_LIMIT(QPN_MIN, QPN_MAX), &next_qpn,
			      GFP_KERNEL);
	if (err < 0) {
		if (qp->uctx && qp->db_slot != ROVE_DB_NO_SLOT)
			xa_erase(&qp->uctx->slots, qp->db_slot);
		return err == -EBUSY ? -ENOMEM : err;
	}
	qp->req.conf.sqpn = qp->qpn;
	xa_store(&qps, qp->qpn, qp, GFP_KERNEL);
	if (qp->uctx && qp->db_slot != ROVE_DB_NO_SLOT)
		xa_store(&qp->uctx->slots, qp->db_slot, qp, GFP_KERNEL);
	return 0;
}

static void unpublish(struct rove_qp *qp)
{
	if (qp->type == IB_QPT_GSI) {
		RCU_INIT_POINTER(qp->dev->gsi, NULL);
		return;
	}
	xa_erase(&qps, qp->qpn);
	if (qp->uctx && qp->db_slot != ROVE_DB_NO_SLOT)
		xa_erase(&qp->uctx->slots, qp->db_slot);
}

struct rove_qp *rove_qp_create(struct rove_dev *dev, struct ib_pd *pd, struct ib_qp *ib,
			       struct ib_qp_init_attr *init, struct rove_uctx *uctx)
{
	struct rove_qp *qp;
	int err;

	err = check_init(init);
	if (err)
		return ERR_PTR(err);

	qp = kzalloc(sizeof(*qp), GFP_KERNEL_ACCOUNT);
	if (!qp)
		return ERR_PTR(-ENOMEM);

	qp->dev = dev;
	qp->stats = dev->stats;
	qp->pd = pd;
	qp->ib = ib;
	qp->uctx = uctx;
	qp->type = init->qp_type;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	if (qp->type == IB_QPT_XRC_TGT) {
		/* It outlives the process that made it. */
		qp->uctx = NULL;
		qp->xrcd = init->xrcd;
	} else {
		qp->send_cq = rove_cq_of(init->send_cq);
		qp->recv_cq = init->recv_cq ? rove_cq_of(init->recv_cq) : NULL;
		qp->srq = init->srq ? rove_srq_of(init->srq) : NULL;
	}
	qp->recv_pd = qp->srq ? qp->srq->pd : pd;
	qp->remote_pd = pd;
	qp->db_slot = ROVE_DB_NO_SLOT;
	qp->state = IB_QPS_RESET;
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->post_lock);
	init_half(&qp->req_half, qp);
	init_half(&qp->resp_half, qp);
	__skb_queue_head_init(&qp->kept);
	hrtimer_setup(&qp->timer, rove_run_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer_setup(&qp->ack_timer, rove_run_ack_timer, 0);
	tasklet_setup(&qp->tasklet, rove_run_tasklet);
	INIT_CSD(&qp->hand_over, rove_run_handed, qp);

	err = create_rings(qp, &init->cap);
	if (err)
		goto err_free;
	reset_rings(qp);
	init_machines(qp);

	err = publish(qp);
	if (err)
		goto err_rings;
	if (qp->send_cq)
		rove_cq_get(qp->send_cq);
	if (qp->recv_cq)
		rove_cq_get(qp->recv_cq);
	return qp;

err_rings:
	free_private(qp);
	rove_area_put(qp->mem);
err_free:
	kfree(qp);
	return ERR_PTR(err);
}

/* ---- destruction ---------------------------------------------------------- */

static void free_qp(struct rcu_head *rcu)
{
	struct rove_qp *qp = container_of(rcu, struct rove_qp, rcu);

	/* net/rx compares addresses with the path of a QP that it finds. */
	if (qp->path_set)
		rove_path_release(&qp->path);
	/* Packets that were left after the halves were taken. */
	skb_queue_purge(&qp->req_half.packets);
	skb_queue_purge(&qp->resp_half.packets);
	rove_keep_forget(qp);
	/* Whoever finds it rung looks how much is posted. */
	rove_area_put(qp->mem);
	kfree(qp);
}

/*
 * Waits for the tasklet. Who finds the QP may have seen that it is not dead, and schedule it
 * a moment later: not any more after this, since the bit stays set.
 */
static void kill_tasklet(struct rove_qp *qp)
{
	do {
		tasklet_kill(&qp->tasklet);
	} while (test_and_set_bit(TASKLET_STATE_SCHED, &qp->tasklet.state));
}

/*
 * What was taken is acknowledged while somebody is there to do it, or the peer would send it
 * again until it gives up. Both halves owned.
 */
static void acknowledge(struct rove_qp *qp)
{
	if (rove_resp_owes_ack(&qp->resp))
		rove_responder_finish(qp, ktime_get_ns());
}

void rove_qp_destroy(struct rove_qp *qp)
{
	WRITE_ONCE(qp->dead, true);
	unpublish(qp);

	mutex_lock(&qp->mutex);
	rove_run_lock(qp);
	acknowledge(qp);
	local_bh_enable();	/* the halves stay owned */
	/* Who posts later is to learn it from its call. */
	WRITE_ONCE(qp->hdr->sq_waits, 0);
	mutex_unlock(&qp->mutex);

	hrtimer_cancel(&qp->timer);
	timer_delete_sync(&qp->ack_timer);
	/* Nobody hands it over any more; an interrupt may be on its way. */
	while (smp_load_acquire(&qp->handed))
		cpu_relax();
	rove_absent_cancel(&qp->req_half);
	rove_absent_cancel(&qp->resp_half);
	kill_tasklet(qp);

	rove_route_drop(&qp->req_half.route);
	rove_route_drop(&qp->resp_half.route);
	rdma_destroy_ah_attr(&qp->attr.ah_attr);
	kfree(qp->resp.saved);
	free_private(qp);
	rove_cq_put(qp->send_cq);
	rove_cq_put(qp->recv_cq);	/* XRC_TGT: of a work request in hand */
	call_rcu(&qp->rcu, free_qp);
}

/* ---- states and attributes ------------------------------------------------ */

/* Posters must ring after post_recv from now on (or not any more). */
static void set_ring_recv(struct rove_qp *qp, bool on)
{
	WRITE_ONCE(qp->hdr->flags, on ? ROVE_QP_RING_RECV : 0);
}

void rove_qp_fail(struct rove_qp *qp, bool send_only)
{
	enum ib_qp_state state = READ_ONCE(qp->state), to = send_only ? IB_QPS_SQE : IB_QPS_ERR;

	/* The owner of the other half may be here, too, and SQE does not undo ERR. */
	do {
		if (state == IB_QPS_RESET || state == IB_QPS_ERR)
			return;
	} while (!try_cmpxchg(&qp->state, &state, to));

	trace_rove_qp_state(qp->qpn, state, to);
	if (!send_only) {
		set_ring_recv(qp, true);
		set_bit(ROVE_WORK_FLUSH, &qp->resp_half.work);
	}
	set_bit(ROVE_WORK_FLUSH, &qp->req_half.work);
	if (!READ_ONCE(qp->dead))
		tasklet_schedule(&qp->tasklet);
}

static int check_attr(struct rove_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_mtu active = rove_dev_mtu(READ_ONCE(qp->dev->ndev->mtu));

	if (mask & (IB_QP_ALT_PATH | IB_QP_CAP | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PATH_MIG_STATE) && attr->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PKEY_INDEX) &&
	    (attr->pkey_index >= ROVE_PKEY_TABLE_LEN ||
	     !rove_pkey_valid(READ_ONCE(qp->dev->pkeys[attr->pkey_index]))))
		return -EINVAL;
	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return -EINVAL;
	if ((mask & IB_QP_ACCESS_FLAGS) &&
	    (attr->qp_access_flags & ~(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				       IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
				       IB_ACCESS_MW_BIND | IB_ACCESS_FLUSH_GLOBAL |
				       IB_ACCESS_FLUSH_PERSISTENT | IB_ACCESS_ON_DEMAND |
				       IB_ACCESS_OPTIONAL)))
		return -EINVAL;
	if ((mask & IB_QP_PATH_MTU) &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096 ||
	     attr->path_mtu > active))
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > ROVE_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > ROVE_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT) && attr->timeout > 31)
		return -EINVAL;
	if ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return -EINVAL;
	if ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return -EINVAL;
	if ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return -EINVAL;
	if ((mask & IB_QP_AV) && attr->ah_attr.type != RDMA_AH_ATTR_TYPE_ROCE)
		return -EINVAL;
	return 0;
}

/* What has to be had before both halves are owned, and given back after. */
struct change {
	struct rove_path path;
	bool path_set;
	struct rove_resp_saved *saved;
	bool saved_set;
};

static int prepare(struct rove_qp *qp, const struct ib_qp_attr *attr, int mask, struct change *c)
{
	int err;

	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic) {
		c->saved = kcalloc(attr->max_dest_rd_atomic, sizeof(*c->saved), GFP_KERNEL_ACCOUNT);
		if (!c->saved)
			return -ENOMEM;
	}
	c->saved_set = mask & IB_QP_MAX_DEST_RD_ATOMIC;
	if (mask & IB_QP_AV) {
		err = rove_path_init(&c->path, &attr->ah_attr, qp->qpn);
		if (err) {
			kfree(c->saved);
			return err;
		}
		c->path_set = true;
	}
	return 0;
}

/* Both halves owned. What was replaced is left in @c. */
static void apply_attr(struct rove_qp *qp, const struct ib_qp_attr *attr, int mask,
		       struct change *c)
{
	struct rove_resp_conf *resp = &qp->resp.conf;
	struct rove_req_conf *req = &qp->req.conf;
	struct rove_resp_saved *saved;

	if (mask & IB_QP_ACCESS_FLAGS) {
		resp->remote_write = attr->qp_access_flags & IB_ACCESS_REMOTE_WRITE;
		resp->remote_read = attr->qp_access_flags & IB_ACCESS_REMOTE_READ;
		resp->remote_atomic = attr->qp_access_flags & IB_ACCESS_REMOTE_ATOMIC;
		resp->flush_types = 0;
		if (attr->qp_access_flags & IB_ACCESS_FLUSH_GLOBAL)
			resp->flush_types |= IB_FLUSH_GLOBAL;
		if (attr->qp_access_flags & IB_ACCESS_FLUSH_PERSISTENT)
			resp->flush_types |= IB_FLUSH_PERSISTENT;
		qp->attr.qp_access_flags = attr->qp_access_flags;
	}
	if (mask & IB_QP_PKEY_INDEX) {
		qp->attr.pkey_index = attr->pkey_index;
		if (qp->type != IB_QPT_GSI) {
			req->pkeys.table = &qp->dev->pkeys[attr->pkey_index];
			resp->pkeys.table = req->pkeys.table;
		}
	}
	if (mask & IB_QP_QKEY) {
		req->qkey = attr->qkey;
		resp->qkey = attr->qkey;
		qp->attr.qkey = attr->qkey;
	}
	if (mask & IB_QP_AV) {
		rove_route_drop(&qp->req_half.route);
		rove_route_drop(&qp->resp_half.route);
		swap(qp->path, c->path);
		swap(qp->path_set, c->path_set);
		rdma_destroy_ah_attr(&qp->attr.ah_attr);
		rdma_copy_ah_attr(&qp->attr.ah_attr, &attr->ah_attr);
	}
	if (mask & IB_QP_PATH_MTU) {
		req->pmtu = ib_mtu_enum_to_int(attr->path_mtu);
		resp->pmtu = req->pmtu;
		qp->attr.path_mtu = attr->path_mtu;
	}
	if (mask & IB_QP_DEST_QPN) {
		req->dqpn = attr->dest_qp_num;
		resp->dqpn = attr->dest_qp_num;
		qp->attr.dest_qp_num = attr->dest_qp_num;
	}
	if (mask & IB_QP_RQ_PSN) {
		rove_resp_set_psn(&qp->resp, attr->rq_psn & 0xffffff);
		qp->attr.rq_psn = attr->rq_psn & 0xffffff;
	}
	if (mask & IB_QP_SQ_PSN) {
		rove_req_set_psn(&qp->req, attr->sq_psn & 0xffffff);
		qp->attr.sq_psn = attr->sq_psn & 0xffffff;
	}
	if (c->saved_set) {
		saved = qp->resp.saved;
		rove_resp_set_saved(&qp->resp, c->saved, attr->max_dest_rd_atomic);
		c->saved = saved;
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	}
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		req->max_rd_atomic = attr->max_rd_atomic;
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	}
	if (mask & IB_QP_MIN_RNR_TIMER) {
		resp->min_rnr_timer = attr->min_rnr_timer;
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	}
	if (mask & IB_QP_TIMEOUT) {
		req->timeout = attr->timeout;
		qp->attr.timeout = attr->timeout;
	}
	if (mask & IB_QP_RETRY_CNT) {
		req->retry_cnt = attr->retry_cnt;
		qp->attr.retry_cnt = attr->retry_cnt;
	}
	if (mask & IB_QP_RNR_RETRY) {
		req->rnr_retry = attr->rnr_retry;
		qp->attr.rnr_retry = attr->rnr_retry;
	}
	if (mask & IB_QP_PORT)
		qp->attr.port_num = attr->port_num;
}

/* Both halves owned. */
static void apply_state(struct rove_qp *qp, enum ib_qp_state from, enum ib_qp_state to)
{
	if (to == IB_QPS_RESET || to == IB_QPS_ERR)
		acknowledge(qp);
	switch (to) {
	case IB_QPS_RESET:
		rove_absent_forget(&qp->req_half);
		rove_absent_forget(&qp->resp_half);
		rove_req_reset(&qp->req);
		rove_resp_reset(&qp->resp);
		qp->prompt = (struct rove_prompt){};
		rove_keep_forget(qp);
		reset_rings(qp);
		qp->last_wqe_told = false;
		if (qp->type == IB_QPT_XRC_TGT) {
			rove_cq_put(qp->recv_cq);
			qp->recv_cq = NULL;
		}
		break;
	case IB_QPS_RTR:
		rove_resp_start(&qp->resp);
		break;
	case IB_QPS_RTS:
		if (from != IB_QPS_RTS)
			rove_req_start(&qp->req);
		set_bit(ROVE_WORK_POST, &qp->req_half.work);
		break;
	case IB_QPS_SQD:
		rove_req_drain(&qp->req);
		break;
	case IB_QPS_ERR:
		set_ring_recv(qp, true);
		set_bit(ROVE_WORK_FLUSH, &qp->req_half.work);
		set_bit(ROVE_WORK_FLUSH, &qp->resp_half.work);
		break;
	default:
		break;
	}
	trace_rove_qp_state(qp->qpn, from, to);
	WRITE_ONCE(qp->state, to);
}

int rove_qp_modify(struct rove_qp *qp, struct ib_qp_attr *attr, int mask)
{
	struct change c = {};
	enum ib_qp_state from, to;
	int err;

	err = check_attr(qp, attr, mask);
	if (err)
		return err;

	mutex_lock(&qp->mutex);
	err = prepare(qp, attr, mask, &c);
	if (err)
		goto out;

	/* Only with both halves owned the state cannot change by itself. */
	rove_run_lock(qp);
	rove_run_flush(qp);
	from = qp->state;
	to = mask & IB_QP_STATE ? attr->qp_state : from;
	if (((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != from) ||
	    !ib_modify_qp_is_ok(from, to, qp->type, mask)) {
		err = -EINVAL;
	} else {
		if (to == IB_QPS_SQD)
			qp->sqd_notify = (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
					 attr->en_sqd_async_notify;
		apply_attr(qp, attr, mask, &c);
		if (mask & IB_QP_STATE)
			apply_state(qp, from, to);
		if (qp->req_half.work || qp->resp_half.work)
			tasklet_schedule(&qp->tasklet);
	}
	rove_run_unlock(qp);

	if (c.path_set) {
		if (!err)
			synchronize_rcu();	/* net/rx may be looking at it */
		rove_path_release(&c.path);
	}
	kfree(c.saved);
out:
	mutex_unlock(&qp->mutex);
	return err;
}

void rove_qp_query(struct rove_qp *qp, struct ib_qp_attr *attr, struct ib_qp_init_attr *init)
{
	mutex_lock(&qp->mutex);
	*attr = qp->attr;
	attr->ah_attr.grh.sgid_attr = NULL;	/* its reference is the QP's */
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD && !READ_ONCE(qp->req.drained);
	attr->cap.max_send_wr = qp->sq_entries;
	attr->cap.max_recv_wr = qp->rq_entries;
	attr->cap.max_send_sge = qp->limits.max_sge;
	attr->cap.max_recv_sge = qp->rq_entries ? qp->max_recv_sge : 0;
	attr->cap.max_inline_data = qp->limits.max_inline;

	init->event_handler = qp->ib->event_handler;
	init->qp_context = qp->ib->qp_context;
	init->send_cq = qp->ib->send_cq;
	init->recv_cq = qp->ib->recv_cq;
	init->srq = qp->ib->srq;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = qp->type;
	mutex_unlock(&qp->mutex);
}

int rove_qp_init(void)
{
	next_qpn = get_random_u32_inclusive(QPN_MIN, QPN_MAX);
	return 0;
}

void rove_qp_exit(void)
{
	/* free_qp() is in this module. */
	rcu_barrier();
	WARN_ON(!xa_empty(&qps));
	xa_destroy(&qps);
}
