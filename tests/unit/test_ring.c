// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ring/ring.h"
#include "unit.h"

#define ENTRIES	8
#define STRIDE	48

static u32 prod, cons;
static u8 slots[ENTRIES * STRIDE];
static struct rove_ring p, c;

static void setup(u32 start)
{
	rove_ring_init(&p, &prod, &cons, slots, ENTRIES, STRIDE);
	rove_ring_init(&c, &prod, &cons, slots, ENTRIES, STRIDE);
	p.head = start;
	c.head = start;
	prod = start;
	cons = start;
}

static const u32 starts[] = { 0, 1, 5, 0x7ffffffc, 0xfffffff8, 0xfffffffd, 0xffffffff };

TEST(init)
{
	prod = 0;
	cons = 0;
	p.head = 99;
	rove_ring_init(&p, &prod, &cons, slots, ENTRIES, STRIDE);
	CHECK_EQ(p.head, 0);
	CHECK_EQ(rove_ring_pending(&p), 0);
	CHECK_EQ(rove_ring_space(&p), ENTRIES);
}

TEST(slots_wrap)
{
	u32 i;

	setup(0);
	for (i = 0xfffffff0; i != 0x20; i++) {
		CHECK(rove_ring_slot(&p, i) == slots + (i & 7) * STRIDE);
		CHECK(rove_ring_slot(&p, i) == rove_ring_slot(&p, i + ENTRIES));
	}
}

TEST(fill_and_drain)
{
	u32 s, i, round;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		setup(starts[s]);
		for (round = 0; round < 5; round++) {
			for (i = 0; i < ENTRIES; i++) {
				CHECK_EQ(rove_ring_space(&p), ENTRIES - i);
				*(u32 *)rove_ring_slot(&p, p.head) = p.head;
				p.head++;
				CHECK_EQ(rove_ring_pending(&c), i);
				rove_ring_submit(&p);
				CHECK_EQ(rove_ring_pending(&c), i + 1);
			}
			CHECK_EQ(rove_ring_space(&p), 0);
			for (i = 0; i < ENTRIES; i++) {
				CHECK_EQ(rove_ring_pending(&c), ENTRIES - i);
				CHECK_EQ(*(u32 *)rove_ring_slot(&c, c.head), c.head);
				rove_ring_release(&c);
				CHECK_EQ(cons, c.head);
				CHECK_EQ(rove_ring_space(&p), i + 1);
			}
			CHECK_EQ(rove_ring_pending(&c), 0);
		}
	}
}

/* Whatever the other side claims, a consumer is never told of more than a ring. */
TEST(hostile_producer)
{
	u32 s, i, seed = 7, n;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		setup(starts[s]);
		for (i = 0; i < 100000; i++) {
			prod = i < 100 ? starts[s] + i - 50 : unit_rand(&seed);
			n = rove_ring_pending(&c);
			CHECK(n <= ENTRIES);
			if (prod - starts[s] <= ENTRIES)
				CHECK_EQ(n, prod - starts[s]);
			else
				CHECK_EQ(n, ENTRIES);
		}
	}
}

/* Nor does a producer write over what it has posted. */
TEST(hostile_consumer)
{
	u32 s, i, seed = 8, n;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		setup(starts[s]);
		for (i = 0; i < 100000; i++) {
			cons = i < 100 ? starts[s] + i - 50 : unit_rand(&seed);
			n = rove_ring_space(&p);
			CHECK(n <= ENTRIES);
			if (starts[s] - cons <= ENTRIES)
				CHECK_EQ(n, ENTRIES - (starts[s] - cons));
			else
				CHECK_EQ(n, 0);
		}
	}
}

/* What the consumer publishes comes from its own memory. */
TEST(release_ignores_the_shared_index)
{
	setup(5);
	cons = 0xdeadbeef;
	prod = 0x12345678;
	rove_ring_release(&c);
	CHECK_EQ(cons, 6);
	CHECK_EQ(c.head, 6);
	CHECK_EQ(prod, 0x12345678);
}
