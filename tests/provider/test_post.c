// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posting: what lands in the rings, what is refused, when the doorbell is rung. */
#include <errno.h>
#include <stdlib.h>

#include "fake.h"
#include "unit.h"

#define DEPTH	8

static struct ibv_context *ctx;
static struct ibv_cq *cq;
static struct ibv_ah *ah;

static void setup(void)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_pd pd = {};

	ctx = fake_open();
	cq = fake_create_cq(ctx, 64);
	pd.context = ctx;
	ah = fake.ops.create_ah(&pd, &attr);
}

static void teardown(void)
{
	fake.ops.destroy_ah(ah);
	fake.ops.destroy_cq(cq);
	fake_close(ctx);
}

static struct ibv_qp *rts_qp(enum ibv_qp_type type)
{
	struct ibv_qp *qp = fake_create_qp(ctx, type, cq, cq, DEPTH, true);

	fake_modify_qp(qp, IBV_QPS_INIT);
	fake_modify_qp(qp, IBV_QPS_RTR);
	fake_modify_qp(qp, IBV_QPS_RTS);
	return qp;
}

static void destroy(struct ibv_qp *qp)
{
	fake.ops.destroy_qp(qp);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return fake.ops.post_send(qp, wr, &bad);
}

static struct ibv_qp_ex *ex(struct ibv_qp *qp)
{
	return &to_rove_qp(qp)->vqp.qp_ex;
}

