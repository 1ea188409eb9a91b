// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compat.h"
#include "fake.h"
#include "rove-abi.h"

struct fake fake;

static const struct verbs_device_ops *dev_ops;
static struct verbs_device *device;
static int area_fd = -1;
static uint64_t area_end;

/* ---- memory that can be mapped -------------------------------------------------- */

static uint64_t area_add(uint32_t length)
{
	uint64_t offset = area_end;

	area_end += (length + 4095) & ~4095U;
	if (ftruncate(area_fd, area_end))
		abort();
	fake.areas++;
	return offset;
}

/* ---- what libibverbs does ---------------------------------------------------------- */

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	dev_ops = ops;
}

void *_verbs_init_and_alloc_context(struct ibv_device *dev, int cmd_fd, size_t size,
				    struct verbs_context *offset, uint32_t driver_id)
{
	struct verbs_context *vctx;
	char *ctx = calloc(1, size);

	if (driver_id != ROVE_DRIVER_ID)
		abort();
	vctx = (struct verbs_context *)(ctx + (uintptr_t)offset);
	vctx->context.device = dev;
	vctx->context.cmd_fd = cmd_fd;
	return ctx;
}

void verbs_uninit_context(struct verbs_context *ctx)
{
}

void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops)
{
	fake.ops = *ops;
}

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
{
}

struct ibv_context *fake_open(void)
{
	struct fake keep = fake;
	struct verbs_context *vctx;

	memset(&fake, 0, sizeof(fake));
	fake.context_err = keep.context_err;
	fake.abi = keep.abi ? keep.abi : ROVE_ABI_VERSION;
	fake.next_qpn = 0x123fff;

	area_fd = memfd_create("rove", 0);
	area_end = 0;
	device = dev_ops->alloc_device(NULL);
	strcpy(device->device.name, "fake0");
	vctx = dev_ops->alloc_context(&device->device, area_fd, NULL);
	if (!vctx) {
		int err = errno;

		dev_ops->uninit_device(device);
		close(area_fd);
		errno = err;
		return NULL;
	}
	return &vctx->context;
}

void fake_close(struct ibv_context *ctx)
{
	fake.ops.free_context(ctx);
	dev_ops->uninit_device(device);
	close(area_fd);
}

struct rove_db_page *fake_db(struct ibv_context *ctx)
{
	return to_rove_ctx(ctx)->db;
}

/* ---- commands of the module's ------------------------------------------------------ */

int ibv_cmd_get_context(struct verbs_context *ctx, struct ibv_get_context *cmd, size_t cmd_size,
#if IBVERBS_PABI_VERSION >= 57
			struct ibv_fd_arr *fd_arr,
#endif
			struct ib_uverbs_get_context_resp *resp, size_t resp_size)
{
	struct urove_get_context_resp *r = container_of(resp, struct urove_get_context_resp, ibv_resp);
	struct urove_get_context *c = container_of(cmd, struct urove_get_context, ibv_cmd);

	if (fake.context_err)
		return fake.context_err;
	if (c->comp_mask || c->abi_min > ROVE_ABI_VERSION || c->abi_max < ROVE_ABI_VERSION)
		return EPROTONOSUPPORT;
	r->abi = fake.abi;
	r->db_slots = ROVE_DB_SLOTS;
	r->db_length = sizeof(struct rove_db_page);
	r->db_offset = area_add(r->db_length);
	r->max_inline = FAKE_MAX_INLINE;
	r->max_send_sge = FAKE_MAX_SGE;
	r->max_recv_sge = FAKE_MAX_SGE;
	return 0;
}

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

int ibv_cmd_create_cq_ex(struct ibv_context *ctx, const struct ibv_cq_init_attr_ex *attr,
#if IBVERBS_PABI_VERSION >= 59
			 struct verbs_create_cq_prov_attr *prov_attr,
#endif
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size,
			 uint32_t cmd_flags)
{
	struct urove_create_cq_resp *r = container_of(resp, struct urove_create_cq_resp, ibv_resp);

	if (fake.create_err)
		return fake.create_err;
	r->entries = pow2(attr->cqe);
	r->length = ROVE_CQ_ENTRIES + r->entries * sizeof(struct rove_cqe);
	r->offset = area_add(r->length);
	cq->cq.context = ctx;
	cq->cq.cqe = r->entries;
	return 0;
}

/* The module's part of a resize: what was not taken moves, indices run on. */
static void commit_cq(struct rove_cq *cq)
{
	struct rove_cq_hdr *old = cq->ring.hdr, *hdr;
	struct rove_cqe *cqe;
	uint32_t i;

	hdr = mmap(NULL, fake.cq_next.length, PROT_READ | PROT_WRITE, MAP_SHARED, area_fd,
		   fake.cq_next.offset);
	cqe = (void *)((char *)hdr + ROVE_CQ_ENTRIES);
	for (i = old->cons; i != old->prod; i++)
		cqe[i % fake.cq_next.entries] = cq->ring.cqe[i & cq->ring.mask];
	hdr->cons = old->cons;
	hdr->prod = old->prod;
	hdr->arm = old->arm;
	hdr->fired = old->fired;
	munmap(hdr, fake.cq_next.length);
}

