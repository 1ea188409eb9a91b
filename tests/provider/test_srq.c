// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>

#include "fake.h"
#include "unit.h"

#define SGES	3

static struct ibv_context *ctx;
static struct ibv_pd *pd;

static struct ibv_srq *create(uint32_t wrs)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = wrs, .max_sge = SGES } };

	return fake.ops.create_srq(pd, &attr);
}

static void setup(void)
{
	ctx = fake_open();
	pd = fake.ops.alloc_pd(ctx);
}

static void teardown(void)
{
	fake.ops.dealloc_pd(pd);
	fake_close(ctx);
}

static int post(struct ibv_srq *srq, uint64_t wr_id, int num_sge)
{
	struct ibv_sge sge[SGES + 1] = { { .addr = wr_id * 4096, .length = 100 } };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge };
	struct ibv_recv_wr *bad_wr = NULL;
	int err = fake.ops.post_srq_recv(srq, &wr, &bad_wr);

	CHECK_EQ(bad_wr == &wr, !!err);
	return err;
}

/* The module takes one: its wr_id, or 0. */
static uint64_t take(struct ibv_srq *ibsrq)
{
	struct rove_srq *srq = to_rove_srq(ibsrq);
	struct rove_rqe *rqe;

	if (srq->hdr->cons == srq->hdr->prod)
		return 0;
	rqe = rove_ring_slot(&srq->ring, srq->hdr->cons);
	CHECK_EQ(rqe->num, 1);
	CHECK_EQ(((struct rove_sge *)(rqe + 1))->addr, rqe->wr_id * 4096);
	srq->hdr->cons++;
	return rqe->wr_id;
}

TEST(order_and_overflow)
{
	struct ibv_srq *srq;
	uint64_t i;

	setup();
	srq = create(4);
	for (i = 1; i <= 4; i++)
		CHECK_EQ(post(srq, i, 1), 0);
	CHECK_EQ(post(srq, 5, 1), ENOMEM);
	CHECK_EQ(take(srq), 1);
	CHECK_EQ(post(srq, 5, 1), 0);
	CHECK_EQ(post(srq, 6, 1), ENOMEM);
	for (i = 2; i <= 5; i++)
		CHECK_EQ(take(srq), i);
	CHECK_EQ(take(srq), 0);
	CHECK_EQ(post(srq, 7, SGES + 1), EINVAL);
	CHECK_EQ(post(srq, 7, -1), EINVAL);
	CHECK_EQ(take(srq), 0);
	CHECK_EQ(fake.kicks, 0);
	CHECK_EQ(fake.ops.destroy_srq(srq), 0);
	CHECK_EQ(fake.areas, 1);	/* the doorbell page */
	teardown();
}

TEST(what_came_before_a_bad_one_is_posted)
{
	struct ibv_recv_wr wr[3] = {
		{ .wr_id = 1, .next = &wr[1] },
		{ .wr_id = 2, .num_sge = -1, .next = &wr[2] },
		{ .wr_id = 3 },
	};
	struct ibv_recv_wr *bad_wr = NULL;
	struct ibv_srq *srq;

	setup();
	srq = create(4);
	CHECK_EQ(fake.ops.post_srq_recv(srq, wr, &bad_wr), EINVAL);
	CHECK(bad_wr == &wr[1]);
	CHECK_EQ(to_rove_srq(srq)->hdr->prod, 1);
	fake.ops.destroy_srq(srq);
	teardown();
}

/* At each place where it can go wrong nothing has changed. */
TEST(resize_keeps_what_is_posted)
{
	struct ibv_srq_attr attr = { .max_wr = 16, .srq_limit = 3 };
	int mask = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;
	struct ibv_srq *srq;
	uint64_t i;

	setup();
	srq = create(4);
	for (i = 1; i <= 6; i++) {
		CHECK_EQ(post(srq, i, 1), 0);
		if (i <= 3)
			CHECK_EQ(take(srq), i);
	}

	fake.modify_err = EINVAL;
	CHECK_EQ(fake.ops.modify_srq(srq, &attr, mask), EINVAL);
	fake.modify_err = 0;
	fake.bad_offset = 1;
	CHECK_EQ(fake.ops.modify_srq(srq, &attr, mask), EPROTO);
	fake.bad_offset = 0;
	CHECK_EQ(post(srq, 7, 1), 0);
	CHECK_EQ(post(srq, 8, 1), ENOMEM);

	fake.srq_steps = 0;
	CHECK_EQ(fake.ops.modify_srq(srq, &attr, mask), 0);
	CHECK_EQ(fake.srq_steps, ROVE_RESIZE_PREPARE << 4 | ROVE_RESIZE_COMMIT);
	for (i = 8; i <= 19; i++)
		CHECK_EQ(post(srq, i, 1), 0);
	CHECK_EQ(post(srq, 20, 1), ENOMEM);
	for (i = 4; i <= 19; i++)
		CHECK_EQ(take(srq), i);
	CHECK_EQ(take(srq), 0);

	fake.srq_steps = 0;
	CHECK_EQ(fake.ops.modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	CHECK_EQ(fake.srq_steps, 0);
	fake.ops.destroy_srq(srq);
	teardown();
}

TEST(creation_that_fails)
{
	setup();
	fake.create_err = ENOMEM;
	CHECK(!create(4));
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(fake.areas, 1);
	fake.create_err = 0;
	teardown();
}