/* The builder and the setters for what a struct ibv_send_wr says. */
static void wr_build(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	qpx->wr_id = wr->wr_id;
	qpx->wr_flags = wr->send_flags;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		qpx->wr_send(qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		qpx->wr_send_imm(qpx, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		qpx->wr_send_inv(qpx, wr->invalidate_rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		qpx->wr_rdma_write(qpx, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		qpx->wr_rdma_write_imm(qpx, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
				       wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		qpx->wr_rdma_read(qpx, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		qpx->wr_atomic_cmp_swp(qpx, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				       wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		qpx->wr_atomic_fetch_add(qpx, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					 wr->wr.atomic.compare_add);
		break;
	default:
		abort();
	}
}

static void wr_payload(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf buf[16];
	int i;

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		if (wr->num_sge == 1)
			qpx->wr_set_sge(qpx, wr->sg_list->lkey, wr->sg_list->addr,
					wr->sg_list->length);
		else
			qpx->wr_set_sge_list(qpx, wr->num_sge, wr->sg_list);
		return;
	}
	for (i = 0; i < wr->num_sge; i++)
		buf[i] = (struct ibv_data_buf){
			.addr = (void *)(uintptr_t)wr->sg_list[i].addr,
			.length = wr->sg_list[i].length,
		};
	if (wr->num_sge == 1)
		qpx->wr_set_inline_data(qpx, buf[0].addr, buf[0].length);
	else
		qpx->wr_set_inline_data_list(qpx, wr->num_sge, buf);
}

static int wr_post(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *qpx = ex(qp);

	qpx->wr_start(qpx);
	wr_build(qpx, wr);
	if (qp->qp_type == IBV_QPT_UD)
		qpx->wr_set_ud_addr(qpx, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
				    wr->wr.ud.remote_qkey);
	wr_payload(qpx, wr);
	return qpx->wr_complete(qpx);
}

static void poison(struct ibv_qp *qp)
{
	struct rove_ring *r = &to_rove_qp(qp)->sq.ring;

	memset(r->slots, 0xee, (size_t)(r->mask + 1) * r->stride);
}

/* Posts @wr both ways on two QPs: the same slot, byte for byte, and a good one. */
static void check_same(struct ibv_qp *a, struct ibv_qp *b, struct ibv_send_wr *wr)
{
	struct rove_qp *qa = to_rove_qp(a), *qb = to_rove_qp(b);
	struct fake_qp fa = fake_qp(a), fb = fake_qp(b);
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	enum rove_fault fault;

	poison(a);
	poison(b);
	CHECK_EQ(post_send(a, wr), 0);
	CHECK_EQ(wr_post(b, wr), 0);
	CHECK_MEM(qa->sq.ring.slots, qb->sq.ring.slots, (size_t)DEPTH * qa->sq.ring.stride);
	CHECK_EQ(fa.hdr->sq_prod, 1);
	CHECK_EQ(fb.hdr->sq_prod, 1);

	CHECK(fake_take_send(&fa, wqe, &fault));
	CHECK_EQ(fault, ROVE_FAULT_NONE);
	CHECK_EQ(wqe->sqe.wr_id, wr->wr_id);
	CHECK_EQ(!!(wqe->sqe.flags & ROVE_WR_SIGNALED), !!(wr->send_flags & IBV_SEND_SIGNALED));
	CHECK_EQ(!!(wqe->sqe.flags & ROVE_WR_SOLICITED), !!(wr->send_flags & IBV_SEND_SOLICITED));
	CHECK_EQ(!!(wqe->sqe.flags & ROVE_WR_FENCE), !!(wr->send_flags & IBV_SEND_FENCE));
	CHECK_EQ(!!(wqe->sqe.flags & ROVE_WR_INLINE), !!(wr->send_flags & IBV_SEND_INLINE));
	fake_modify_qp(a, IBV_QPS_RESET);
	fake_modify_qp(b, IBV_QPS_RESET);
	a->state = IBV_QPS_RTS;
	b->state = IBV_QPS_RTS;
}

static uint8_t data[4096];

static void fill_sges(struct ibv_sge *sge, int num, uint32_t length)
{
	int i;

	for (i = 0; i < num; i++)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)data + 100 * i,
			.length = length,
			.lkey = 0x1000 + i,
		};
}

static void set_fields(struct ibv_send_wr *wr, bool ud)
{
	wr->wr_id = 0x1122334455667788;
	wr->imm_data = htobe32(0xcafe0001);
	if (ud) {
		wr->wr.ud.ah = ah;
		wr->wr.ud.remote_qpn = 0x123456;
		wr->wr.ud.remote_qkey = 0x11111111;
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = 0x7f0000001000;
		wr->wr.atomic.rkey = 0x2233;
		wr->wr.atomic.compare_add = 77;
		wr->wr.atomic.swap = 88;
	} else {
		wr->wr.rdma.remote_addr = 0x7f0000002001;
		wr->wr.rdma.rkey = 0x4455;
	}
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static const enum ibv_wr_opcode rc_ops[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
};

TEST(both_interfaces_write_the_same)
{
	struct ibv_sge sge[16];
	struct ibv_qp *a, *b;
	unsigned int i, flags;
	int num;

	setup();
	a = rts_qp(IBV_QPT_RC);
	b = rts_qp(IBV_QPT_RC);
	for (i = 0; i < ARRAY_SIZE(rc_ops); i++) {
		for (flags = 0; flags < 16; flags++) {
			for (num = 0; num <= FAKE_MAX_SGE; num++) {
				struct ibv_send_wr wr = {
					.opcode = rc_ops[i],
					.sg_list = sge,
					.num_sge = num,
					.send_flags = flags,
				};

				if (is_atomic(wr.opcode) && num != 1)
					continue;
				if ((is_atomic(wr.opcode) || wr.opcode == IBV_WR_RDMA_READ) &&
				    flags & IBV_SEND_INLINE)
					continue;
				fill_sges(sge, num, is_atomic(wr.opcode) ? 8 : 7 + num);
				set_fields(&wr, false);
				check_same(a, b, &wr);
			}
		}
	}
	destroy(a);
	destroy(b);
	teardown();
}

TEST(both_interfaces_write_the_same_ud)
{
	struct ibv_sge sge[16];
	struct ibv_qp *a, *b;
	unsigned int flags;
	int num, imm;

	setup();
	a = rts_qp(IBV_QPT_UD);
	b = rts_qp(IBV_QPT_UD);
	for (flags = 0; flags < 16; flags++) {
		for (num = 0; num <= FAKE_MAX_SGE; num++) {
			for (imm = 0; imm < 2; imm++) {
				struct ibv_send_wr wr = {
					.opcode = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
					.sg_list = sge,
					.num_sge = num,
					.send_flags = flags,
				};

				fill_sges(sge, num, 20);
				set_fields(&wr, true);
				check_same(a, b, &wr);
			}
		}
	}
	destroy(a);
	destroy(b);
	teardown();
}

TEST(fields_arrive)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 8, .lkey = 9 };
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	enum rove_fault fault;
	struct ibv_qp *qp;
	struct fake_qp fq;
	unsigned int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	for (i = 0; i < ARRAY_SIZE(rc_ops); i++) {
		struct ibv_send_wr wr = { .opcode = rc_ops[i], .sg_list = &sge, .num_sge = 1 };

		set_fields(&wr, false);
		CHECK_EQ(post_send(qp, &wr), 0);
		CHECK(fake_take_send(&fq, wqe, &fault));
		CHECK_EQ(wqe->sqe.opcode, ROVE_WR_SEND + i);	/* rc_ops has their order */
		CHECK_EQ(wqe->sge[0].addr, 0x1000);
		CHECK_EQ(wqe->sge[0].length, 8);
		CHECK_EQ(wqe->sge[0].lkey, 9);
		if (is_atomic(wr.opcode)) {
			CHECK_EQ(wqe->sqe.atomic.addr, 0x7f0000001000);
			CHECK_EQ(wqe->sqe.atomic.rkey, 0x2233);
			CHECK_EQ(wqe->sqe.atomic.compare_add, 77);
			CHECK_EQ(wqe->sqe.atomic.swap,
				 wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? 88 : 0);
		} else if (i >= 3) {
			CHECK_EQ(wqe->sqe.rdma.addr, 0x7f0000002001);
			CHECK_EQ(wqe->sqe.rdma.rkey, 0x4455);
		}
		if (i == 1 || i == 4)
			CHECK_EQ(wqe->sqe.imm, htobe32(0xcafe0001));
		else if (i == 2)
			CHECK_EQ(wqe->sqe.imm, wr.invalidate_rkey);
		else
			CHECK_EQ(wqe->sqe.imm, 0);
	}
	destroy(qp);
	teardown();
}

TEST(ud_address_arrives)
{
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	enum rove_fault fault;
	struct ibv_qp *qp;
	struct fake_qp fq;

	setup();
	qp = rts_qp(IBV_QPT_UD);
	fq = fake_qp(qp);
	set_fields(&wr, true);
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK(fake_take_send(&fq, wqe, &fault));
	CHECK_EQ(wqe->sqe.ud.ah, 0xa1);
	CHECK_EQ(wqe->sqe.ud.qpn, 0x123456);
	CHECK_EQ(wqe->sqe.ud.qkey, 0x11111111);
	destroy(qp);
	teardown();
}

TEST(inline_data_is_gathered)
{
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	struct ibv_sge sge[16];
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = sge,
		.num_sge = 10,		/* more than SGEs would be allowed */
		.send_flags = IBV_SEND_INLINE,
	};
	enum rove_fault fault;
	struct ibv_qp *qp;
	struct fake_qp fq;
	int i;

	setup();
	for (i = 0; i < (int)sizeof(data); i++)
		data[i] = i * 7;
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	fill_sges(sge, 10, FAKE_MAX_INLINE / 10);
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK_EQ(wr_post(qp, &wr), 0);
	while (fake_take_send(&fq, wqe, &fault)) {
		CHECK_EQ(fault, ROVE_FAULT_NONE);
		CHECK_EQ(wqe->length, FAKE_MAX_INLINE);
		for (i = 0; i < 10; i++)
			CHECK_MEM(wqe->data + i * 20, data + i * 100, 20);
	}
	destroy(qp);
	teardown();
}

/* Whatever is wrong: the same errno both ways, and nothing is published. */
static void check_refused(struct ibv_qp *qp, struct ibv_send_wr *wr, int err)
{
	struct rove_qp *rqp = to_rove_qp(qp);
	uint32_t prod = rqp->hdr->sq_prod, head = rqp->sq.ring.head;
	struct ibv_send_wr *bad = NULL;
	int kicks = fake.kicks;

	CHECK_EQ(fake.ops.post_send(qp, wr, &bad), err);
	CHECK(bad == wr);
	CHECK_EQ(wr_post(qp, wr), err);
	CHECK_EQ(rqp->hdr->sq_prod, prod);
	CHECK_EQ(rqp->sq.ring.head, head);
	CHECK_EQ(fake.kicks, kicks);
}

TEST(wrong_requests_are_refused_alike)
{
	struct ibv_sge sge[16];
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge };
	struct ibv_qp *rc, *ud;

	setup();
	rc = rts_qp(IBV_QPT_RC);
	ud = rts_qp(IBV_QPT_UD);
	fill_sges(sge, 16, 10);
	set_fields(&wr, true);

	wr.num_sge = FAKE_MAX_SGE + 1;
	check_refused(rc, &wr, EINVAL);
	check_refused(ud, &wr, EINVAL);

	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	sge[0].length = FAKE_MAX_INLINE + 1;
	check_refused(rc, &wr, EINVAL);
	check_refused(ud, &wr, EINVAL);

	wr.num_sge = 2;			/* more than 32 bits in all */
	sge[0].length = 0xffffffff;
	sge[1].length = 2;
	check_refused(rc, &wr, EINVAL);
	sge[0].length = FAKE_MAX_INLINE;
	sge[1].length = 1;
	check_refused(rc, &wr, EINVAL);

	wr.num_sge = 1;
	sge[0].length = 8;
	wr.send_flags = IBV_SEND_IP_CSUM;
	check_refused(rc, &wr, EINVAL);
	wr.send_flags = IBV_SEND_INLINE;
	wr.opcode = IBV_WR_RDMA_READ;
	check_refused(rc, &wr, EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	check_refused(rc, &wr, EINVAL);

	wr.opcode = IBV_WR_SEND;
	wr.send_flags = 0;
	wr.wr.ud.ah = NULL;
	check_refused(ud, &wr, EINVAL);

	destroy(rc);
	destroy(ud);
	teardown();
}

/* Windows, by both interfaces; a key of type 1 moves on with each bind. */
TEST(windows)
{
	struct ibv_mr mr = { .lkey = 0x4455 };
	struct ibv_mw mw = { .rkey = 0x1122ff, .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = {
		.wr_id = 5,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.bind_info = { .mr = &mr, .addr = 0x7000, .length = 0x123456789,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	struct ibv_send_wr wr = {};
	enum rove_fault fault;
	struct fake_qp fq;
	struct ibv_qp *qp;
	int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	mw.context = qp->context;
	mw.pd = qp->pd;
	CHECK_EQ(fake.ops.bind_mw(qp, &mw, &bind), 0);
	CHECK_EQ(mw.rkey, 0x112200);

	wr.opcode = IBV_WR_BIND_MW;
	wr.wr_id = 5;
	wr.send_flags = bind.send_flags;
	wr.bind_mw.mw = &mw;
	wr.bind_mw.rkey = 0x112200;
	wr.bind_mw.bind_info = bind.bind_info;
	CHECK_EQ(post_send(qp, &wr), 0);

	ex(qp)->wr_start(ex(qp));
	ex(qp)->wr_id = 5;
	ex(qp)->wr_flags = bind.send_flags;
	ex(qp)->wr_bind_mw(ex(qp), &mw, 0x112200, &bind.bind_info);
	ex(qp)->wr_local_inv(ex(qp), 0x1234);
	CHECK_EQ(ex(qp)->wr_complete(ex(qp)), 0);

	for (i = 0; i < 3; i++) {
		CHECK(fake_take_send(&fq, wqe, &fault));
		CHECK_EQ(fault, ROVE_FAULT_NONE);
		CHECK_EQ(wqe->sqe.wr_id, 5);
		CHECK_EQ(wqe->sqe.opcode, ROVE_WR_BIND_MW);
		CHECK_EQ(wqe->sqe.flags, ROVE_WR_SIGNALED | ROVE_WR_FENCE);
		CHECK_EQ(wqe->sqe.bind.addr, 0x7000);
		CHECK_EQ(wqe->sqe.bind.length, 0x123456789);
		CHECK_EQ(wqe->sqe.bind.mw_rkey >> 8, 0x1122);
		CHECK_EQ(wqe->sqe.bind.new_rkey, 0x112200);
		CHECK_EQ(wqe->sqe.bind.lkey, 0x4455);
		CHECK_EQ(wqe->sqe.bind.access, IBV_ACCESS_REMOTE_READ);
	}
	CHECK(fake_take_send(&fq, wqe, &fault));
	CHECK_EQ(fault, ROVE_FAULT_NONE);
	CHECK_EQ(wqe->sqe.opcode, ROVE_WR_LOCAL_INV);
	CHECK_EQ(wqe->sqe.imm, 0x1234);

	/* Of type 1 none has addresses of its own; and nothing is bound to nothing. */
	bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	CHECK_EQ(fake.ops.bind_mw(qp, &mw, &bind), EINVAL);
	bind.bind_info.mw_access_flags = 0;
	bind.bind_info.mr = NULL;
	CHECK_EQ(fake.ops.bind_mw(qp, &mw, &bind), EINVAL);
	CHECK_EQ(mw.rkey, 0x112200);
	bind.bind_info.length = 0;
	CHECK_EQ(fake.ops.bind_mw(qp, &mw, &bind), 0);
	destroy(qp);
	teardown();
}

/* ATOMIC WRITE by both interfaces, FLUSH by one; their bytes and fields in the header. */
TEST(place_operations)
{
	uint64_t data = 0x1122334455667788, buf[FAKE_WQE_SIZE / 8];
	struct ibv_sge sge = { .addr = (uintptr_t)&data, .length = 8, .lkey = 0xbad };
	struct ibv_send_wr wr = {
		.wr_id = 5,
		.opcode = IBV_WR_ATOMIC_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = 0x7008, .rkey = 0x99 },
	};
	struct rove_swqe *wqe = (void *)buf;
	enum rove_fault fault;
	struct fake_qp fq;
	struct ibv_qp *qp;
	int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	CHECK_EQ(post_send(qp, &wr), 0);
	ex(qp)->wr_start(ex(qp));
	ex(qp)->wr_id = 5;
	ex(qp)->wr_flags = IBV_SEND_SIGNALED;
	ex(qp)->wr_atomic_write(ex(qp), 0x99, 0x7008, &data);
	ex(qp)->wr_flush(ex(qp), 0x98, 0x7000, UINT32_MAX, 1, 1);
	CHECK_EQ(ex(qp)->wr_complete(ex(qp)), 0);
	data = 0;

	for (i = 0; i < 2; i++) {
		CHECK(fake_take_send(&fq, wqe, &fault));
		CHECK_EQ(fault, ROVE_FAULT_NONE);
		CHECK_EQ(wqe->sqe.opcode, ROVE_WR_ATOMIC_WRITE);
		CHECK_EQ(wqe->sqe.flags, ROVE_WR_SIGNALED);
		CHECK_EQ(wqe->sqe.atomic.addr, 0x7008);
		CHECK_EQ(wqe->sqe.atomic.rkey, 0x99);
		CHECK_EQ(wqe->sqe.atomic.compare_add, 0x1122334455667788);
		CHECK_EQ(wqe->length, 8);
	}
	CHECK(fake_take_send(&fq, wqe, &fault));
	CHECK_EQ(fault, ROVE_FAULT_NONE);
	CHECK_EQ(wqe->sqe.opcode, ROVE_WR_FLUSH);
	CHECK(wqe->sqe.flush.addr == 0x7000 && wqe->sqe.flush.rkey == 0x98 &&
	      wqe->sqe.flush.length == UINT32_MAX && wqe->sqe.flush.type == 1 &&
	      wqe->sqe.flush.level == 1);

	ex(qp)->wr_start(ex(qp));
	ex(qp)->wr_flush(ex(qp), 0x98, 0x7000, 1ULL + UINT32_MAX, 1, 0);
	CHECK_EQ(ex(qp)->wr_complete(ex(qp)), EINVAL);
	sge.length = 7;
	CHECK_EQ(post_send(qp, &wr), EINVAL);
	sge.length = 8;
	wr.num_sge = 2;
	CHECK_EQ(post_send(qp, &wr), EINVAL);
	destroy(qp);
	teardown();
}

TEST(operations_that_do_not_fit_are_refused)
{
	struct ibv_send_wr wr = {};
	struct ibv_qp *rc, *ud;
	unsigned int i;

	setup();
	rc = rts_qp(IBV_QPT_RC);
	ud = rts_qp(IBV_QPT_UD);
	set_fields(&wr, true);
	for (i = 2; i < ARRAY_SIZE(rc_ops); i++) {
		wr.opcode = rc_ops[i];
		CHECK_EQ(post_send(ud, &wr), EINVAL);
	}
	wr.opcode = IBV_WR_LOCAL_INV;
	CHECK_EQ(post_send(ud, &wr), EINVAL);
	wr.opcode = IBV_WR_BIND_MW;
	CHECK_EQ(post_send(ud, &wr), EINVAL);
	CHECK_EQ(post_send(rc, &wr), EINVAL);	/* without a window */
	wr.opcode = (enum ibv_wr_opcode)-1;
	CHECK_EQ(post_send(rc, &wr), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = -1;
	CHECK_EQ(post_send(rc, &wr), EINVAL);
	CHECK_EQ(to_rove_qp(rc)->hdr->sq_prod, 0);
	CHECK_EQ(to_rove_qp(ud)->hdr->sq_prod, 0);
	/* Operations of RC are not even there. */
	CHECK(!ex(ud)->wr_rdma_write && !ex(ud)->wr_rdma_read && !ex(ud)->wr_atomic_cmp_swp);
	destroy(rc);
	destroy(ud);
	teardown();
}

TEST(ud_without_address_is_refused)
{
	struct ibv_qp_ex *qpx;
	struct ibv_qp *qp;

	setup();
	qp = rts_qp(IBV_QPT_UD);
	qpx = ex(qp);
	qpx->wr_flags = 0;
	qpx->wr_start(qpx);
	qpx->wr_send(qpx);
	qpx->wr_set_sge(qpx, 1, 2, 3);
	CHECK_EQ(qpx->wr_complete(qpx), EINVAL);

	/* Not forgotten when another one follows. */
	qpx->wr_start(qpx);
	qpx->wr_send(qpx);
	qpx->wr_send(qpx);
	qpx->wr_set_ud_addr(qpx, ah, 1, 2);
	CHECK_EQ(qpx->wr_complete(qpx), EINVAL);
	CHECK_EQ(to_rove_qp(qp)->hdr->sq_prod, 0);
	destroy(qp);
	teardown();
}

TEST(states)
{
	static const enum ibv_qp_state good[] = {
		IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR,
	};
	static const enum ibv_qp_state bad[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr rwr = {}, *bad_rwr = NULL;
	struct ibv_qp *qp;
	unsigned int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		qp->state = bad[i];
		check_refused(qp, &wr, EINVAL);
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		qp->state = good[i];
		CHECK_EQ(post_send(qp, &wr), 0);
		CHECK_EQ(wr_post(qp, &wr), 0);
	}

	qp->state = IBV_QPS_RESET;
	CHECK_EQ(fake.ops.post_recv(qp, &rwr, &bad_rwr), EINVAL);
	CHECK(bad_rwr == &rwr);
	qp->state = IBV_QPS_INIT;
	CHECK_EQ(fake.ops.post_recv(qp, &rwr, &bad_rwr), 0);
	destroy(qp);
	teardown();
}

static void complete(struct fake_qp *fq, struct rove_cq_ring *ring, uint32_t upto)
{
	struct rove_cqe cqe = { .qpn = fq->qp->qp_num, .wqe = upto };

	CHECK(rove_cq_ring_put(ring, &cqe));
}

TEST(queue_full)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_cq_ring ring;
	enum rove_fault fault;
	struct fake_qp fq;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	ring = fake_cq_ring(cq);
	for (i = 0; i < DEPTH; i++)
		CHECK_EQ(i % 2 ? post_send(qp, &wr) : wr_post(qp, &wr), 0);
	check_refused(qp, &wr, ENOMEM);

	/* Slots that are free again do not help: the WRs are still under way. */
	while (fake_take_send(&fq, (void *)buf, &fault))
		;
	check_refused(qp, &wr, ENOMEM);

	/* The completion of the third does, for three; but only once it is polled. */
	complete(&fq, &ring, 3);
	check_refused(qp, &wr, ENOMEM);
	CHECK_EQ(fake.ops.poll_cq(cq, 1, &wc), 1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(wr_post(qp, &wr), 0);
	check_refused(qp, &wr, ENOMEM);

	/* Completed, but the slots were not given back. */
	complete(&fq, &ring, DEPTH);
	CHECK_EQ(fake.ops.poll_cq(cq, 1, &wc), 1);
	for (i = 0; i < DEPTH - 3; i++)
		CHECK_EQ(post_send(qp, &wr), 0);
	check_refused(qp, &wr, ENOMEM);
	destroy(qp);
	teardown();
}

TEST(indices_wrap)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	struct rove_cq_ring ring;
	enum rove_fault fault;
	struct rove_qp *rqp;
	struct fake_qp fq;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	uint32_t start = -5, i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	rqp = to_rove_qp(qp);
	rqp->sq.ring.head = rqp->sq.limit = rqp->sq.completed = start;
	rqp->hdr->sq_prod = rqp->hdr->sq_cons = start;
	fq = fake_qp(qp);
	fq.sq.head = start;
	ring = fake_cq_ring(cq);

	for (i = 0; i < 3 * DEPTH; i++) {
		wr.wr_id = i;
		CHECK_EQ(post_send(qp, &wr), 0);
		if (i % DEPTH != DEPTH - 1)
			continue;
		CHECK_EQ(post_send(qp, &wr), ENOMEM);
		while (fake_take_send(&fq, wqe, &fault))
			CHECK_EQ(wqe->sqe.wr_id, fq.sq.head - 1 - start);
		complete(&fq, &ring, fq.sq.head);
		CHECK_EQ(fake.ops.poll_cq(cq, 1, &wc), 1);
	}
	destroy(qp);
	teardown();
}

TEST(part_of_a_list)
{
	struct ibv_send_wr wr[4], *bad = NULL;
	struct ibv_qp *qp;
	int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	for (i = 0; i < 4; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.opcode = IBV_WR_SEND,
			.next = i < 3 ? &wr[i + 1] : NULL,
		};
	wr[2].num_sge = FAKE_MAX_SGE + 1;
	fake_db(ctx)->need_wakeup = 1;
	CHECK_EQ(fake.ops.post_send(qp, wr, &bad), EINVAL);
	CHECK(bad == &wr[2]);
	CHECK_EQ(to_rove_qp(qp)->hdr->sq_prod, 2);
	CHECK_EQ(fake.kicks, 1);
	CHECK_EQ(fake.ops.post_send(qp, NULL, &bad), 0);
	CHECK_EQ(fake.kicks, 1);
	destroy(qp);
	teardown();
}

TEST(batches_roll_back)
{
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	struct ibv_sge sge[16] = {};
	enum rove_fault fault;
	struct ibv_qp_ex *qpx;
	struct ibv_qp *qp;
	struct fake_qp fq;
	int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	qpx = ex(qp);
	qpx->wr_flags = 0;

	qpx->wr_start(qpx);
	qpx->wr_send(qpx);
	qpx->wr_rdma_write(qpx, 1, 2);
	qpx->wr_abort(qpx);
	CHECK_EQ(to_rove_qp(qp)->hdr->sq_prod, 0);

	/* The first error counts, and what follows is ignored. */
	qpx->wr_start(qpx);
	qpx->wr_send(qpx);
	qpx->wr_send(qpx);
	qpx->wr_set_sge_list(qpx, FAKE_MAX_SGE + 1, sge);
	qpx->wr_set_inline_data(qpx, data, 4);
	for (i = 0; i < 2 * DEPTH; i++)
		qpx->wr_send_imm(qpx, 5);
	CHECK_EQ(qpx->wr_complete(qpx), EINVAL);
	CHECK_EQ(to_rove_qp(qp)->hdr->sq_prod, 0);

	qpx->wr_start(qpx);
	for (i = 0; i < DEPTH + 1; i++)
		qpx->wr_send(qpx);
	CHECK_EQ(qpx->wr_complete(qpx), ENOMEM);
	CHECK_EQ(to_rove_qp(qp)->hdr->sq_prod, 0);

	/* An empty batch, and then one that fills the queue. */
	qpx->wr_start(qpx);
	CHECK_EQ(qpx->wr_complete(qpx), 0);
	CHECK_EQ(fake.kicks, 0);
	qpx->wr_start(qpx);
	for (i = 0; i < DEPTH; i++) {
		qpx->wr_id = i;
		qpx->wr_send(qpx);
	}
	CHECK_EQ(qpx->wr_complete(qpx), 0);
	for (i = 0; i < DEPTH; i++) {
		CHECK(fake_take_send(&fq, wqe, &fault));
		CHECK_EQ(wqe->sqe.wr_id, i);
	}
	destroy(qp);
	teardown();
}

TEST(signal_all)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	enum rove_fault fault;
	struct fake_qp fq;
	struct ibv_qp *qp;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	to_rove_qp(qp)->sq_sig_all = true;
	fq = fake_qp(qp);
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK_EQ(wr_post(qp, &wr), 0);
	while (fake_take_send(&fq, wqe, &fault))
		CHECK_EQ(wqe->sqe.flags, ROVE_WR_SIGNALED);
	destroy(qp);
	teardown();
}

TEST(doorbells)
{
	static const uint32_t slots[] = { 0, 1, 63, 64, 4095, 4096, ROVE_DB_SLOTS - 1 };
	struct ibv_send_wr wr[2] = {
		{ .opcode = IBV_WR_SEND, .next = &wr[1] },
		{ .opcode = IBV_WR_SEND },
	};
	struct rove_db_page *db, want;
	struct ibv_send_wr *bad;
	struct ibv_qp *qp;
	unsigned int i;

	setup();
	db = fake_db(ctx);
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		memset(db, 0, sizeof(*db));
		memset(&want, 0, sizeof(want));
		fake.next_slot = slots[i];
		fake.kicks = 0;
		qp = rts_qp(IBV_QPT_RC);

		CHECK_EQ(post_send(qp, wr), 0);
		want.rung[slots[i] / 64] = 1ULL << slots[i] % 64;
		want.summary[slots[i] / 64 / 64] = 1ULL << slots[i] / 64 % 64;
		CHECK_MEM(db, &want, sizeof(want));
		CHECK_EQ(fake.kicks, 0);

		/* Asleep: one call for the list, and one for the batch. */
		db->need_wakeup = 1;
		CHECK_EQ(post_send(qp, wr), 0);
		CHECK_EQ(fake.kicks, 1);
		CHECK_EQ(wr_post(qp, &wr[1]), 0);
		CHECK_EQ(fake.kicks, 2);
		want.need_wakeup = 1;
		CHECK_MEM(db, &want, sizeof(want));

		fake.kick_err = EIO;
		CHECK_EQ(fake.ops.post_send(qp, wr, &bad), EIO);
		CHECK(bad == wr);
		CHECK_EQ(wr_post(qp, &wr[1]), EIO);
		fake.kick_err = 0;
		destroy(qp);
	}
	teardown();
}

TEST(doorbells_left_to_who_polls)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_qp *qp;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fake_db(ctx)->need_wakeup = ROVE_DB_AT_POLL;
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK_EQ(wr_post(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 0);
	CHECK_EQ(fake_db(ctx)->rung[0], 1ULL << to_rove_qp(qp)->db_slot);
	destroy(qp);
	teardown();
}

/* While the requester waits for answers it looks at the ring by itself. */
TEST(sends_do_not_ring_while_it_is_no_use)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct rove_db_page zero = {};
	struct fake_qp fq;
	struct ibv_qp *qp;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	fq.hdr->sq_waits = 1;
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK_EQ(wr_post(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 0);
	CHECK_MEM(fake_db(ctx), &zero, sizeof(zero));
	CHECK_EQ(fq.hdr->sq_prod, 2);
	fq.hdr->sq_waits = 0;
	fake_db(ctx)->need_wakeup = 1;
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 1);
	destroy(qp);
	teardown();
}

