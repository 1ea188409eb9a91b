// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Polling, arming, and queues out of which a QP's completions are taken. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "fake.h"
#include "unit.h"

#define ENTRIES	16

static struct ibv_context *ctx;

static struct ibv_cq *setup(void)
{
	ctx = fake_open();
	return fake_create_cq(ctx, ENTRIES);
}

static void teardown(struct ibv_cq *cq)
{
	CHECK_EQ(fake.ops.destroy_cq(cq), 0);
	fake_close(ctx);
}

static int poll(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	return fake.ops.poll_cq(cq, num, wc);
}

static void put(struct rove_cq_ring *ring, uint32_t qpn, uint64_t wr_id)
{
	struct rove_cqe cqe = { .qpn = qpn, .wr_id = wr_id };

	CHECK(rove_cq_ring_put(ring, &cqe));
}

TEST(opcodes_and_flags)
{
	static const struct {
		uint8_t op;
		uint16_t flags;
		enum ibv_wc_opcode opcode;
		unsigned int wc_flags;
	} t[] = {
		{ ROVE_WR_SEND, 0, IBV_WC_SEND, 0 },
		{ ROVE_WR_SEND_IMM, 0, IBV_WC_SEND, 0 },
		{ ROVE_WR_SEND_INV, 0, IBV_WC_SEND, 0 },
		{ ROVE_WR_WRITE, 0, IBV_WC_RDMA_WRITE, 0 },
		{ ROVE_WR_WRITE_IMM, 0, IBV_WC_RDMA_WRITE, 0 },
		{ ROVE_WR_READ, 0, IBV_WC_RDMA_READ, 0 },
		{ ROVE_WR_CMP_SWP, 0, IBV_WC_COMP_SWAP, 0 },
		{ ROVE_WR_FETCH_ADD, 0, IBV_WC_FETCH_ADD, 0 },
		{ ROVE_RECV_SEND, ROVE_CQE_RECV, IBV_WC_RECV, 0 },
		{ ROVE_RECV_SEND, ROVE_CQE_RECV | ROVE_CQE_IMM, IBV_WC_RECV, IBV_WC_WITH_IMM },
		{ ROVE_RECV_SEND, ROVE_CQE_RECV | ROVE_CQE_INV, IBV_WC_RECV, IBV_WC_WITH_INV },
		{ ROVE_RECV_SEND, ROVE_CQE_RECV | ROVE_CQE_GRH | ROVE_CQE_IPV4, IBV_WC_RECV,
		  IBV_WC_GRH },
		{ ROVE_RECV_WRITE_IMM, ROVE_CQE_RECV | ROVE_CQE_IMM, IBV_WC_RECV_RDMA_WITH_IMM,
		  IBV_WC_WITH_IMM },
	};
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct rove_cqe cqe = { .opcode = t[i].op, .flags = t[i].flags };

		CHECK(rove_cq_ring_put(&ring, &cqe));
		CHECK_EQ(poll(cq, 1, &wc), 1);
		CHECK_EQ(wc.opcode, t[i].opcode);
		CHECK_EQ(wc.wc_flags, t[i].wc_flags);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	}
	teardown(cq);
}

static const struct rove_cqe full_cqe = {
	.wr_id = 0x1122334455667788,
	.timestamp = 123456789,
	.byte_len = 4711,
	.imm = 0xaabbccdd,
	.qpn = 0x77,
	.src_qp = 0x88,
	.pkey_index = 3,
	.vlan = 10,
	.status = IBV_WC_REM_ACCESS_ERR,
	.flags = ROVE_CQE_RECV | ROVE_CQE_IMM | ROVE_CQE_VLAN,
	.sl = 5,
};

TEST(fields)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct ibv_wc wc;

	CHECK(rove_cq_ring_put(&ring, &full_cqe));
	memset(&wc, 0xff, sizeof(wc));
	CHECK_EQ(poll(cq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, full_cqe.wr_id);
	CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(wc.vendor_err, 0);
	CHECK_EQ(wc.byte_len, 4711);
	CHECK_EQ(wc.imm_data, 0xaabbccdd);
	CHECK_EQ(wc.qp_num, 0x77);
	CHECK_EQ(wc.src_qp, 0x88);
	CHECK_EQ(wc.pkey_index, 3);
	CHECK_EQ(wc.slid, 0);
	CHECK_EQ(wc.sl, 5);
	CHECK_EQ(wc.dlid_path_bits, 0);
	teardown(cq);
}

