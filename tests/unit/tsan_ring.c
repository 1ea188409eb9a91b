// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Both sides of each ring at once, under the thread sanitizer. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "ring/cqe.h"
#include "ring/ring.h"
#include "ring/wqe.h"
#include "unit.h"

#define ENTRIES	8
#define ROUNDS	100000U

static u32 prod, cons;
static u64 slots[ENTRIES * 112 / 8];
static u64 area[(ROVE_CQ_ENTRIES + ENTRIES * sizeof(struct rove_cqe)) / 8];
static sem_t event;

static void *post_all(void *arg)
{
	struct rove_ring r;
	struct rove_sqe *sqe;
	struct rove_sge *sge;
	u32 i, k;

	(void)arg;
	rove_ring_init(&r, &prod, &cons, slots, ENTRIES, 112);
	for (i = 0; i < ROUNDS; i++) {
		while (!rove_ring_space(&r))
			sched_yield();
		sqe = rove_ring_slot(&r, r.head);
		memset(sqe, 0, sizeof(*sqe));
		sqe->wr_id = i;
		sqe->num = i % 5;
		sge = (struct rove_sge *)(sqe + 1);
		for (k = 0; k < i % 5; k++)
			sge[k] = (struct rove_sge){ .addr = i, .length = i, .lkey = ~i };
		r.head++;
		if (i % 3 == 0 || i + ENTRIES >= ROUNDS || rove_ring_space(&r) < 3)
			rove_ring_submit(&r);
	}
	return NULL;
}

TEST(work_queue)
{
	static const struct rove_wqe_limits lim = { .max_sge = 4, .ops = 1 };
	u64 mem[20];
	struct rove_swqe *wqe = (struct rove_swqe *)mem;
	struct rove_ring r;
	pthread_t t;
	u32 i, n;

	rove_ring_init(&r, &prod, &cons, slots, ENTRIES, 112);
	CHECK(!pthread_create(&t, NULL, post_all, NULL));
	for (i = 0; i < ROUNDS; ) {
		n = rove_ring_pending(&r);
		if (!n)
			sched_yield();
		for (; n; n--, i++) {
			CHECK_EQ(rove_wqe_read_send(wqe, rove_ring_slot(&r, r.head), &lim),
				 ROVE_FAULT_NONE);
			rove_ring_release(&r);
			CHECK_EQ(wqe->sqe.wr_id, i);
			CHECK_EQ(wqe->sqe.num, i % 5);
			CHECK_EQ(wqe->length, i % 5 * i);
			if (i % 5)
				CHECK_EQ(wqe->sge[i % 5 - 1].lkey, ~i);
		}
	}
	pthread_join(t, NULL);
	CHECK_EQ(rove_ring_pending(&r), 0);
}

static void *complete_all(void *arg)
{
	struct rove_cqe cqe = { 0 };
	struct rove_cq_ring r;
	u32 i;

	(void)arg;
	rove_cq_ring_init(&r, area, ENTRIES);
	for (i = 0; i < ROUNDS; i++) {
		cqe.wr_id = i;
		cqe.byte_len = ~i;
		cqe.reserved_1a0[1] = i;
		while (!rove_cq_ring_put(&r, &cqe))
			sched_yield();
		if (rove_cq_ring_fire(&r, false))
			sem_post(&event);
	}
	return NULL;
}

/* Sleeps whenever it found nothing: one lost wake-up, and it sleeps for good. */
TEST(completion_queue)
{
	const struct rove_cqe *cqe;
	struct timespec until;
	struct rove_cq_ring r;
	u32 i = 0, sleeps = 0;
	pthread_t t;

	rove_cq_ring_init(&r, area, ENTRIES);
	sem_init(&event, 0, 0);
	CHECK(!pthread_create(&t, NULL, complete_all, NULL));
	while (i < ROUNDS) {
		cqe = rove_cq_ring_peek(&r);
		if (cqe) {
			CHECK_EQ(cqe->wr_id, i);
			CHECK_EQ(cqe->byte_len, ~i);
			CHECK_EQ(cqe->reserved_1a0[1], i);
			rove_cq_ring_release(&r);
			i++;
			continue;
		}
		if (rove_cq_ring_arm(&r, false))
			continue;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 20;
		CHECK(!sem_timedwait(&event, &until));
		sleeps++;
	}
	pthread_join(t, NULL);
	unit_note("slept %u times", sleeps);
	CHECK(sleeps);
}