TEST(no_doorbell_slot)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct rove_db_page zero = {};
	struct ibv_qp *qp;

	setup();
	fake.next_slot = ROVE_DB_NO_SLOT;
	qp = rts_qp(IBV_QPT_RC);
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK_EQ(wr_post(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 2);
	destroy(qp);

	/* One outside the page is none. */
	fake.next_slot = ROVE_DB_SLOTS;
	qp = rts_qp(IBV_QPT_RC);
	CHECK_EQ(post_send(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 3);
	CHECK_MEM(fake_db(ctx), &zero, sizeof(zero));
	destroy(qp);
	teardown();
}

/* ---- receive queue -------------------------------------------------------------- */

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad = NULL;
	int err = fake.ops.post_recv(qp, wr, &bad);

	CHECK(!!err == !!bad);
	return err;
}

static void complete_recv(struct ibv_qp *qp, struct rove_cq_ring *ring)
{
	struct rove_cqe cqe = { .qpn = qp->qp_num, .flags = ROVE_CQE_RECV };

	CHECK(rove_cq_ring_put(ring, &cqe));
}

TEST(receives_arrive)
{
	struct ibv_sge sge[FAKE_MAX_SGE + 1];
	uint64_t buf[64];
	struct rove_rwqe *wqe = (void *)buf;
	struct ibv_recv_wr wr = { .wr_id = 99, .sg_list = sge };
	struct fake_qp fq;
	struct ibv_qp *qp;
	int num;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	fill_sges(sge, FAKE_MAX_SGE + 1, 50);
	for (num = 0; num <= FAKE_MAX_SGE; num++) {
		wr.num_sge = num;
		CHECK_EQ(post_recv(qp, &wr), 0);
		CHECK(fake_take_recv(&fq, wqe));
		CHECK_EQ(wqe->wr_id, 99);
		CHECK_EQ(wqe->num, num);
		CHECK_MEM(wqe->sge, sge, num * sizeof(*sge));
	}
	wr.num_sge = FAKE_MAX_SGE + 1;
	CHECK_EQ(post_recv(qp, &wr), EINVAL);
	wr.num_sge = -1;
	CHECK_EQ(post_recv(qp, &wr), EINVAL);
	CHECK_EQ(fake.kicks, 0);
	destroy(qp);
	teardown();
}