/* Of a datagram: over what it came. */
TEST(datagram_kind)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct rove_cqe cqe = full_cqe;
	struct ibv_wc wc[2];

	cqe.flags = ROVE_CQE_RECV | ROVE_CQE_GRH;
	cqe.sl = 0;
	CHECK(rove_cq_ring_put(&ring, &cqe));
	cqe.flags |= ROVE_CQE_IPV4;
	CHECK(rove_cq_ring_put(&ring, &cqe));
	CHECK_EQ(poll(cq, 2, wc), 2);
	CHECK_EQ(wc[0].wc_flags, IBV_WC_GRH);
	CHECK_EQ(wc[0].sl, 9);
	CHECK_EQ(wc[1].wc_flags, IBV_WC_GRH);
	CHECK_EQ(wc[1].sl, 10);
	teardown(cq);
}

TEST(many_rounds)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	uint32_t seed = 1, in = 0, out = 0;
	struct ibv_wc wc[ENTRIES + 3];
	int n, i;

	while (out < 100 * ENTRIES) {
		for (n = unit_rand(&seed) % (ENTRIES + 1); n && in - out < ENTRIES; n--)
			put(&ring, 1, in++);
		n = unit_rand(&seed) % (ENTRIES + 4);
		n = poll(cq, n, wc);
		for (i = 0; i < n; i++)
			CHECK_EQ(wc[i].wr_id, out++);
		CHECK_EQ(ring.hdr->cons, out);
	}
	CHECK_EQ(poll(cq, 0, wc), 0);
	CHECK_EQ(poll(cq, -1, wc), 0);
	CHECK_EQ(fake.kicks, 0);
	teardown(cq);
}

TEST(garbage_does_no_harm)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct ibv_qp *qp = fake_create_qp(ctx, IBV_QPT_RC, cq, cq, 4, false);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	uint32_t seed = 7, i, j;
	struct ibv_wc wc;

	qp->state = IBV_QPS_RTS;
	for (i = 0; i < 100000; i++) {
		uint32_t words[16];

		for (j = 0; j < 16; j++)
			words[j] = unit_rand(&seed);
		if (i % 3 == 0)
			((struct rove_cqe *)words)->qpn = qp->qp_num;
		CHECK(rove_cq_ring_put(&ring, (void *)words));
		CHECK_EQ(poll(cq, 1, &wc), 1);
		CHECK(wc.status <= IBV_WC_GENERAL_ERR);
		CHECK(wc.opcode <= IBV_WC_ATOMIC_WRITE || wc.opcode == IBV_WC_RECV ||
		      wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
		fake.ops.post_send(qp, &wr, &bad);
	}
	fake.ops.destroy_qp(qp);
	teardown(cq);
}

/* ---- a QP goes -------------------------------------------------------------------- */

/*
 * Three QPs' completions mixed, behind @start others; one QP goes. The others'
 * stay, in their order, and the room of those that went is the module's again.
 */
static void clean_once(uint32_t *seed, uint32_t fill, uint32_t start)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	uint32_t i, who, kept = 0, gone = 0;
	struct ibv_wc wc[ENTRIES + 1];
	uint64_t want[ENTRIES];
	struct ibv_qp *qp[3];

	for (i = 0; i < 3; i++)
		qp[i] = fake_create_qp(ctx, IBV_QPT_RC, cq, cq, 4, false);
	for (i = 0; i < start; i++) {
		put(&ring, qp[i % 3]->qp_num, i);
		CHECK_EQ(poll(cq, 1, wc), 1);
	}
	for (i = 0; i < fill; i++) {
		who = unit_rand(seed) % 3;
		put(&ring, qp[who]->qp_num, 1000 + i);
		if (who == 1)
			gone++;
		else
			want[kept++] = 1000 + i;
	}

	CHECK_EQ(fake.ops.destroy_qp(qp[1]), 0);
	CHECK_EQ(ring.hdr->cons, start + gone);
	for (; kept < ENTRIES; kept++) {
		want[kept] = 5000 + kept;
		put(&ring, qp[0]->qp_num, want[kept]);
	}
	CHECK(!rove_cq_ring_put(&ring, &full_cqe));

	CHECK_EQ(poll(cq, ENTRIES + 1, wc), ENTRIES);
	for (i = 0; i < ENTRIES; i++)
		CHECK_EQ(wc[i].wr_id, want[i]);
	put(&ring, qp[2]->qp_num, 1);
	CHECK_EQ(poll(cq, 2, wc), 1);

	fake.ops.destroy_qp(qp[0]);
	fake.ops.destroy_qp(qp[2]);
	teardown(cq);
}