int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd, size_t cmd_size,
		      struct ib_uverbs_resize_cq_resp *resp, size_t resp_size)
{
	struct urove_resize_cq_resp *r = container_of(resp, struct urove_resize_cq_resp, ibv_resp);
	struct urove_resize_cq *c = container_of(cmd, struct urove_resize_cq, ibv_cmd);

	if (c->step == ROVE_RESIZE_PREPARE) {
		fake.cq_next.entries = pow2(cqe);
		fake.cq_next.length = ROVE_CQ_ENTRIES +
				      fake.cq_next.entries * sizeof(struct rove_cqe);
		fake.cq_next.offset = area_add(fake.cq_next.length);
		fake.areas--;
		r->drv_payload = fake.cq_next;
		return 0;
	}
	if (fake.modify_err)
		return fake.modify_err;
	commit_cq(to_rove_cq(cq));
	cq->cqe = fake.cq_next.entries;
	return 0;
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr, struct ibv_modify_cq *cmd,
		      size_t cmd_size)
{
	return fake.modify_err;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	fake.areas--;
	return 0;
}

static void describe_qp(struct urove_create_qp_resp *r, const struct ibv_qp_cap *cap)
{
	r->db_slot = fake.next_slot;
	if (fake.next_slot != ROVE_DB_NO_SLOT)
		fake.next_slot++;
	r->sq_entries = pow2(cap->max_send_wr);
	r->sq_stride = rove_wqe_sq_stride(cap->max_send_sge, cap->max_inline_data) +
		       fake.stride_extra;
	r->rq_entries = cap->max_recv_wr ? pow2(cap->max_recv_wr) : 0;
	r->rq_stride = rove_wqe_rq_stride(cap->max_recv_sge) + fake.stride_extra;
	r->sq_offset = ROVE_QP_WQES + fake.bad_offset;
	r->rq_offset = ROVE_QP_WQES + r->sq_entries * r->sq_stride;
	r->length = r->rq_offset + r->rq_entries * r->rq_stride;
	r->offset = area_add(r->length);
	r->max_inline = cap->max_inline_data;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *ctx, struct verbs_qp *vqp,
			  struct ibv_qp_init_attr_ex *attr, struct ibv_create_qp_ex *cmd,
			  size_t cmd_size, struct ib_uverbs_ex_create_qp_resp *resp,
#if IBVERBS_PABI_VERSION >= 64
			  size_t resp_size, struct ibv_command_buffer *driver)
#else
			  size_t resp_size)
#endif
{
	struct ibv_qp *qp = &vqp->qp;

	if (fake.create_err)
		return fake.create_err;
	describe_qp(container_of(resp, struct urove_create_qp_resp, ibv_resp), &attr->cap);
	qp->context = ctx;
	qp->qp_num = fake.next_qpn++;
	qp->qp_type = attr->qp_type;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->pd = attr->pd;
	qp->state = IBV_QPS_RESET;
	vqp->comp_mask = 0;
	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_modify_qp *cmd, size_t cmd_size)
{
	if (fake.modify_err)
		return fake.modify_err;
	if (attr->qp_state == IBV_QPS_RESET)
		memset(to_rove_qp(qp)->hdr, 0, sizeof(struct rove_qp_hdr));
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	fake.areas--;
	return 0;
}

int ibv_cmd_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	if (wr)
		abort();
	__atomic_fetch_add(&fake.kicks, 1, __ATOMIC_RELAXED);
	if (fake.on_kick)
		fake.on_kick(qp);
	return fake.kick_err;
}

int ibv_cmd_poll_cq(struct ibv_cq *cq, int ne, struct ibv_wc *wc)
{
	__atomic_fetch_add(&fake.polls, 1, __ATOMIC_RELAXED);
	if (fake.on_poll)
		fake.on_poll();
	if (fake.poll_err) {
		errno = fake.poll_err;
		return -1;
	}
	return 0;
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size)
{
	struct urove_create_ah_resp *r = container_of(resp, struct urove_create_ah_resp, ibv_resp);

	r->ah = 0xa0 + attr->port_num;
	return 0;
}

int ibv_cmd_destroy_ah(struct ibv_ah *ah)
{
	return 0;
}

