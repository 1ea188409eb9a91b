// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A slot that changes as soon as it was looked at. The module's own code is
 * built once more, with its loads from shared memory counted.
 */
#include <stdlib.h>

#include "base.h"
#include "unit.h"

static u64 load(const u64 *p);

#undef READ_ONCE
#define READ_ONCE(x)		load(&(x))
#define rove_wqe_props		once_props
#define rove_wqe_sq_stride	once_sq_stride
#define rove_wqe_rq_stride	once_rq_stride
#define rove_wqe_read_send	once_read_send
#define rove_wqe_read_recv	once_read_recv
#include "ring/wqe.c"

#define WORDS	32

static u64 shared[WORDS], seen[WORDS];
static u32 loads[WORDS];
static u64 poison;

static u64 load(const u64 *p)
{
	u64 v = __atomic_load_n(p, __ATOMIC_RELAXED);
	size_t i = p - shared;

	CHECK(i < WORDS);
	loads[i]++;
	seen[i] = v;
	shared[i] = poison;
	return v;
}

static void fill(u64 with)
{
	memset(shared, 0, sizeof(shared));
	memset(seen, 0, sizeof(seen));
	memset(loads, 0, sizeof(loads));
	poison = with;
}

static void check_loads(u32 words)
{
	u32 i;

	for (i = 0; i < WORDS; i++)
		CHECK_EQ(loads[i], i < words);
}

static const struct rove_wqe_limits lim = {
	.max_inline = 64, .max_sge = 4, .ops = (1U << ROVE_WR_OPS) - 1,
};

static u64 out[3 + WORDS];

TEST(send_is_read_once)
{
	static const u64 poisons[] = { 0, ~0ULL, 0x00ff00ff00ff00ff, 0xff00ff00ff00ff00 };
	struct rove_swqe *wqe = (struct rove_swqe *)out;
	struct rove_sqe *sqe = (struct rove_sqe *)shared;
	u32 i, op, num;

	for (i = 0; i < ARRAY_SIZE(poisons); i++) {
		for (op = 0; op < ROVE_WR_OPS; op++) {
			for (num = 0; num <= 4; num++) {
				fill(poisons[i]);
				sqe->opcode = op;
				sqe->num = num;
				((struct rove_sge *)(sqe + 1))->length = num ? 8 : 0;
				if (once_read_send(wqe, shared, &lim) != ROVE_FAULT_NONE)
					continue;
				check_loads(6 + 2 * num);
				CHECK_EQ(wqe->sqe.num, num);
				CHECK_EQ(wqe->length, num || op == ROVE_WR_ATOMIC_WRITE ? 8 : 0);
				CHECK_MEM(&wqe->sqe, seen, 48 + 16 * num);
			}
		}
	}
}

TEST(refused_is_not_read_further)
{
	struct rove_swqe *wqe = (struct rove_swqe *)out;
	struct rove_sqe *sqe = (struct rove_sqe *)shared;

	fill(0);
	sqe->num = 5;
	CHECK_EQ(once_read_send(wqe, shared, &lim), ROVE_FAULT_WQE);
	check_loads(6);
	CHECK_EQ(once_sq_stride(4, 64), 112);
}

TEST(inline_is_read_once)
{
	struct rove_swqe *wqe = (struct rove_swqe *)out;
	struct rove_sqe *sqe = (struct rove_sqe *)shared;
	u32 num;

	for (num = 0; num <= 64; num++) {
		fill(~0ULL);
		sqe->flags = ROVE_WR_INLINE;
		sqe->num = num;
		CHECK_EQ(once_read_send(wqe, shared, &lim), ROVE_FAULT_NONE);
		check_loads(6 + (num + 7) / 8);
		CHECK_EQ(wqe->length, num);
		CHECK_MEM(wqe->data, seen + 6, num);
	}
}

TEST(receive_is_read_once)
{
	struct rove_rwqe *wqe = (struct rove_rwqe *)out;
	struct rove_rqe *rqe = (struct rove_rqe *)shared;
	u32 num;

	for (num = 0; num <= 4; num++) {
		fill(~0ULL);
		rqe->wr_id = 77;
		rqe->num = num;
		CHECK_EQ(once_read_recv(wqe, shared, 4), ROVE_FAULT_NONE);
		check_loads(2 + 2 * num);
		CHECK_EQ(wqe->wr_id, 77);
		CHECK_EQ(wqe->num, num);
		CHECK_EQ(wqe->length, 0);
		CHECK_MEM(wqe->sge, seen + 2, 16 * num);
	}
	fill(0);
	rqe->num = 5;
	CHECK_EQ(once_read_recv(wqe, shared, 4), ROVE_FAULT_WQE);
	check_loads(2);
	CHECK_EQ(once_rq_stride(4), 80);
}