TEST(clean)
{
	uint32_t seed = 3, fill, start;

	for (fill = 0; fill <= ENTRIES; fill++)
		for (start = 0; start <= 2 * ENTRIES; start += 3)
			clean_once(&seed, fill, start);
}

TEST(clean_where_the_index_wraps)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct ibv_wc wc[ENTRIES];
	struct ibv_qp *qp[2];
	int i;

	for (i = 0; i < 2; i++)
		qp[i] = fake_create_qp(ctx, IBV_QPT_RC, cq, cq, 4, false);
	to_rove_cq(cq)->ring.head = to_rove_cq(cq)->published = -4;
	ring.hdr->cons = -4;
	ring.head = -4;
	for (i = 0; i < 10; i++)
		put(&ring, qp[i % 2]->qp_num, i);
	fake.ops.destroy_qp(qp[0]);
	CHECK_EQ(poll(cq, ENTRIES, wc), 5);
	for (i = 0; i < 5; i++)
		CHECK_EQ(wc[i].wr_id, 2 * i + 1);
	CHECK_EQ(ring.hdr->cons, 6);
	fake.ops.destroy_qp(qp[1]);
	teardown(cq);
}

TEST(clean_both_cqs)
{
	struct ibv_cq *scq = setup(), *rcq = fake_create_cq(ctx, ENTRIES);
	struct rove_cq_ring sring = fake_cq_ring(scq), rring = fake_cq_ring(rcq);
	struct ibv_qp *qp = fake_create_qp(ctx, IBV_QPT_RC, scq, rcq, 4, false);
	struct ibv_wc wc;

	put(&sring, qp->qp_num, 1);
	put(&rring, qp->qp_num, 1);
	put(&rring, 1, 2);
	fake.ops.destroy_qp(qp);
	CHECK_EQ(poll(scq, 1, &wc), 0);
	CHECK_EQ(poll(rcq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(poll(rcq, 1, &wc), 0);
	fake.ops.destroy_cq(rcq);
	teardown(scq);
}

/* By another thread, after the module has destroyed the QP and before it is cleaned. */
TEST(cqs_go_before_their_qp_is_cleaned)
{
	struct ibv_cq *scq = setup(), *rcq = fake_create_cq(ctx, ENTRIES);
	struct ibv_qp *qp = fake_create_qp(ctx, IBV_QPT_RC, scq, rcq, 4, false);
	struct rove_cq_ring ring = fake_cq_ring(rcq);

	put(&ring, qp->qp_num, 1);
	fake.ops.destroy_cq(rcq);
	fake.ops.destroy_cq(scq);
	fake.ops.destroy_qp(qp);
	CHECK_EQ(fake.areas, 1);
	fake_close(ctx);
}

TEST(qp_numbers_of_all_kinds)
{
	static const uint32_t qpn[] = { 2, 3, 0xfff, 0x1000, 0x1001, 0x7fffff, 0xfffffe, 0xffffff };
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct ibv_qp *qp[ARRAY_SIZE(qpn)];
	struct ibv_wc wc;
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_SIZE(qpn); i++) {
			fake.next_qpn = qpn[i];
			qp[i] = fake_create_qp(ctx, IBV_QPT_RC, cq, cq, 4, false);
		}
		for (i = 0; i < ARRAY_SIZE(qpn); i++) {
			struct rove_cqe cqe = { .qpn = qpn[i], .wqe = i + 1 };

			CHECK(rove_cq_ring_put(&ring, &cqe));
			CHECK_EQ(poll(cq, 1, &wc), 1);
			CHECK_EQ(to_rove_qp(qp[i])->sq.completed, i + 1);
		}
		for (i = 0; i < ARRAY_SIZE(qpn); i++)
			fake.ops.destroy_qp(qp[i]);
		for (i = 0; i < ARRAY_SIZE(qpn); i++) {
			put(&ring, qpn[i], 1);
			CHECK_EQ(poll(cq, 1, &wc), 1);
		}
	}
	teardown(cq);
}

