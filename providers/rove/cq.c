// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues. Polling and arming happen in the mapped ring and make no
 * system call, but to lend the CPU to what was posted when it has no other;
 * ring/cqe.h says how.
 *
 * A completion also tells how far its queue pair's work queues have come, so
 * each one is accounted to its QP here. The module writes completions of a QP
 * to that QP's queues only, and rove_cq_clean() takes away what is left when a
 * QP goes, under the lock of the CQ: no entry outlives its QP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "compat.h"
#include "rove-abi.h"
#include "rove.h"

#define NSEC_PER_SEC	1000000000ULL

/* Polls in vain before the thread lends its CPU: some microseconds, and a millisecond. */
#define PATIENCE_MIN	256U
#define PATIENCE_MAX	65536U

#define SUPPORTED_WC_FLAGS	(IBV_WC_STANDARD_FLAGS |		\
				 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |	\
				 IBV_WC_EX_WITH_CVLAN |			\
				 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static void cq_lock(struct rove_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_lock(&cq->lock);
}

static void cq_unlock(struct rove_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_unlock(&cq->lock);
}

static void publish(struct rove_cq *cq)
{
	cq->published = cq->ring.head;
	smp_store_release(&cq->ring.hdr->cons, cq->published);
}

/* The QP of a completion, if it is one that may use this CQ. */
static struct rove_qp *find_qp(struct rove_cq *cq, u32 qpn)
{
	struct rove_qp *qp = cq->last_qp;

	if (qp && qp->vqp.qp.qp_num == qpn)
		return qp;

	qp = rove_qp_find(to_rove_ctx(cq->vcq.cq.context), qpn, READ_ONCE(cq->of_xrc));
	if (qp && (qp->vqp.qp.send_cq == &cq->vcq.cq || qp->vqp.qp.recv_cq == &cq->vcq.cq))
		cq->last_qp = qp;
	else
		qp = NULL;
	return qp;
}

static void account(struct rove_cq *cq, const struct rove_cqe *cqe)
{
	struct rove_qp *qp = find_qp(cq, cqe->qpn);

	if (unlikely(!qp))
		return;
	if (cqe->flags & ROVE_CQE_RECV) {
		if (qp->vqp.qp.recv_cq == &cq->vcq.cq)
			WRITE_ONCE(qp->rq.completed, qp->rq.completed + 1);
	} else if (qp->vqp.qp.send_cq == &cq->vcq.cq) {
		WRITE_ONCE(qp->sq.completed, cqe->wqe);
	}
}

/*
 * Takes the next completion out of the ring: false if there is none. The module
 * is told at the end of a batch; it must not see a full ring, though, because of
 * a batch that does not end.
 */
static bool take(struct rove_cq *cq, struct rove_cqe *cqe)
{
	const struct rove_cqe *slot = rove_cq_ring_peek(&cq->ring);

	if (!slot)
		return false;

	cq->vain = 0;
	*cqe = *slot;
	cq->ring.head++;
	if (cq->ring.head - cq->published > cq->ring.mask / 4)
		publish(cq);
	account(cq, cqe);
	return true;
}

