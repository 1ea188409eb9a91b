// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The full barriers of cqe.h (D), which no stress test meets for sure: the other
 * side acts right at the barrier. What it does there must be seen.
 */
#include "base.h"
#include "unit.h"

static void barrier_hook(void);

#undef smp_mb
#define smp_mb()		barrier_hook()	/* no barrier at all */
#define rove_cq_ring_init	order_init
#define rove_cq_ring_put	order_put
#define rove_cq_ring_fire	order_fire
#define rove_cq_ring_peek	order_peek
#define rove_cq_ring_release	order_release
#define rove_cq_ring_arm	order_arm
#define rove_cq_ring_move	order_move
#define rove_cq_ring_is_armed	order_is_armed
#include "ring/cqe.c"

#define ENTRIES	4

static u64 area[(ROVE_CQ_ENTRIES + ENTRIES * sizeof(struct rove_cqe)) / 8];
static struct rove_cq_ring m, u;
static void (*at_barrier)(void);
static u32 barriers;

static void barrier_hook(void)
{
	barriers++;
	if (at_barrier)
		at_barrier();
}

static void setup(void (*fn)(void))
{
	memset(area, 0, sizeof(area));
	order_init(&m, area, ENTRIES);
	order_init(&u, area, ENTRIES);
	at_barrier = fn;
	barriers = 0;
}

static void consumer_arms(void)
{
	u.hdr->arm = 1 << 1;
}

static void module_completes(void)
{
	struct rove_cqe cqe = { .wr_id = 5 };

	CHECK_EQ(m.hdr->arm, 1 << 1);
	CHECK(order_put(&m, &cqe));
}

TEST(fire_sees_what_was_armed_at_the_barrier)
{
	setup(consumer_arms);
	CHECK(order_fire(&m, false));
	CHECK_EQ(barriers, 1);
}

TEST(arm_sees_what_was_completed_at_the_barrier)
{
	setup(module_completes);
	CHECK(order_arm(&u, false));
	CHECK_EQ(barriers, 1);
	CHECK_EQ(order_peek(&u)->wr_id, 5);
	order_release(&u);
	CHECK(!order_peek(&u));
}