/* A completion accounts to a QP of its CQ, and to the right queue. */
TEST(accounting)
{
	struct ibv_cq *scq = setup(), *rcq = fake_create_cq(ctx, ENTRIES);
	struct rove_cq_ring sring = fake_cq_ring(scq), rring = fake_cq_ring(rcq);
	struct ibv_qp *qp = fake_create_qp(ctx, IBV_QPT_RC, scq, rcq, 4, false);
	struct rove_cqe send = { .qpn = qp->qp_num, .wqe = 3 };
	struct rove_cqe recv = { .qpn = qp->qp_num, .wqe = 9, .flags = ROVE_CQE_RECV };
	struct ibv_wc wc;

	CHECK(rove_cq_ring_put(&sring, &recv));
	CHECK(rove_cq_ring_put(&rring, &send));
	CHECK_EQ(poll(scq, 2, &wc) + poll(rcq, 2, &wc), 2);
	CHECK_EQ(to_rove_qp(qp)->sq.completed, 0);
	CHECK_EQ(to_rove_qp(qp)->rq.completed, 0);
	CHECK(rove_cq_ring_put(&sring, &send));
	CHECK(rove_cq_ring_put(&rring, &recv));
	CHECK_EQ(poll(scq, 2, &wc) + poll(rcq, 2, &wc), 2);
	CHECK_EQ(to_rove_qp(qp)->sq.completed, 3);
	CHECK_EQ(to_rove_qp(qp)->rq.completed, 1);
	fake.ops.destroy_qp(qp);
	fake.ops.destroy_cq(rcq);
	teardown(scq);
}

/* ---- the extended interface --------------------------------------------------------- */

#define ALL_WC_FLAGS	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
			 IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct ibv_cq_ex *setup_ex(uint32_t flags)
{
	ctx = fake_open();
	return fake_create_cq_ex(ctx, ENTRIES, ALL_WC_FLAGS, flags);
}

static bool unlocked(struct rove_cq *cq)
{
	if (pthread_spin_trylock(&cq->lock))
		return false;
	pthread_spin_unlock(&cq->lock);
	return true;
}

static void ex_steps(uint32_t flags)
{
	struct ibv_cq_ex *cq = setup_ex(flags);
	struct rove_cq *rcq = to_rove_cq_ex(cq);
	struct rove_cq_ring ring = fake_cq_ring(&rcq->vcq.cq);
	struct ibv_poll_cq_attr attr = {};
	int i, round;

	CHECK_EQ(ibv_start_poll(cq, &attr), ENOENT);
	CHECK(unlocked(rcq));
	attr.comp_mask = 1;
	CHECK_EQ(ibv_start_poll(cq, &attr), EINVAL);
	CHECK(unlocked(rcq));
	attr.comp_mask = 0;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 5; i++)
			put(&ring, 1, i);
		CHECK_EQ(ibv_start_poll(cq, &attr), 0);
		CHECK_EQ(cq->wr_id, 0);
		CHECK_EQ(unlocked(rcq), !!flags);
		for (i = 1; i < 5; i++) {
			CHECK_EQ(ibv_next_poll(cq), 0);
			CHECK_EQ(cq->wr_id, i);
		}
		/* It may be asked again, and what was read last stays readable. */
		CHECK_EQ(ibv_next_poll(cq), ENOENT);
		CHECK_EQ(ibv_next_poll(cq), ENOENT);
		CHECK_EQ(ibv_wc_read_qp_num(cq), 1);
		ibv_end_poll(cq);
		CHECK(unlocked(rcq));
		CHECK_EQ(ring.hdr->cons, 5 * (round + 1));
	}

	/* Ended before all was taken. */
	put(&ring, 1, 10);
	put(&ring, 1, 11);
	CHECK_EQ(ibv_start_poll(cq, &attr), 0);
	CHECK_EQ(cq->wr_id, 10);
	ibv_end_poll(cq);
	CHECK_EQ(ibv_start_poll(cq, &attr), 0);
	CHECK_EQ(cq->wr_id, 11);
	ibv_end_poll(cq);
	CHECK_EQ(ibv_start_poll(cq, &attr), ENOENT);
	teardown(&rcq->vcq.cq);
}