static enum ibv_wc_opcode wc_opcode(const struct rove_cqe *cqe)
{
	static const enum ibv_wc_opcode send[ROVE_WR_OPS] = {
		[ROVE_WR_SEND] = IBV_WC_SEND,
		[ROVE_WR_SEND_IMM] = IBV_WC_SEND,
		[ROVE_WR_SEND_INV] = IBV_WC_SEND,
		[ROVE_WR_WRITE] = IBV_WC_RDMA_WRITE,
		[ROVE_WR_WRITE_IMM] = IBV_WC_RDMA_WRITE,
		[ROVE_WR_READ] = IBV_WC_RDMA_READ,
		[ROVE_WR_CMP_SWP] = IBV_WC_COMP_SWAP,
		[ROVE_WR_FETCH_ADD] = IBV_WC_FETCH_ADD,
		[ROVE_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[ROVE_WR_BIND_MW] = IBV_WC_BIND_MW,
		[ROVE_WR_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
		[ROVE_WR_FLUSH] = IBV_WC_FLUSH,
	};

	if (cqe->flags & ROVE_CQE_RECV)
		return cqe->opcode == ROVE_RECV_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM
							  : IBV_WC_RECV;
	return cqe->opcode < ROVE_WR_OPS ? send[cqe->opcode] : IBV_WC_SEND;
}

static enum ibv_wc_status wc_status(const struct rove_cqe *cqe)
{
	return cqe->status <= IBV_WC_GENERAL_ERR ? cqe->status : IBV_WC_GENERAL_ERR;
}

static unsigned int wc_flags(const struct rove_cqe *cqe)
{
	return (cqe->flags & ROVE_CQE_GRH ? IBV_WC_GRH : 0) |
	       (cqe->flags & ROVE_CQE_IMM ? IBV_WC_WITH_IMM : 0) |
	       (cqe->flags & ROVE_CQE_INV ? IBV_WC_WITH_INV : 0);
}

/*
 * Of a datagram, in place of a service level, which RoCE does not have, as adapters
 * tell it: UDP, and which header lies in the GRH area (annex 17, 4.5.1 wants that
 * told, and struct ibv_wc has no other field). UCX drops IPv4 datagrams without it.
 */
#define SL_UDP_OVER_IPV6	0x9
#define SL_UDP_OVER_IPV4	0xa

static u8 wc_sl(const struct rove_cqe *cqe)
{
	if (!(cqe->flags & ROVE_CQE_GRH))
		return cqe->sl;
	return cqe->flags & ROVE_CQE_IPV4 ? SL_UDP_OVER_IPV4 : SL_UDP_OVER_IPV6;
}

static void fill_wc(struct ibv_wc *wc, const struct rove_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = wc_status(cqe),
		.opcode = wc_opcode(cqe),
		.byte_len = cqe->byte_len,
		.invalidated_rkey = cqe->imm,	/* in a union with imm_data */
		.qp_num = cqe->qpn,
		.src_qp = cqe->src_qp,
		.wc_flags = wc_flags(cqe),
		.pkey_index = cqe->pkey_index,
		.sl = wc_sl(cqe),
	};
}

/* Something was posted that waits for who polls. */
static bool is_left_to_polls(const struct rove_db_page *db)
{
	u64 rung = 0;
	u32 i;

	if (READ_ONCE(db->need_wakeup) != ROVE_DB_AT_POLL)
		return false;
	for (i = 0; i < ARRAY_SIZE(db->summary); i++)
		rung |= READ_ONCE(db->summary[i]);
	return rung;
}

/*
 * Nothing was there. If no CPU is free for the engine, then what this thread waits for may
 * want its own: what was posted and waits for such a call, or the softirqs of this CPU,
 * which compete with it when there are many. The latter is tried after a while in vain,
 * later and later while it does not help.
 */
static bool must_lend_cpu(struct rove_cq *cq)
{
	const struct rove_db_page *db = to_rove_ctx(cq->vcq.cq.context)->db;

	if (likely(READ_ONCE(db->need_wakeup) == ROVE_DB_NEVER))
		return false;
	if (is_left_to_polls(db))
		return true;
	if (++cq->vain < READ_ONCE(cq->patience))
		return false;
	cq->vain = 0;
	return true;
}

/* No lock is held. It fails if the CPU was not wanted, or the device is gone. */
static void lend_cpu(struct rove_cq *cq)
{
	u32 patience = READ_ONCE(cq->patience);
	int saved_errno = errno;
	struct ibv_wc none;

	if (ibv_cmd_poll_cq(&cq->vcq.cq, 1, &none) < 0)
		patience = min(2 * patience, PATIENCE_MAX);
	else
		patience = PATIENCE_MIN;
	WRITE_ONCE(cq->patience, patience);
	errno = saved_errno;
}

int rove_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct rove_cq *cq = to_rove_cq(ibcq);
	struct rove_cqe cqe;
	bool lend;
	int n;

	cq_lock(cq);
	for (n = 0; n < num && take(cq, &cqe); n++)
		fill_wc(&wc[n], &cqe);
	if (n)
		publish(cq);
	lend = !n && must_lend_cpu(cq);
	cq_unlock(cq);
	if (lend)
		lend_cpu(cq);
	return n;
}

/* With a lock of its own: users arm between ibv_start_poll() and ibv_end_poll() too. */
int rove_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct rove_cq *cq = to_rove_cq(ibcq);

	pthread_spin_lock(&cq->arm_lock);
	rove_cq_ring_arm(&cq->arm_ring, solicited_only);
	pthread_spin_unlock(&cq->arm_lock);
	if (is_left_to_polls(to_rove_ctx(ibcq->context)->db))
		lend_cpu(cq);
	return 0;
}

