// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbells without system calls.
 *
 *   poster                            engine
 *
 *   STORE.rel sq_prod                 need_wakeup = AT_POST in all pages
 *   atomic OR rung, summary           FULL BARRIER                  (A)
 *   FULL BARRIER              (A)     look at all pages once more
 *   LOAD need_wakeup                  sleep
 *   if AT_POST: system call
 *
 * (A) pairs with (A): either the engine sees the bit, or the poster sees the flag
 * and makes the call, which runs the requester in place. AT_POLL: see obj/watch.c.
 *
 * The engine takes a CPU only while nobody else wants it: it spins while it is
 * the only runnable task there, and without work for about as long as the calls
 * took that woke it. Asleep, it is woken when posters have to make many calls.
 * When others want its CPU it makes room at once: first for a moment, which is
 * all that a kernel thread needs, then by going to another CPU, and when there is
 * none to itself it goes back to sleep, for longer and longer.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
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

/* Without work the engine spins for this long, ns: as WAKE_KICKS kicks took. */
#define SPIN_MIN_NS	(100 * NSEC_PER_USEC)
#define SPIN_MAX_NS	(2 * NSEC_PER_MSEC)
/* It is woken by this many kicks within a window of this length, ns. */
#define WAKE_KICKS	8
#define WAKE_NS		(10 * NSEC_PER_MSEC)
/* How long it is left alone after it found no free CPU, ns. */
#define BACKOFF_MIN_NS	(2 * NSEC_PER_MSEC)
#define BACKOFF_MAX_NS	(128 * NSEC_PER_MSEC)
/* A moment for others, us. */
#define NAP_MIN_US	5
#define NAP_MAX_US	20
/* Moments without a good run in between, before it goes back to sleep. */
#define NAPS		3
/* A run that was worth it, ns. */
#define GOOD_RUN_NS	(200 * NSEC_PER_USEC)
/* QPs of one context that are run before the next context has its turn. */
#define CONTEXT_CAP	8

struct rove_engine {
	struct rove_dev *dev;
	struct task_struct *task;
	struct mutex lock;		/* contexts; held while they are looked at */
	struct list_head contexts;
	bool asleep;
	struct cpumask cpus;		/* where it may run; under lock */
	enum rove_doorbell_mode mode;
	u32 spin_us;			/* instead of patience; 0: not set */
	u64 backoff;			/* ns; the thread's */
	u64 leave_until;		/* ns; not woken before */
	u64 patience;			/* ns to spin without work */
	/* kicks since window_start; racy on purpose, only a hint */
	u64 window_start;
	u32 kicks;
};

struct look {
	bool all;
	bool left;			/* something stays rung */
	bool good;			/* something was for the engine to do */
	unsigned int done;
};

static enum rove_rung run_rung(struct rove_qp *qp, void *arg)
{
	struct look *l = arg;

	if (l->done && !l->all && (l->done >= CONTEXT_CAP || need_resched()))
		return ROVE_RUNG_STOP;
	l->done++;
	l->good |= qp && !rove_run_had_better_kick(qp);
	return qp && rove_run_doorbell(qp, l->all) ? ROVE_RUNG_AGAIN : ROVE_RUNG_DONE;
}

/*
 * Runs up to CONTEXT_CAP rung QPs of one context, fewer if somebody else wants the CPU,
 * or @all, and leaves none but what is rung meanwhile.
 */
static struct look look(struct rove_uctx *u, bool all)
{
	struct look l = { .all = all };

	l.left = rove_uctx_rung(u, &u->look_at, run_rung, &l);
	return l;
}

static bool look_at_all(struct rove_engine *e)
{
	struct rove_uctx *u;
	bool found = false;

	mutex_lock(&e->lock);
	list_for_each_entry(u, &e->contexts, engine_node)
		found |= look(u, false).good;
	mutex_unlock(&e->lock);
	return found;
}

static bool hand_over(struct rove_engine *e, struct rove_uctx *u)
{
	return rove_engine_is_missing(e) && rove_watch_take_over(u);
}

/*
 * What was rung before the posters knew that they have to kick. Others want this CPU: if
 * it is much, those who poll, and a timer, go on with it.
 */
static void look_once_more(struct rove_engine *e)
{
	struct rove_uctx *u;

	mutex_lock(&e->lock);
	list_for_each_entry(u, &e->contexts, engine_node) {
		if (look(u, false).left && !hand_over(e, u) && look(u, true).left)
			hand_over(e, u);
	}
	mutex_unlock(&e->lock);
}

static u32 wakeup(bool asleep)
{
	return asleep ? ROVE_DB_AT_POST : ROVE_DB_NEVER;
}

static void tell_posters(struct rove_engine *e, bool asleep)
{
	struct rove_uctx *u;

	mutex_lock(&e->lock);
	WRITE_ONCE(e->asleep, asleep);
	list_for_each_entry(u, &e->contexts, engine_node)
		WRITE_ONCE(u->db->need_wakeup, wakeup(asleep));
	mutex_unlock(&e->lock);
	smp_mb();	/* (A) */
}

static u64 patience(const struct rove_engine *e)
{
	u32 us = READ_ONCE(e->spin_us);

	return us ? us * NSEC_PER_USEC : READ_ONCE(e->patience);
}

