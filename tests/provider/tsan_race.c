// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads that post, poll, arm, and create and destroy QPs beside each other, and
 * an engine that goes to sleep as often as it can. Everything that was posted has
 * to complete, in order and once; a doorbell that nobody heard ends in the alarm.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake.h"
#include "unit.h"

#define POSTERS		2	/* one QP each */
#define WRS		4000U	/* of each poster */
#define DEPTH		16
#define ENTRIES		(2 * POSTERS * 2 * DEPTH)

static struct ibv_context *ctx;
static struct ibv_cq *cq;
static bool stop;

struct run {
	pthread_mutex_t owner;		/* of what the module keeps */
	struct fake_qp fq;
	uint32_t taken;			/* WRs that the module has seen */
	uint32_t polled;		/* WRs known to be completed; the poller's */
	int bad;
};

static struct run runs[POSTERS];
static pthread_mutex_t cq_owner = PTHREAD_MUTEX_INITIALIZER;
static struct rove_cq_ring cq_ring;

static void complete(struct run *r, const struct rove_swqe *wqe)
{
	struct rove_cqe cqe = {
		.wr_id = wqe->sqe.wr_id,
		.qpn = r->fq.qp->qp_num,
		.opcode = wqe->sqe.opcode,
		.wqe = r->fq.sq.head,
	};

	pthread_mutex_lock(&cq_owner);
	if (!rove_cq_ring_put(&cq_ring, &cqe))
		r->bad++;
	rove_cq_ring_fire(&cq_ring, false);
	pthread_mutex_unlock(&cq_owner);
}

/* What the module does with a QP, in whichever context. */
static bool run_qp(struct run *r)
{
	uint64_t buf[FAKE_WQE_SIZE / 8];
	struct rove_swqe *wqe = (void *)buf;
	enum rove_fault fault;
	bool found = false;

	pthread_mutex_lock(&r->owner);
	while (fake_take_send(&r->fq, wqe, &fault)) {
		found = true;
		if (fault || wqe->sqe.wr_id != r->taken++)
			r->bad++;
		if (wqe->sqe.flags & ROVE_WR_SIGNALED)
			complete(r, wqe);
	}
	pthread_mutex_unlock(&r->owner);
	return found;
}

static void on_kick(struct ibv_qp *qp)
{
	int i;

	for (i = 0; i < POSTERS; i++)
		if (runs[i].fq.qp == qp)
			run_qp(&runs[i]);
}

/* Slots in the doorbell page are numbers of runs. */
static bool look(struct rove_db_page *db)
{
	uint64_t rung;
	int i;

	if (!__atomic_exchange_n(&db->summary[0], 0, __ATOMIC_SEQ_CST))
		return false;
	rung = __atomic_exchange_n(&db->rung[0], 0, __ATOMIC_SEQ_CST);
	for (i = 0; i < POSTERS; i++)
		if (rung & 1ULL << i)
			run_qp(&runs[i]);
	return rung;
}

static void on_poll(void)
{
	while (look(fake_db(ctx)))
		;
}

/* Awake, asleep, and asleep while who polls looks in its place. */
static void *engine(void *arg)
{
	struct rove_db_page *db = fake_db(ctx);
	int spins;

	while (!READ_ONCE(stop)) {
		WRITE_ONCE(db->need_wakeup, ROVE_DB_NEVER);
		for (spins = 0; spins < 500; spins++)
			look(db);
		WRITE_ONCE(db->need_wakeup, ROVE_DB_AT_POST);
		smp_mb();
		on_poll();
		usleep(50);
		WRITE_ONCE(db->need_wakeup, ROVE_DB_AT_POLL);
		usleep(500);
	}
	return NULL;
}

static void post_list(struct ibv_qp *qp, uint32_t *next)
{
	struct ibv_send_wr wr[3] = {}, *bad;
	int i, err;

	for (i = 0; i < 3; i++) {
		wr[i].wr_id = *next + i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = (*next + i) % 4 == 3 ? IBV_SEND_SIGNALED : 0;
		wr[i].next = i < 2 && *next + i + 1 < WRS ? &wr[i + 1] : NULL;
	}
	err = fake.ops.post_send(qp, wr, &bad);
	if (!err)
		*next = *next + 3 < WRS ? *next + 3 : WRS;
	else if (err == ENOMEM)
		*next = bad->wr_id;
	else
		abort();
}