/* ---- the extended interface ------------------------------------------------ */

static int take_ex(struct rove_cq *cq)
{
	if (!take(cq, &cq->cqe))
		return ENOENT;

	cq->vcq.cq_ex.wr_id = cq->cqe.wr_id;
	cq->vcq.cq_ex.status = wc_status(&cq->cqe);
	return 0;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct rove_cq *cq = to_rove_cq_ex(ibcq);
	bool lend;
	int err;

	if (attr->comp_mask)
		return EINVAL;

	/* Released by end_poll(), which is not called when this fails. */
	cq_lock(cq);
	err = take_ex(cq);
	if (err) {
		lend = must_lend_cpu(cq);
		cq_unlock(cq);
		if (lend)
			lend_cpu(cq);
	}
	return err;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	return take_ex(to_rove_cq_ex(ibcq));
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct rove_cq *cq = to_rove_cq_ex(ibcq);

	publish(cq);
	cq_unlock(cq);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibcq)
{
	return wc_opcode(&to_rove_cq_ex(ibcq)->cqe);
}

static u32 read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return wc_flags(&to_rove_cq_ex(ibcq)->cqe);
}

static u32 read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_rove_cq_ex(ibcq)->cqe.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__force __be32)to_rove_cq_ex(ibcq)->cqe.imm;
}

static u32 read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_rove_cq_ex(ibcq)->cqe.qpn;
}

static u32 read_src_qp(struct ibv_cq_ex *ibcq)
{
	return to_rove_cq_ex(ibcq)->cqe.src_qp;
}

static u32 read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static u8 read_sl(struct ibv_cq_ex *ibcq)
{
	return wc_sl(&to_rove_cq_ex(ibcq)->cqe);
}

static u8 read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static u64 read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_rove_cq_ex(ibcq)->cqe.timestamp;
}

static u64 now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static u64 read_completion_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	u64 age = now(CLOCK_MONOTONIC) - to_rove_cq_ex(ibcq)->cqe.timestamp;

	return now(CLOCK_REALTIME) - age;
}

static u16 read_cvlan(struct ibv_cq_ex *ibcq)
{
	const struct rove_cqe *cqe = &to_rove_cq_ex(ibcq)->cqe;

	return cqe->flags & ROVE_CQE_VLAN ? cqe->vlan : 0;
}

static void init_poll_ops(struct ibv_cq_ex *cq, u64 wc_flags)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_wc_flags = read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cq->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cq->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cq->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cq->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cq->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		cq->read_cvlan = read_cvlan;
}

/* ---- life ------------------------------------------------------------------ */

static bool init_attr_ok(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags, SUPPORTED_WC_FLAGS))
		return false;
	return !(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
	       check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
					    IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
}

static bool resp_ok(const struct urove_create_cq_resp *resp)
{
	u64 size = ROVE_CQ_ENTRIES + (u64)resp->entries * sizeof(struct rove_cqe);

	return resp->entries && !(resp->entries & (resp->entries - 1)) && size <= resp->length;
}

/* Maps the ring of a CQ that exists in the module. */
static int map_ring(struct ibv_context *ctx, struct rove_cq *cq,
		    const struct urove_create_cq_resp *resp)
{
	void *area;

	if (!resp_ok(resp)) {
		verbs_err(verbs_get_ctx(ctx), "the module describes a CQ that cannot be\n");
		return EPROTO;
	}
	area = rove_map(ctx, resp->offset, resp->length);
	if (!area)
		return errno;

	cq->length = resp->length;
	rove_cq_ring_init(&cq->ring, area, resp->entries);
	rove_cq_ring_init(&cq->arm_ring, area, resp->entries);
	return 0;
}