TEST(extended)
{
	ex_steps(0);
}

TEST(extended_single_threaded)
{
	ex_steps(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}

TEST(extended_fields)
{
	struct ibv_cq_ex *cq = setup_ex(0);
	struct rove_cq_ring ring = fake_cq_ring(&to_rove_cq_ex(cq)->vcq.cq);
	struct ibv_poll_cq_attr attr = {};
	struct rove_cqe cqe = full_cqe;
	struct timespec mono, real;
	uint64_t age, wall;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	cqe.timestamp = mono.tv_sec * 1000000000ULL + mono.tv_nsec;
	CHECK(rove_cq_ring_put(&ring, &cqe));
	CHECK_EQ(ibv_start_poll(cq, &attr), 0);
	CHECK_EQ(cq->wr_id, cqe.wr_id);
	CHECK_EQ(cq->status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	CHECK_EQ(ibv_wc_read_vendor_err(cq), 0);
	CHECK_EQ(ibv_wc_read_byte_len(cq), 4711);
	CHECK_EQ(ibv_wc_read_imm_data(cq), 0xaabbccdd);
	CHECK_EQ(ibv_wc_read_invalidated_rkey(cq), 0xaabbccdd);
	CHECK_EQ(ibv_wc_read_qp_num(cq), 0x77);
	CHECK_EQ(ibv_wc_read_src_qp(cq), 0x88);
	CHECK_EQ(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	CHECK_EQ(ibv_wc_read_slid(cq), 0);
	CHECK_EQ(ibv_wc_read_sl(cq), 5);
	CHECK_EQ(ibv_wc_read_dlid_path_bits(cq), 0);
	CHECK_EQ(ibv_wc_read_completion_ts(cq), cqe.timestamp);
	CHECK_EQ(ibv_wc_read_cvlan(cq), 10);
	wall = ibv_wc_read_completion_wallclock_ns(cq);
	age = wall - (real.tv_sec * 1000000000ULL + real.tv_nsec);
	CHECK((int64_t)age < 1000000000 && (int64_t)age > -1000000000);
	ibv_end_poll(cq);
	teardown(&to_rove_cq_ex(cq)->vcq.cq);
}

/* A batch that does not end: the module must not take the ring for full. */
TEST(endless_batch)
{
	struct ibv_cq_ex *cq = setup_ex(0);
	struct rove_cq_ring ring = fake_cq_ring(&to_rove_cq_ex(cq)->vcq.cq);
	struct ibv_poll_cq_attr attr = {};
	int i;

	for (i = 0; i < ENTRIES / 2; i++)
		put(&ring, 1, i);
	CHECK_EQ(ibv_start_poll(cq, &attr), 0);
	for (i = 1; i < 20 * ENTRIES; i++) {
		put(&ring, 1, i);
		CHECK_EQ(ibv_next_poll(cq), 0);
	}
	ibv_end_poll(cq);
	teardown(&to_rove_cq_ex(cq)->vcq.cq);
}

TEST(fields_not_asked_for_are_not_there)
{
	struct ibv_cq_ex *cq;

	ctx = fake_open();
	cq = fake_create_cq_ex(ctx, ENTRIES, 0, 0);
	CHECK(!cq->read_byte_len && !cq->read_completion_ts && !cq->read_cvlan);
	CHECK(cq->read_opcode && cq->read_wc_flags && cq->read_vendor_err);
	teardown(&to_rove_cq_ex(cq)->vcq.cq);
}

TEST(unsupported)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .comp_mask = 1 << 30 };

	ctx = fake_open();
	CHECK(!fake_create_cq_ex(ctx, 1, IBV_WC_EX_WITH_FLOW_TAG, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(!fake_create_cq_ex(ctx, 1, IBV_WC_EX_WITH_TM_INFO, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(!fake_create_cq_ex(ctx, 1, 0, 1 << 30));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(!fake.ops.create_cq_ex(ctx, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
	fake.create_err = ENOMEM;
	CHECK(!fake_create_cq(ctx, 1));
	CHECK_EQ(errno, ENOMEM);
	fake_close(ctx);
}

/* ---- lending the CPU ---------------------------------------------------------------------- */

/* How many polls in vain it takes until there is a call. */
static int patience(struct ibv_cq *cq)
{
	int before = fake.polls, n = 0;
	struct ibv_wc wc;

	while (fake.polls == before && n < 200000) {
		CHECK_EQ(poll(cq, 1, &wc), 0);
		n++;
	}
	return n;
}

TEST(polls_make_no_call_while_the_engine_is_awake)
{
	struct ibv_cq *cq = setup();

	fake_db(ctx)->need_wakeup = ROVE_DB_NEVER;
	fake_db(ctx)->summary[0] = 1;
	CHECK_EQ(patience(cq), 200000);
	fake.ops.req_notify_cq(cq, 0);
	CHECK_EQ(fake.polls, 0);
	teardown(cq);
}

TEST(polls_in_vain_lend_the_cpu)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct ibv_wc wc;
	int first, n, i;

	fake_db(ctx)->need_wakeup = ROVE_DB_AT_POST;
	first = patience(cq);
	CHECK(first > 1 && first < 5000);
	CHECK_EQ(patience(cq), first);

	/* A completion: it does not poll in vain. */
	for (i = 0; i < 3 * first; i++) {
		if (i % (first - 1) == 0)
			put(&ring, 1, i);
		CHECK_EQ(poll(cq, 1, &wc), i % (first - 1) == 0);
	}
	CHECK_EQ(fake.polls, 2);

	/* Less and less often while it is not wanted, then as before. */
	fake.poll_err = EAGAIN;
	errno = 0;
	n = patience(cq);
	CHECK_EQ(errno, 0);
	CHECK(n <= first);
	for (i = 2; i <= 65536 / first; i *= 2)
		CHECK_EQ(patience(cq), i * first);
	CHECK_EQ(patience(cq), 65536);
	fake.poll_err = 0;
	CHECK_EQ(patience(cq), 65536);
	CHECK_EQ(patience(cq), first);
	fake.ops.req_notify_cq(cq, 0);
	CHECK_EQ(fake.kicks, 0);
	teardown(cq);
}

TEST(polls_in_vain_run_what_is_rung)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);
	struct rove_db_page *db = fake_db(ctx);
	struct ibv_wc wc;
	int calls;

	db->need_wakeup = ROVE_DB_AT_POLL;
	CHECK_EQ(poll(cq, 1, &wc), 0);
	CHECK_EQ(fake.ops.req_notify_cq(cq, 0), 0);
	CHECK_EQ(fake.polls, 0);

	db->summary[7] = 1ULL << 51;
	calls = fake.polls;
	CHECK_EQ(poll(cq, 1, &wc), 0);
	CHECK_EQ(fake.polls, calls + 1);
	CHECK_EQ(patience(cq), 1);
	put(&ring, 1, 1);
	calls = fake.polls;
	CHECK_EQ(poll(cq, 1, &wc), 1);
	CHECK_EQ(fake.polls, calls);
	CHECK_EQ(fake.ops.req_notify_cq(cq, 0), 0);
	CHECK_EQ(fake.polls, calls + 1);

	/* Who arms has to say so only where nobody kicks. */
	db->need_wakeup = ROVE_DB_AT_POST;
	CHECK_EQ(fake.ops.req_notify_cq(cq, 0), 0);
	CHECK_EQ(fake.polls, calls + 1);
	teardown(cq);
}

TEST(extended_polls_lend_the_cpu)
{
	struct ibv_cq_ex *cq = setup_ex(0);
	struct rove_cq_ring ring = fake_cq_ring(&to_rove_cq_ex(cq)->vcq.cq);
	struct ibv_poll_cq_attr attr = {};

	fake_db(ctx)->need_wakeup = ROVE_DB_AT_POLL;
	fake_db(ctx)->summary[0] = 1;
	CHECK_EQ(ibv_start_poll(cq, &attr), ENOENT);
	CHECK_EQ(fake.polls, 1);
	put(&ring, 1, 1);
	CHECK_EQ(ibv_start_poll(cq, &attr), 0);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	CHECK_EQ(fake.polls, 1);
	teardown(&to_rove_cq_ex(cq)->vcq.cq);
}

/* ---- arming --------------------------------------------------------------------------- */

TEST(arming)
{
	struct ibv_cq *cq = setup();
	struct rove_cq_ring ring = fake_cq_ring(cq);

	CHECK(!rove_cq_ring_fire(&ring, true));
	CHECK_EQ(fake.ops.req_notify_cq(cq, 0), 0);
	CHECK(rove_cq_ring_fire(&ring, false));
	CHECK(!rove_cq_ring_fire(&ring, true));

	CHECK_EQ(fake.ops.req_notify_cq(cq, 1), 0);
	CHECK(!rove_cq_ring_fire(&ring, false));
	CHECK(rove_cq_ring_fire(&ring, true));

	/* Any completion was asked for, and that stays. */
	fake.ops.req_notify_cq(cq, 0);
	fake.ops.req_notify_cq(cq, 1);
	CHECK(rove_cq_ring_fire(&ring, false));
	CHECK(!rove_cq_ring_fire(&ring, true));
	CHECK_EQ(fake.kicks, 0);
	teardown(cq);
}

TEST(arming_within_a_batch)
{
	struct ibv_cq_ex *cq = setup_ex(0);
	struct rove_cq_ring ring = fake_cq_ring(&to_rove_cq_ex(cq)->vcq.cq);
	struct ibv_poll_cq_attr attr = {};

	put(&ring, 1, 1);
	CHECK_EQ(ibv_start_poll(cq, &attr), 0);
	CHECK_EQ(fake.ops.req_notify_cq(&to_rove_cq_ex(cq)->vcq.cq, 0), 0);
	ibv_end_poll(cq);
	CHECK(rove_cq_ring_fire(&ring, false));
	teardown(&to_rove_cq_ex(cq)->vcq.cq);
}

/* What was not taken comes out of the new ring, and an arming stays one. */
TEST(resize_keeps_completions)
{
	struct ibv_context *context = fake_open();
	struct ibv_cq *c = fake_create_cq(context, 4);
	struct rove_cq_ring module;
	struct rove_cqe cqe = {};
	struct ibv_wc wc;
	uint64_t i;

	module = fake_cq_ring(c);
	for (i = 1; i <= 6; i++) {
		cqe.wr_id = i;
		CHECK(rove_cq_ring_put(&module, &cqe));
		if (i <= 3) {
			CHECK_EQ(fake.ops.poll_cq(c, 1, &wc), 1);
			CHECK_EQ(wc.wr_id, i);
		}
	}
	CHECK_EQ(fake.ops.req_notify_cq(c, 0), 0);
	fake.modify_err = EINVAL;
	CHECK_EQ(fake.ops.resize_cq(c, 16), EINVAL);
	fake.modify_err = 0;
	CHECK_EQ(fake.ops.resize_cq(c, 16), 0);
	module.hdr = to_rove_cq(c)->ring.hdr;
	module.cqe = to_rove_cq(c)->ring.cqe;
	module.mask = to_rove_cq(c)->ring.mask;
	CHECK_EQ(module.mask, 15);
	for (i = 7; i <= 19; i++) {
		cqe.wr_id = i;
		CHECK(rove_cq_ring_put(&module, &cqe));
	}
	CHECK(!rove_cq_ring_put(&module, &cqe));
	CHECK(rove_cq_ring_fire(&module, false));
	for (i = 4; i <= 19; i++) {
		CHECK_EQ(fake.ops.poll_cq(c, 1, &wc), 1);
		CHECK_EQ(wc.wr_id, i);
	}
	CHECK_EQ(fake.ops.poll_cq(c, 1, &wc), 0);
	fake.ops.destroy_cq(c);
	CHECK_EQ(fake.areas, 1);
	fake_close(context);
}