TEST(receive_queue_full)
{
	struct ibv_recv_wr wr = {};
	struct rove_cq_ring ring;
	uint64_t buf[64];
	struct fake_qp fq;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	int i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	fq = fake_qp(qp);
	ring = fake_cq_ring(cq);
	for (i = 0; i < DEPTH; i++)
		CHECK_EQ(post_recv(qp, &wr), 0);
	CHECK_EQ(post_recv(qp, &wr), ENOMEM);
	while (fake_take_recv(&fq, (void *)buf))
		;
	CHECK_EQ(post_recv(qp, &wr), ENOMEM);

	complete_recv(qp, &ring);
	complete_recv(qp, &ring);
	CHECK_EQ(post_recv(qp, &wr), ENOMEM);
	CHECK_EQ(fake.ops.poll_cq(cq, 1, &wc), 1);
	CHECK_EQ(post_recv(qp, &wr), 0);
	CHECK_EQ(post_recv(qp, &wr), ENOMEM);
	CHECK_EQ(fake.ops.poll_cq(cq, 1, &wc), 1);
	CHECK_EQ(post_recv(qp, &wr), 0);
	CHECK_EQ(post_recv(qp, &wr), ENOMEM);
	destroy(qp);
	teardown();
}

TEST(no_receive_queue)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_send_wr swr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr wr = {};
	struct ibv_pd pd;
	struct ibv_qp *qp;

	setup();
	pd.context = ctx;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = fake.ops.create_qp(&pd, &attr);
	CHECK(qp);
	CHECK_EQ(attr.cap.max_send_wr, 1);
	CHECK_EQ(attr.cap.max_recv_wr, 0);
	qp->state = IBV_QPS_RTS;
	CHECK_EQ(post_recv(qp, &wr), EINVAL);
	CHECK_EQ(post_send(qp, &swr), 0);
	CHECK_EQ(post_send(qp, &swr), ENOMEM);
	destroy(qp);
	teardown();
}