/* Until there is no work for a while (true), or another task wants the CPU. */
static bool spin(struct rove_engine *e)
{
	u64 last = ktime_get_ns(), now;

	for (;;) {
		now = ktime_get_ns();
		if (look_at_all(e))
			last = now;
		if (kthread_should_stop())
			return true;
		switch (READ_ONCE(e->mode)) {
		case ROVE_DOORBELL_POLL:
			cond_resched();
			break;
		case ROVE_DOORBELL_INLINE:
			return true;
		default:
			if (now - last > patience(e))
				return true;
			if (need_resched() || !single_task_running())
				return false;
		}
		cpu_relax();
	}
}

/* To any other CPU that the thread may use; it may come back later. */
static void move_away(struct rove_engine *e)
{
	cpumask_var_t others;

	if (!alloc_cpumask_var(&others, GFP_KERNEL))
		return;
	mutex_lock(&e->lock);
	if (cpumask_andnot(others, &e->cpus, cpumask_of(raw_smp_processor_id())) &&
	    !set_cpus_allowed_ptr(current, others))
		set_cpus_allowed_ptr(current, &e->cpus);
	mutex_unlock(&e->lock);
	free_cpumask_var(others);
}

/* Others are let go first. False: they will not be gone soon. */
static bool make_room(struct rove_engine *e, unsigned int *tries)
{
	switch ((*tries)++) {
	case 0:
		if (need_resched()) {
			cond_resched();
			if (single_task_running())
				return true;
		}
		usleep_range(NAP_MIN_US, NAP_MAX_US);
		return true;
	case 1:
		move_away(e);
		return true;
	case NAPS:
		return false;
	default:
		usleep_range(NAP_MIN_US, NAP_MAX_US);
		return true;
	}
}

/* While there is work and room for the engine. */
static void run(struct rove_engine *e)
{
	unsigned int tries = 0;
	bool idle;
	u64 start;

	do {
		tell_posters(e, false);
		start = ktime_get_ns();
		idle = spin(e);
		tell_posters(e, true);
		look_once_more(e);
		if (ktime_get_ns() - start > GOOD_RUN_NS) {
			e->backoff = 0;
			tries = 0;
		}
	} while (!idle && make_room(e, &tries));

	if (!idle) {
		e->backoff = clamp(e->backoff * 2, BACKOFF_MIN_NS, BACKOFF_MAX_NS);
		WRITE_ONCE(e->leave_until, ktime_get_ns() + e->backoff);
	}
}

static int engine_thread(void *arg)
{
	struct rove_engine *e = arg;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		/* The mode is looked at with the state set, and set before it is woken. */
		if (READ_ONCE(e->mode) != ROVE_DOORBELL_POLL)
			schedule();
		__set_current_state(TASK_RUNNING);
		if (kthread_should_stop())
			break;
		run(e);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* It spins without work for @patience ns, within limits. */
static void wake(struct rove_engine *e, u64 patience)
{
	WRITE_ONCE(e->patience, clamp_t(u64, patience, SPIN_MIN_NS, SPIN_MAX_NS));
	rove_stat_add_any(e->dev->stats, ROVE_STAT_WAKEUPS, 1);
	wake_up_process(e->task);
}

void rove_engine_kicked(struct rove_engine *e)
{
	u64 now;

	if (!rove_engine_is_missing(e))
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
	wake(e, now - READ_ONCE(e->window_start));
}

void rove_engine_try(struct rove_engine *e)
{
	if (rove_engine_is_missing(e) && (s64)(ktime_get_ns() - READ_ONCE(e->leave_until)) >= 0)
		wake(e, 0);
}

bool rove_engine_is_asleep(const struct rove_engine *e)
{
	return READ_ONCE(e->asleep);
}

bool rove_engine_is_missing(const struct rove_engine *e)
{
	return READ_ONCE(e->asleep) && READ_ONCE(e->mode) != ROVE_DOORBELL_INLINE;
}

void rove_engine_set_mode(struct rove_engine *e, enum rove_doorbell_mode mode)
{
	WRITE_ONCE(e->mode, mode);
	wake_up_process(e->task);
}

enum rove_doorbell_mode rove_engine_mode(const struct rove_engine *e)
{
	return READ_ONCE(e->mode);
}

void rove_engine_set_spin(struct rove_engine *e, u32 us)
{
	WRITE_ONCE(e->spin_us, us);
}

u32 rove_engine_spin(const struct rove_engine *e)
{
	return READ_ONCE(e->spin_us);
}

int rove_engine_set_cpus(struct rove_engine *e, const struct cpumask *cpus)
{
	int err;

	mutex_lock(&e->lock);
	err = set_cpus_allowed_ptr(e->task, cpus);
	if (!err)
		cpumask_copy(&e->cpus, cpus);
	mutex_unlock(&e->lock);
	return err;
}

void rove_engine_cpus(struct rove_engine *e, struct cpumask *cpus)
{
	mutex_lock(&e->lock);
	cpumask_copy(cpus, &e->cpus);
	mutex_unlock(&e->lock);
}

void rove_engine_add(struct rove_engine *e, struct rove_uctx *u)
{
	mutex_lock(&e->lock);
	WRITE_ONCE(u->db->need_wakeup, wakeup(READ_ONCE(e->asleep)));
	list_add_tail(&u->engine_node, &e->contexts);
	mutex_unlock(&e->lock);
}

void rove_engine_remove(struct rove_engine *e, struct rove_uctx *u)
{
	mutex_lock(&e->lock);
	/* The page may outlive the context: a later post is to learn it from its call. */
	WRITE_ONCE(u->db->need_wakeup, ROVE_DB_AT_POST);
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
	cpumask_copy(&e->cpus, e->task->cpus_ptr);
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