static void describe_srq(struct rove_create_srq_resp *r, uint32_t max_wr, uint32_t max_sge)
{
	r->entries = pow2(max_wr);
	r->stride = rove_wqe_rq_stride(max_sge);
	r->max_sge = max_sge;
	r->length = ROVE_SRQ_WQES + r->entries * r->stride;
	r->offset = area_add(r->length);
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq, struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct urove_create_srq_resp *r = container_of(resp, struct urove_create_srq_resp, ibv_resp);

	if (fake.create_err)
		return fake.create_err;
	describe_srq(&r->drv_payload, attr->attr.max_wr, attr->attr.max_sge);
	srq->context = pd->context;
	srq->pd = pd;
	return 0;
}

/* The module's part of a resize: everything posted moves, indices run on. */
static void commit_srq(struct rove_srq *srq)
{
	struct rove_srq_hdr *old = srq->hdr, *hdr;
	uint32_t i;

	hdr = mmap(NULL, fake.srq_next.length, PROT_READ | PROT_WRITE, MAP_SHARED, area_fd,
		   fake.srq_next.offset);
	for (i = old->cons; i != old->prod; i++)
		memcpy((char *)hdr + ROVE_SRQ_WQES + (i % fake.srq_next.entries) * srq->ring.stride,
		       (char *)old + ROVE_SRQ_WQES + (i & srq->ring.mask) * srq->ring.stride,
		       srq->ring.stride);
	hdr->prod = old->prod;
	hdr->cons = old->cons;
	munmap(hdr, fake.srq_next.length);
}

int ibv_cmd_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask,
		       struct ibv_modify_srq *cmd, size_t cmd_size)
{
	struct urove_modify_srq *c = container_of(cmd, struct urove_modify_srq, ibv_cmd);
	struct rove_srq *srq = to_rove_srq(ibsrq);

	fake.srq_steps = fake.srq_steps << 4 | c->step;
	if (fake.modify_err && c->step != ROVE_RESIZE_PREPARE)
		return fake.modify_err;
	if (c->step == ROVE_RESIZE_PREPARE) {
		describe_srq(&fake.srq_next, attr->max_wr, srq->max_sge);
		srq->hdr->next_entries = fake.srq_next.entries;
		srq->hdr->next_offset = fake.srq_next.offset;
		srq->hdr->next_length = fake.bad_offset ? 1 : fake.srq_next.length;
	} else if (c->step == ROVE_RESIZE_COMMIT) {
		commit_srq(srq);
	}
	return 0;
}

int ibv_cmd_create_srq_ex(struct ibv_context *ctx, struct verbs_srq *vsrq,
			  struct ibv_srq_init_attr_ex *attr, struct ibv_create_xsrq *cmd,
			  size_t cmd_size, struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct urove_create_xsrq_resp *r = container_of(resp, struct urove_create_xsrq_resp,
							ibv_resp);

	if (fake.create_err)
		return fake.create_err;
	describe_srq(&r->drv_payload, attr->attr.max_wr, attr->attr.max_sge);
	vsrq->srq.context = ctx;
	vsrq->srq.pd = attr->pd;
	vsrq->srq_type = attr->srq_type;
	vsrq->srq_num = 0x777;
	return 0;
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, struct ibv_query_srq *cmd,
		      size_t cmd_size)
{
	return 0;
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	fake.areas--;
	return 0;
}

/* ---- commands that nothing here depends on ------------------------------------------ */

int ibv_cmd_query_device_any(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size)
{
	memset(attr, 0, attr_size);
	resp->base.fw_ver = 1ULL << 32 | 2 << 16 | 3;
	return 0;
}

int ibv_cmd_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr,
		       struct ibv_query_port *cmd, size_t cmd_size)
{
	return 0;
}

int ibv_cmd_alloc_pd(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_alloc_pd *cmd,
		     size_t cmd_size, struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	pd->context = ctx;
	return fake.create_err;
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	return 0;
}

int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access,
		   struct verbs_mr *mr, struct ibv_reg_mr *cmd, size_t cmd_size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size)
{
	return fake.create_err;
}

int ibv_cmd_query_mr(struct ibv_pd *pd, struct verbs_mr *mr, uint32_t handle)
{
	return fake.create_err;
}

int ibv_cmd_query_context(struct ibv_context *ctx, struct ibv_command_buffer *driver)
{
	return 0;
}

int ibv_cmd_rereg_mr(struct verbs_mr *mr, uint32_t flags, void *addr, size_t length, uint64_t iova,
		     int access, struct ibv_pd *pd, struct ibv_rereg_mr *cmd, size_t cmd_size,
		     struct ib_uverbs_rereg_mr_resp *resp, size_t resp_size)
{
	return fake.modify_err;
}

int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		      struct ibv_sge *sg_list, uint32_t num_sge)
{
	return fake.modify_err;
}

int ibv_cmd_dereg_mr(struct verbs_mr *mr)
{
	return 0;
}

