// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbells without system calls.
 *
 *   poster                            engine
 *
 *   STORE.rel sq_prod                 need_wakeup = 1 in all pages
 *   atomic OR rung, summary           FULL BARRIER                  (A)
 *   FULL BARRIER              (A)     look at all pages once more
 *   LOAD need_wakeup                  sleep
 *   if set: system call
 *
 * (A) pairs with (A): either the engine sees the bit, or the poster sees the flag
 * and makes the call, which runs the requester in place.
 *
 * The engine takes a CPU only while nobody else wants it: it spins while it is
 * the only runnable task there, and for a short while without work. Asleep, it is
 * woken when posters have to make many calls; if it then finds that it has no CPU
 * to itself it goes back to sleep, for longer and longer.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include "area.h"
#include "dev.h"
#include "engine.h"
#include "qp.h"
#include "run.h"
#include "uctx.h"

/* Without work the engine spins for this long, ns. */
#define SPIN_NS		(100 * NSEC_PER_USEC)
/* It is woken by this many kicks within a window of this length, ns. */
#define WAKE_KICKS	8
#define WAKE_NS		(10 * NSEC_PER_MSEC)
/* How long it is left alone after it found no free CPU, ns. */
#define BACKOFF_MIN_NS	(2 * NSEC_PER_MSEC)
#define BACKOFF_MAX_NS	(128 * NSEC_PER_MSEC)
/* QPs of one context that are run before the next context has its turn. */
#define CONTEXT_CAP	8

struct rove_engine {
	struct rove_dev *dev;
	struct task_struct *task;
	struct mutex lock;		/* contexts; held while they are looked at */
	struct list_head contexts;
	bool asleep;
	u64 backoff;			/* ns; the thread's */
	u64 leave_until;		/* ns; not woken before */
	/* kicks since window_start; racy on purpose, only a hint */
	u64 window_start;
	u32 kicks;
};

/* One QP whose bit was rung. */
static void run_slot(struct rove_uctx *u, u32 slot)
{
	struct rove_qp *qp;

	rcu_read_lock();
	qp = xa_load(&u->slots, slot);
	if (qp) {
		rove_stat_add(u->dev->stats, ROVE_STAT_DOORBELLS, 1);
		rove_run_doorbell(qp);
	}
	rcu_read_unlock();
}

/*
 * Takes up to CONTEXT_CAP rung bits of one context; those that it leaves stay
 * rung. What is in the page is the user's: bits of QPs that are not there are
 * ignored.
 */
static bool look(struct rove_uctx *u)
{
	unsigned long bits, rung;
	unsigned int s, w, word, b, done = 0;

	for (s = 0; s < ARRAY_SIZE(u->db->summary); s++) {
		if (!READ_ONCE(u->db->summary[s]))
			continue;
		bits = xchg(&u->db->summary[s], 0);
		for_each_set_bit(w, &bits, 64) {
			word = s * 64 + w;
			if (word >= ROVE_DB_WORDS)
				break;
			rung = xchg(&u->db->rung[word], 0);
			for_each_set_bit(b, &rung, 64) {
				run_slot(u, word * 64 + b);
				done++;
			}
			bits &= ~BIT(w);
			if (done >= CONTEXT_CAP)
				break;
		}
		if (bits && done >= CONTEXT_CAP) {
			/* For the next round, after the other contexts. */
			for_each_set_bit(w, &bits, 64)
				set_bit(w, (unsigned long *)&u->db->summary[s]);
			break;
		}
	}
	return done;
}

static bool look_at_all(struct rove_engine *e)
{
	struct rove_uctx *u;
	bool found = false;

	mutex_lock(&e->lock);
	list_for_each_entry(u, &e->contexts, engine_node)
		found |= look(u);
	mutex_unlock(&e->lock);
	return found;
}

static void tell_posters(struct rove_engine *e, u32 need_wakeup)
{
	struct rove_uctx *u;

	mutex_lock(&e->lock);
	WRITE_ONCE(e->asleep, need_wakeup);
	list_for_each_entry(u, &e->contexts, engine_node)
		WRITE_ONCE(u->db->need_wakeup, need_wakeup);
	mutex_unlock(&e->lock);
	smp_mb();	/* (A) */
}

/* Until there is no work for SPIN_NS, or another task wants the CPU. */
static void spin(struct rove_engine *e)
{
	u64 start = ktime_get_ns(), last = start, now;

	for (;;) {
		now = ktime_get_ns();
		if (look_at_all(e))
			last = now;
		if (now - last > SPIN_NS || kthread_should_stop())
			break;
		if (need_resched() || !single_task_running()) {
			/* Soon gone again: the next try had better wait. */
			if (now - start < SPIN_NS) {
				e->backoff = clamp(e->backoff * 2, BACKOFF_MIN_NS, BACKOFF_MAX_NS);
				WRITE_ONCE(e->leave_until, now + e->backoff);
			}
			return;
		}
		cpu_relax();
	}
	e->backoff = 0;
}

static int engine_thread(void *arg)
{
	struct rove_engine *e = arg;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
		if (kthread_should_stop())
			break;

		tell_posters(e, 0);
		spin(e);
		tell_posters(e, 1);
		/* What was rung before the posters knew; what they ring now they also kick. */
		while (look_at_all(e))
			cond_resched();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

void rove_engine_kicked(struct rove_engine *e)
{
	u64 now;

	rove_stat_add(e->dev->stats, ROVE_STAT_KICKS, 1);
	if (!READ_ONCE(e->asleep))
		return;

	now = ktime_get_ns();
	if (now - READ_ONCE(e->window_start) > WAKE_NS) {
		WRITE_ONCE(e->window_start, now);
		WRITE_ONCE(e->kicks, 0);
	}
	WRITE_ONCE(e->kicks, READ_ONCE(e->kicks) + 1);
	if (READ_ONCE(e->kicks) < WAKE_KICKS || (s64)(now - READ_ONCE(e->leave_until)) < 0)
		return;

	WRITE_ONCE(e->kicks, 0);
	rove_stat_add(e->dev->stats, ROVE_STAT_WAKEUPS, 1);
	wake_up_process(e->task);
}

void rove_engine_add(struct rove_engine *e, struct rove_uctx *u)
{
	mutex_lock(&e->lock);
	WRITE_ONCE(u->db->need_wakeup, READ_ONCE(e->asleep));
	list_add_tail(&u->engine_node, &e->contexts);
	mutex_unlock(&e->lock);
}

void rove_engine_remove(struct rove_engine *e, struct rove_uctx *u)
{
	mutex_lock(&e->lock);
	/* The page may outlive the context: a later post is to learn it from its call. */
	WRITE_ONCE(u->db->need_wakeup, 1);
	list_del(&u->engine_node);
	mutex_unlock(&e->lock);
}

int rove_engine_start(struct rove_dev *dev)
{
	struct rove_engine *e;

	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return -ENOMEM;
	e->dev = dev;
	e->asleep = true;
	mutex_init(&e->lock);
	INIT_LIST_HEAD(&e->contexts);
	e->task = kthread_run(engine_thread, e, "rove-%s", netdev_name(dev->ndev));
	if (IS_ERR(e->task)) {
		int err = PTR_ERR(e->task);

		kfree(e);
		return err;
	}
	dev->engine = e;
	return 0;
}

void rove_engine_stop(struct rove_dev *dev)
{
	struct rove_engine *e = dev->engine;

	if (!e)
		return;
	dev->engine = NULL;
	kthread_stop(e->task);
	kfree(e);
}