TEST(receives_ring_in_the_error_state_only)
{
	struct ibv_recv_wr wr = {};
	struct ibv_qp *qp;

	setup();
	fake.next_slot = 70;
	qp = rts_qp(IBV_QPT_RC);
	fake_db(ctx)->need_wakeup = 1;
	CHECK_EQ(post_recv(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 0);
	CHECK_EQ(fake_db(ctx)->rung[1], 0);

	to_rove_qp(qp)->hdr->flags = ROVE_QP_RING_RECV;
	CHECK_EQ(post_recv(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 1);
	CHECK_EQ(fake_db(ctx)->rung[1], 1 << 6);

	fake_db(ctx)->need_wakeup = 0;
	CHECK_EQ(post_recv(qp, &wr), 0);
	CHECK_EQ(fake.kicks, 1);
	destroy(qp);
	teardown();
}

TEST(reset_empties_the_queues)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr rwr = {};
	uint64_t buf[FAKE_WQE_SIZE / 8];
	enum rove_fault fault;
	struct rove_cq_ring ring;
	struct fake_qp fq;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	int round, i;

	setup();
	qp = rts_qp(IBV_QPT_RC);
	ring = fake_cq_ring(cq);
	for (round = 0; round < 3; round++) {
		/* So that indices are further on than the queue is deep. */
		fq = fake_qp(qp);
		for (i = 1; i < 2 * DEPTH; i++) {
			CHECK_EQ(post_send(qp, &wr), 0);
			CHECK(fake_take_send(&fq, (void *)buf, &fault));
			complete(&fq, &ring, i);
			CHECK_EQ(fake.ops.poll_cq(cq, 1, &wc), 1);
		}
		CHECK_EQ(fake_modify_qp(qp, IBV_QPS_RESET), 0);
		fake_modify_qp(qp, IBV_QPS_RTS);

		for (i = 0; i < DEPTH; i++) {
			CHECK_EQ(post_send(qp, &wr), 0);
			CHECK_EQ(post_recv(qp, &rwr), 0);
		}
		CHECK_EQ(post_send(qp, &wr), ENOMEM);
		CHECK_EQ(post_recv(qp, &rwr), ENOMEM);
		complete(&fq, &ring, 2);
		complete_recv(qp, &ring);

		/* When it fails nothing is lost. */
		fake.modify_err = EINVAL;
		CHECK_EQ(fake_modify_qp(qp, IBV_QPS_RESET), EINVAL);
		CHECK_EQ(fq.hdr->sq_prod, DEPTH);
		fake.modify_err = 0;

		CHECK_EQ(fake_modify_qp(qp, IBV_QPS_RESET), 0);
		CHECK_EQ(fake.ops.poll_cq(cq, 1, &wc), 0);
		CHECK_EQ(post_send(qp, &wr), EINVAL);
		CHECK_EQ(post_recv(qp, &rwr), EINVAL);
		fake_modify_qp(qp, IBV_QPS_RTS);
	}
	destroy(qp);
	teardown();
}
