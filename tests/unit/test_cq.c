// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "ring/cqe.h"
#include "unit.h"

static struct rove_cq_ring m, u;	/* module, user */
static u8 *area;
static u32 entries;

/* The area ends where it says, and starts as the module hands it out: zeroed. */
static void setup(u32 n)
{
	free(area);
	entries = n;
	area = calloc(1, ROVE_CQ_ENTRIES + n * sizeof(struct rove_cqe));
	rove_cq_ring_init(&m, area, n);
	rove_cq_ring_init(&u, area, n);
}

static void __attribute__((destructor)) teardown(void)
{
	free(area);
}

/* As after @n completions that were all taken. */
static void start_at(u32 n)
{
	u32 i;

	m.head = n;
	u.head = n;
	m.hdr->cons = n;
	for (i = 0; i < entries; i++)
		m.cqe[(n + i) & m.mask].seq = n + i + 1 - entries;
}

static bool put(u64 wr_id)
{
	struct rove_cqe cqe;

	memset(&cqe, 0x77, sizeof(cqe));
	cqe.wr_id = wr_id;
	return rove_cq_ring_put(&m, &cqe);
}

static void take(u64 wr_id)
{
	const struct rove_cqe *cqe = rove_cq_ring_peek(&u);
	struct rove_cqe want;

	CHECK(cqe);
	memset(&want, 0x77, sizeof(want));
	want.wr_id = wr_id;
	want.seq = u.head + 1;
	CHECK_MEM(cqe, &want, sizeof(want));
	rove_cq_ring_release(&u);
	CHECK_EQ(u.hdr->cons, u.head);
}

TEST(empty)
{
	setup(4);
	CHECK(!rove_cq_ring_peek(&u));
	CHECK_EQ(u.mask, 3);
	CHECK(put(1));
	take(1);
	CHECK(!rove_cq_ring_peek(&u));
}

static const u32 starts[] = { 0, 3, 0x7ffffffe, 0xfffffff8, 0xfffffffc, 0xffffffff };
static const u32 sizes[] = { 1, 2, 8, 64 };

TEST(fill_wrap_drain)
{
	u32 s, z, i, round;
	u64 n;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		for (z = 0; z < ARRAY_SIZE(sizes); z++) {
			setup(sizes[z]);
			if (starts[s])
				start_at(starts[s]);
			n = 0;
			for (round = 0; round < 20; round++) {
				for (i = 0; i < entries; i++)
					CHECK(put(n + i));
				CHECK(!put(99));
				CHECK_EQ(m.hdr->prod, m.head);
				for (i = 0; i < entries; i++)
					take(n + i);
				CHECK(!rove_cq_ring_peek(&u));
				n += entries;
			}
		}
	}
}

TEST(full_takes_one_for_one)
{
	u64 n;

	setup(8);
	for (n = 0; n < 8; n++)
		CHECK(put(n));
	for (; n < 100; n++) {
		CHECK(!put(n));
		take(n - 8);
		CHECK(put(n));
	}
}

/* A refused completion leaves no trace. */
TEST(full_writes_nothing)
{
	struct rove_cqe before[4];
	u32 prod;

	setup(4);
	while (put(5))
		;
	memcpy(before, m.cqe, sizeof(before));
	prod = m.hdr->prod;
	CHECK(!put(6));
	CHECK_MEM(before, m.cqe, sizeof(before));
	CHECK_EQ(m.hdr->prod, prod);
}

TEST(peek_does_not_take)
{
	setup(4);
	CHECK(put(1) && put(2));
	CHECK(rove_cq_ring_peek(&u) == rove_cq_ring_peek(&u));
	CHECK_EQ(u.hdr->cons, 0);
	take(1);
	take(2);
}

/* Lies about cons cost the liar completions and nobody memory. */
TEST(hostile_consumer_index)
{
	u32 i, used, seed = 9;

	setup(8);
	for (i = 0; i < 100000; i++) {
		m.hdr->cons = i & 1 ? m.head + i % 100 - 50 : unit_rand(&seed);
		used = m.head - m.hdr->cons;
		CHECK_EQ(put(i), used < 8);
	}
	CHECK(m.head > 1000);
}

TEST(hostile_area)
{
	u32 i, n, seed = 10;

	setup(8);
	for (n = 0; n < 20000; n++) {
		for (i = 0; i < ROVE_CQ_ENTRIES + 8 * sizeof(struct rove_cqe); i++)
			area[i] = unit_rand(&seed);
		if (n & 1)
			m.hdr->cons = m.head;
		put(n);
		rove_cq_ring_fire(&m, n & 2);
	}
	CHECK(m.head >= 10000);
}

TEST(fire_once_for_each_arming)
{
	u32 i;

	setup(4);
	CHECK(!rove_cq_ring_fire(&m, true));
	for (i = 0; i < 10; i++) {
		CHECK(!rove_cq_ring_arm(&u, false));
		CHECK(rove_cq_ring_fire(&m, false));
		CHECK(!rove_cq_ring_fire(&m, false));
		CHECK(!rove_cq_ring_fire(&m, true));
	}
}

TEST(fire_once_for_two_armings)
{
	setup(4);
	rove_cq_ring_arm(&u, false);
	rove_cq_ring_arm(&u, false);
	CHECK(rove_cq_ring_fire(&m, false));
	CHECK(!rove_cq_ring_fire(&m, false));
}

TEST(solicited_waits_for_solicited)
{
	setup(4);
	rove_cq_ring_arm(&u, true);
	CHECK(!rove_cq_ring_fire(&m, false));
	CHECK(!rove_cq_ring_fire(&m, false));
	CHECK(rove_cq_ring_fire(&m, true));
	CHECK(!rove_cq_ring_fire(&m, true));
}