static void post_ex(struct ibv_qp *qp, uint32_t *next)
{
	struct ibv_qp_ex *qpx = &to_rove_qp(qp)->vqp.qp_ex;

	ibv_wr_start(qpx);
	qpx->wr_id = *next;
	qpx->wr_flags = *next % 4 == 3 ? IBV_SEND_SIGNALED : 0;
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, next, sizeof(*next));
	if (!ibv_wr_complete(qpx))
		(*next)++;
}

static void *poster(void *arg)
{
	struct run *r = arg;
	uint32_t next = 0, before, i;

	for (i = 0; next < WRS; i++) {
		before = next;
		if (i % 2)
			post_list(r->fq.qp, &next);
		else
			post_ex(r->fq.qp, &next);
		if (next == before)
			sched_yield();
	}
	return NULL;
}

static bool all_polled(void)
{
	int i;

	for (i = 0; i < POSTERS; i++)
		if (READ_ONCE(runs[i].polled) < WRS)
			return false;
	return true;
}

static void *poller(void *arg)
{
	struct ibv_wc wc[5];
	int n, i, j;

	while (!all_polled()) {
		fake.ops.req_notify_cq(cq, 0);
		n = fake.ops.poll_cq(cq, 5, wc);
		if (!n)
			sched_yield();
		for (i = 0; i < n; i++) {
			for (j = 0; j < POSTERS; j++) {
				if (runs[j].fq.qp->qp_num != wc[i].qp_num)
					continue;
				if (wc[i].wr_id != runs[j].polled + 3)
					runs[j].bad++;
				WRITE_ONCE(runs[j].polled, runs[j].polled + 4);
			}
		}
	}
	WRITE_ONCE(stop, true);
	return NULL;
}

/* QPs on the same CQ come and go, with completions left behind. */
static void *creator(void *arg)
{
	struct ibv_qp *qp;
	int i;

	while (!READ_ONCE(stop)) {
		qp = fake_create_qp(ctx, IBV_QPT_RC, cq, cq, DEPTH, false);
		for (i = 0; i < 3; i++) {
			struct rove_cqe cqe = { .qpn = qp->qp_num, .wqe = i };

			pthread_mutex_lock(&cq_owner);
			if (cq_ring.head - READ_ONCE(cq_ring.hdr->cons) < DEPTH)
				rove_cq_ring_put(&cq_ring, &cqe);
			pthread_mutex_unlock(&cq_owner);
		}
		fake.ops.destroy_qp(qp);
		usleep(10);
	}
	return NULL;
}

TEST(race)
{
	pthread_t threads[POSTERS + 3];
	struct ibv_qp *qp;
	int i, n = 0;

	alarm(400);
	ctx = fake_open();
	cq = fake_create_cq(ctx, ENTRIES);
	cq_ring = fake_cq_ring(cq);
	for (i = 0; i < POSTERS; i++) {
		fake.next_slot = i;
		qp = fake_create_qp(ctx, IBV_QPT_RC, cq, cq, DEPTH, true);
		qp->state = IBV_QPS_RTS;
		runs[i].fq = fake_qp(qp);
		pthread_mutex_init(&runs[i].owner, NULL);
	}
	/* The creator's QPs have no bit of their own. */
	fake.next_slot = ROVE_DB_NO_SLOT;
	fake.on_kick = on_kick;
	fake.on_poll = on_poll;

	pthread_create(&threads[n++], NULL, engine, NULL);
	pthread_create(&threads[n++], NULL, poller, NULL);
	pthread_create(&threads[n++], NULL, creator, NULL);
	for (i = 0; i < POSTERS; i++)
		pthread_create(&threads[n++], NULL, poster, &runs[i]);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);

	for (i = 0; i < POSTERS; i++) {
		CHECK_EQ(runs[i].bad, 0);
		CHECK_EQ(runs[i].taken, WRS);
		fake.ops.destroy_qp(runs[i].fq.qp);
	}
	unit_note("%u work requests, %d kicks, %d polls", POSTERS * WRS, fake.kicks, fake.polls);
	CHECK(fake.kicks && fake.polls);
	fake.ops.destroy_cq(cq);
	fake_close(ctx);
}