int ibv_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
			  int access, struct verbs_mr *mr, struct ibv_command_buffer *driver)
{
	return fake.create_err;
}

int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw *mw,
		     struct ibv_alloc_mw *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_mw_resp *resp, size_t resp_size)
{
	return fake.create_err;
}

int ibv_cmd_dealloc_mw(struct ibv_mw *mw)
{
	return 0;
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init_attr, struct ibv_query_qp *cmd, size_t cmd_size)
{
	return 0;
}

int ibv_cmd_open_qp(struct ibv_context *ctx, struct verbs_qp *qp, int vqp_sz,
		    struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd, size_t cmd_size,
		    struct ib_uverbs_create_qp_resp *resp, size_t resp_size)
{
	qp->qp.context = ctx;
	qp->qp.qp_num = attr->qp_num;
	qp->qp.qp_type = attr->qp_type;
	return fake.create_err;
}

int ibv_cmd_open_xrcd(struct ibv_context *ctx, struct verbs_xrcd *xrcd, int vxrcd_size,
		      struct ibv_xrcd_init_attr *attr, struct ibv_open_xrcd *cmd, size_t cmd_size,
		      struct ib_uverbs_open_xrcd_resp *resp, size_t resp_size)
{
	xrcd->xrcd.context = ctx;
	return fake.create_err;
}

int ibv_cmd_close_xrcd(struct verbs_xrcd *xrcd)
{
	return 0;
}

int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

/* ---- what a program does ------------------------------------------------------------- */

struct ibv_cq *fake_create_cq(struct ibv_context *ctx, int cqe)
{
	return fake.ops.create_cq(ctx, cqe, NULL, 0);
}

struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *ctx, int cqe, uint64_t wc_flags,
				    uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.wc_flags = wc_flags,
		.comp_mask = flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
		.flags = flags,
	};

	return fake.ops.create_cq_ex(ctx, &attr);
}

struct ibv_qp *fake_create_qp(struct ibv_context *ctx, enum ibv_qp_type type, struct ibv_cq *scq,
			      struct ibv_cq *rcq, uint32_t wrs, bool ex)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = scq,
		.recv_cq = rcq,
		.cap = {
			.max_send_wr = wrs,
			.max_recv_wr = wrs,
			.max_send_sge = FAKE_MAX_SGE,
			.max_recv_sge = FAKE_MAX_SGE,
			.max_inline_data = FAKE_MAX_INLINE,
		},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	if (ex) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = rove_post_ex_flags(rove_post_ops(type));
	}
	return fake.ops.create_qp_ex(ctx, &attr);
}

int fake_modify_qp(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int err = fake.ops.modify_qp(qp, &attr, IBV_QP_STATE);

	if (!err)
		qp->state = state;
	return err;
}

/* ---- the module at work ----------------------------------------------------------------- */

struct rove_cq_ring fake_cq_ring(struct ibv_cq *cq)
{
	return (struct rove_cq_ring){
		.hdr = to_rove_cq(cq)->ring.hdr,
		.cqe = to_rove_cq(cq)->ring.cqe,
		.mask = to_rove_cq(cq)->ring.mask,
	};
}

struct fake_qp fake_qp(struct ibv_qp *ibqp)
{
	struct rove_qp *qp = to_rove_qp(ibqp);
	struct fake_qp fq = {
		.qp = ibqp,
		.hdr = qp->hdr,
		.lim = {
			.max_inline = FAKE_MAX_INLINE,
			.max_sge = FAKE_MAX_SGE,
			.ud = ibqp->qp_type == IBV_QPT_UD,
			.ops = rove_post_ops(ibqp->qp_type),
		},
	};

	rove_ring_init(&fq.sq, &fq.hdr->sq_prod, &fq.hdr->sq_cons, qp->sq.ring.slots,
		       qp->sq.ring.mask + 1, qp->sq.ring.stride);
	rove_ring_init(&fq.rq, &fq.hdr->rq_prod, &fq.hdr->rq_cons, qp->rq.ring.slots,
		       qp->rq.ring.mask + 1, qp->rq.ring.stride);
	return fq;
}

bool fake_take_send(struct fake_qp *fq, struct rove_swqe *wqe, enum rove_fault *fault)
{
	if (!rove_ring_pending(&fq->sq))
		return false;
	*fault = rove_wqe_read_send(wqe, rove_ring_slot(&fq->sq, fq->sq.head), &fq->lim);
	rove_ring_release(&fq->sq);
	return true;
}

bool fake_take_recv(struct fake_qp *fq, struct rove_rwqe *wqe)
{
	if (!rove_ring_pending(&fq->rq))
		return false;
	if (rove_wqe_read_recv(wqe, rove_ring_slot(&fq->rq, fq->rq.head), FAKE_MAX_SGE))
		return false;
	rove_ring_release(&fq->rq);
	return true;
}