TEST(any_replaces_solicited)
{
	setup(4);
	rove_cq_ring_arm(&u, true);
	rove_cq_ring_arm(&u, false);
	CHECK(rove_cq_ring_fire(&m, false));
}

TEST(solicited_does_not_replace_any)
{
	setup(4);
	rove_cq_ring_arm(&u, false);
	rove_cq_ring_arm(&u, true);
	rove_cq_ring_arm(&u, true);
	CHECK(rove_cq_ring_fire(&m, false));
	/* answered: from here on only solicited ones count */
	rove_cq_ring_arm(&u, true);
	CHECK(!rove_cq_ring_fire(&m, false));
	CHECK(rove_cq_ring_fire(&m, true));
}

TEST(arm_tells_of_what_is_there)
{
	setup(4);
	CHECK(!rove_cq_ring_arm(&u, false));
	CHECK(put(1));
	CHECK(rove_cq_ring_arm(&u, false));
	CHECK(rove_cq_ring_arm(&u, true));
	take(1);
	CHECK(!rove_cq_ring_arm(&u, true));
}

TEST(armed_until_fired)
{
	setup(4);
	CHECK(!rove_cq_ring_is_armed(&m));
	rove_cq_ring_arm(&u, true);
	CHECK(rove_cq_ring_is_armed(&m));
	CHECK(!rove_cq_ring_fire(&m, false));
	CHECK(rove_cq_ring_is_armed(&m));
	CHECK(rove_cq_ring_fire(&m, true));
	CHECK(!rove_cq_ring_is_armed(&m));
}

TEST(armings_wrap)
{
	u32 i;

	setup(4);
	m.armed = 0x7ffffffd;
	u.armed = 0x7ffffffd;
	u.hdr->arm = 0x7ffffffdU << 1;
	u.hdr->fired = 0x7ffffffd;
	for (i = 0; i < 6; i++) {
		CHECK(!rove_cq_ring_fire(&m, true));
		rove_cq_ring_arm(&u, i & 1);
		CHECK(rove_cq_ring_fire(&m, true));
		CHECK_EQ(m.armed, u.armed);
		CHECK_EQ(u.hdr->fired, u.armed);
	}
	CHECK_EQ(u.armed, 3);
}

/* Any value in the arm word fires at most once. */
TEST(hostile_arm)
{
	u32 i, seed = 11, fired;

	setup(4);
	for (i = 0; i < 10000; i++) {
		m.hdr->arm = unit_rand(&seed);
		fired = rove_cq_ring_fire(&m, true);
		fired += rove_cq_ring_fire(&m, true);
		CHECK(fired <= 1);
	}
}

/* To a larger area and to a smaller one, with an arming in force. */
TEST(moves)
{
	static u64 small[(ROVE_CQ_ENTRIES + 4 * sizeof(struct rove_cqe)) / 8];
	static u64 large[(ROVE_CQ_ENTRIES + 16 * sizeof(struct rove_cqe)) / 8];
	static u64 again[(ROVE_CQ_ENTRIES + 4 * sizeof(struct rove_cqe)) / 8];
	struct rove_cq_ring module, user;
	struct rove_cqe cqe = {};
	const struct rove_cqe *got;
	u64 i;

	memset(small, 0, sizeof(small));
	memset(large, 0, sizeof(large));
	memset(again, 0, sizeof(again));
	rove_cq_ring_init(&module, small, 4);
	rove_cq_ring_init(&user, small, 4);
	for (i = 0; i < 7; i++) {
		cqe.wr_id = i;
		CHECK(rove_cq_ring_put(&module, &cqe));
		if (i < 3)
			rove_cq_ring_release(&user);
	}
	rove_cq_ring_arm(&user, false);
	CHECK(rove_cq_ring_move(&module, large, 16));
	user.hdr = module.hdr;
	user.cqe = module.cqe;
	user.mask = 15;
	CHECK_EQ(module.hdr->cons, 3);
	cqe.wr_id = 7;
	CHECK(rove_cq_ring_put(&module, &cqe));
	CHECK(rove_cq_ring_fire(&module, false));
	CHECK(!rove_cq_ring_move(&module, again, 4));
	CHECK_EQ(module.mask, 15);
	for (i = 3; i < 8; i++) {
		got = rove_cq_ring_peek(&user);
		CHECK(got && got->wr_id == i);
		rove_cq_ring_release(&user);
	}
	CHECK(!rove_cq_ring_peek(&user));
	CHECK(rove_cq_ring_move(&module, again, 4));
	/* An index that makes no sense costs the consumer its own entries. */
	module.hdr->cons = module.head + 77;
	memset(large, 0, sizeof(large));
	CHECK(rove_cq_ring_move(&module, large, 16));
	CHECK_EQ(module.head - module.hdr->cons, 4);
}

/* Zeroes are no completion, not even where the indices begin anew. */
TEST(moves_before_the_wrap)
{
	u32 n, size;
	u8 *to;

	for (size = 1; size <= 16; size *= 4) {
		for (n = 0; n < 2 * size; n++) {
			setup(4);
			start_at(-n);
			CHECK(put(0));
			to = calloc(1, ROVE_CQ_ENTRIES + size * sizeof(struct rove_cqe));
			CHECK(rove_cq_ring_move(&m, to, size));
			u.hdr = m.hdr;
			u.cqe = m.cqe;
			u.mask = size - 1;
			free(area);
			area = to;
			take(0);
			while (m.head != size) {
				CHECK(!rove_cq_ring_peek(&u));
				CHECK(put(m.head));
				take(u.head);
			}
		}
	}
}