struct ibv_cq_ex *rove_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct urove_create_cq_resp resp = {};
	struct urove_create_cq cmd = {};
	struct rove_cq *cq;
	int err;

	if (!init_attr_ok(attr)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	err = rove_cmd_create_cq(ctx, attr, &cq->vcq, &cmd.ibv_cmd, sizeof(cmd),
				 &resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	err = map_ring(ctx, cq, &resp);
	if (err)
		goto err_destroy;

	cq->single_threaded = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
			      attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->patience = PATIENCE_MIN;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&cq->arm_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&cq->resize_mutex, NULL);
	atomic_init(&cq->refs, 1);
	init_poll_ops(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = err;
	return NULL;
}

struct ibv_cq *rove_create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel,
			      int vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = vector,
	};
	struct ibv_cq_ex *cq = rove_create_cq_ex(ctx, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

int rove_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

static int resize_step(struct rove_cq *cq, int cqe, u32 step, struct urove_resize_cq_resp *resp)
{
	struct urove_resize_cq cmd = { .step = step };

	return ibv_cmd_resize_cq(&cq->vcq.cq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				 &resp->ibv_resp, sizeof(*resp));
}

static void use_area(struct rove_cq_ring *r, void *area, u32 entries)
{
	r->hdr = area;
	r->cqe = area + ROVE_CQ_ENTRIES;
	r->mask = entries - 1;
}

/*
 * The new area is there and mapped before anything changes; completions move while
 * nobody polls or arms.
 */
static int resize(struct rove_cq *cq, int cqe)
{
	struct urove_resize_cq_resp resp = {}, done = {};
	void *old = cq->ring.hdr, *area;
	size_t length = cq->length;
	u64 size;
	int err;

	err = resize_step(cq, cqe, ROVE_RESIZE_PREPARE, &resp);
	if (err)
		return err;
	size = ROVE_CQ_ENTRIES + (u64)resp.entries * sizeof(struct rove_cqe);
	if (!resp.entries || (resp.entries & (resp.entries - 1)) || size > resp.length)
		return EPROTO;
	area = rove_map(cq->vcq.cq.context, resp.offset, resp.length);
	if (!area)
		return errno;

	cq_lock(cq);
	pthread_spin_lock(&cq->arm_lock);
	publish(cq);
	err = resize_step(cq, cqe, ROVE_RESIZE_COMMIT, &done);
	if (!err) {
		use_area(&cq->ring, area, resp.entries);
		use_area(&cq->arm_ring, area, resp.entries);
		cq->length = resp.length;
	}
	pthread_spin_unlock(&cq->arm_lock);
	cq_unlock(cq);

	if (err)
		munmap(area, resp.length);
	else
		munmap(old, length);
	return err;
}

int rove_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct rove_cq *cq = to_rove_cq(ibcq);
	int err;

	pthread_mutex_lock(&cq->resize_mutex);
	err = resize(cq, cqe);
	pthread_mutex_unlock(&cq->resize_mutex);
	return err;
}

void rove_cq_serve_xrc(struct rove_cq *cq)
{
	WRITE_ONCE(cq->of_xrc, true);
}

void rove_cq_get(struct rove_cq *cq)
{
	atomic_fetch_add(&cq->refs, 1);
}

void rove_cq_put(struct rove_cq *cq)
{
	if (atomic_fetch_sub(&cq->refs, 1) != 1)
		return;
	munmap(cq->ring.hdr, cq->length);
	pthread_mutex_destroy(&cq->resize_mutex);
	pthread_spin_destroy(&cq->arm_lock);
	pthread_spin_destroy(&cq->lock);
	free(cq);
}

int rove_destroy_cq(struct ibv_cq *ibcq)
{
	struct rove_cq *cq = to_rove_cq(ibcq);
	int err;

	err = ibv_cmd_destroy_cq(ibcq);
	if (err)
		return err;
	rove_cq_put(cq);
	return 0;
}

/*
 * Takes out what is left of a QP that the module has destroyed or reset, so that
 * it writes no more. Entries that stay move up to the end; a sequence number
 * belongs to its place. The module reads none of it again.
 */
void rove_cq_clean(struct rove_cq *cq, u32 qpn)
{
	struct rove_cq_ring *r = &cq->ring;
	struct rove_cq_ring end;
	u32 gone = 0;
	u32 i;

	cq_lock(cq);
	/* Where it is may change without the lock: resizing. */
	end = *r;
	while (end.head - r->head <= r->mask && rove_cq_ring_peek(&end))
		end.head++;

	for (i = end.head; i != r->head; i--) {
		struct rove_cqe *from = &r->cqe[(i - 1) & r->mask];
		struct rove_cqe *to = &r->cqe[(i - 1 + gone) & r->mask];

		if (from->qpn == qpn)
			gone++;
		else if (gone)
			memcpy(to, from, offsetof(struct rove_cqe, seq));
	}
	r->head += gone;
	if (gone)
		publish(cq);
	cq->last_qp = NULL;
	cq_unlock(cq);
}
