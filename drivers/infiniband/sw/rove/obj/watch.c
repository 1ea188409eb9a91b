// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * In the engine's place, when all CPUs are busy with programs that poll.
 *
 * A program that posts one request after the other would make a system call for
 * each of them. When it comes back at once, again and again, it may not wait for
 * anything: then it is told to call when it has nothing else to do, which is when it
 * polls in vain. What it posted by then is done in one go, by its own thread, which
 * would only spin meanwhile.
 *
 * Not all poll, or not soon. So a timer looks at the doorbell page, too, every few
 * calls' time, and seldom while polls do the work. It goes on as long as there is enough
 * to pay for it. A program that waits for an answer in memory before it posts again is
 * late by one period then; it is believed less easily each time.
 *
 * The page is handed over as between poster and engine: see obj/engine.c. Either side
 * changes need_wakeup only from what it left there. Whoever runs some of what is rung has
 * the rest in its hands meanwhile, where nobody else sees it; it rings that again, and then
 * sees to it that somebody looks.
 */
#include <linux/ktime.h>
#include "dev.h"
#include "engine.h"
#include "qp.h"
#include "run.h"
#include "uctx.h"
#include "watch.h"

/*
 * So many times in a row there was not more than that many calls' time between two calls;
 * twice as many times for each doubt.
 */
#define STREAK		16
#define GAP_CALLS	2
#define DOUBT_MAX	10
/* Period: the time from one call to the next so many times, within these limits, ns. */
#define CALLS		3
#define PERIOD_MIN_NS	(10 * NSEC_PER_USEC)
#define PERIOD_MAX_NS	(100 * NSEC_PER_USEC)
/* It is doubled up to this while polls do the work. */
#define PERIOD_POLLED_NS	(8 * NSEC_PER_MSEC)
/* Requests in a period that are worth it; so many periods in a row with less end it. */
#define WORTH		4
#define POOR		3
/* QPs that are run in a period: what they send must fit into the stack's queues. */
#define CAP		8

struct look {
	u32 room;			/* QPs that may be run */
	u32 posted;			/* requests of those that were */
};

static enum rove_rung run_qp(struct rove_qp *qp, void *arg)
{
	struct look *l = arg;

	if (!l->room)
		return ROVE_RUNG_STOP;
	l->room--;
	if (qp) {
		l->posted += rove_ring_pending(&qp->sq);
		rove_run_posted(qp);
	}
	return ROVE_RUNG_DONE;
}

/*
 * Has the tasklets of up to @room QPs that are rung for run next.
 *
 * Return: requests that are posted there.
 */
static u32 run_rung(struct rove_uctx *u, u32 room)
{
	struct look l = { .room = room };

	rove_uctx_rung(u, &u->watch.at, run_qp, &l);
	return l.posted;
}

/* False: the engine has woken up, or the user wrote there. */
static bool tell_posters(struct rove_uctx *u, u32 from, u32 to)
{
	return cmpxchg(&u->db->need_wakeup, from, to) == from;
}

static void stop(struct rove_watch *w)
{
	WRITE_ONCE(w->streak, 0);
	clear_bit_unlock(0, &w->on);
}

/* Is it worth to go on after this period? */
static bool was_worth_it(struct rove_uctx *u)
{
	bool polled = xchg(&u->watch.polled, false);
	struct rove_watch *w = &u->watch;

	if (run_rung(u, CAP) >= WORTH) {
		rove_stat_add(u->dev->stats, ROVE_STAT_WATCHES, 1);
		w->period = w->base;
	} else if (polled) {
		w->period = min_t(u64, 2 * w->period, PERIOD_POLLED_NS);
	} else {
		/* It may wait for what was just done: the next one is not kept as long. */
		w->period = w->base;
		return false;
	}
	w->found++;
	w->poor = 0;
	rove_engine_try(u->dev->engine);
	return true;
}

/* Nobody looks from here on, but the engine if it is awake: all that is rung is run. */
static void hand_back(struct rove_uctx *u)
{
	stop(&u->watch);
	smp_mb__after_atomic();	/* who starts it again does so from AT_POST */
	tell_posters(u, ROVE_DB_AT_POLL, ROVE_DB_AT_POST);
	smp_mb();	/* pairs with the poster's, and with who rings again what it did not run */
	/* Awake, it looks itself, and once more when it has told posters that it sleeps. */
	if (rove_engine_is_asleep(u->dev->engine))
		run_rung(u, ROVE_DB_SLOTS);
}

static enum hrtimer_restart watch(struct hrtimer *timer)
{
	struct rove_uctx *u = container_of(timer, struct rove_uctx, watch.timer);
	struct rove_engine *e = u->dev->engine;
	struct rove_watch *w = &u->watch;

	if (!rove_engine_is_asleep(e)) {
		hand_back(u);
		return HRTIMER_NORESTART;
	}
	if (rove_engine_is_missing(e) && (was_worth_it(u) || ++w->poor < POOR)) {
		tasklet_schedule(&w->again);
		return HRTIMER_NORESTART;
	}
	if (w->found)
		WRITE_ONCE(w->doubt, 0);
	else if (w->doubt < DOUBT_MAX)
		WRITE_ONCE(w->doubt, w->doubt + 1);
	hand_back(u);
	return HRTIMER_NORESTART;
}

static void start_timer(struct rove_watch *w)
{
	hrtimer_start(&w->timer, ns_to_ktime(w->period), HRTIMER_MODE_REL_SOFT);
}

/* False: somebody looks already, or is about to; or the user wrote there. */
static bool start(struct rove_uctx *u, u64 period)
{
	struct rove_watch *w = &u->watch;

	smp_mb();	/* what was rung again is seen by whoever changes need_wakeup after this */
	if (!tell_posters(u, ROVE_DB_AT_POST, ROVE_DB_AT_POLL))
		return false;
	/*
	 * It may be on since before the engine was awake for a moment. If it ends now it
	 * finds AT_POLL, and looks.
	 */
	if (test_and_set_bit(0, &w->on))
		return true;
	w->found = 0;
	w->poor = 0;
	w->base = period;
	w->period = period;
	start_timer(w);
	return true;
}

/* What was found has been done: the program gets as much time as the first time. */
static void watch_again(struct tasklet_struct *t)
{
	start_timer(container_of(t, struct rove_watch, again));
}

void rove_watch_kicked(struct rove_uctx *u, u64 begin, u64 end)
{
	struct rove_watch *w = &u->watch;
	s64 gap = begin - READ_ONCE(w->kicked), took = end - begin;

	WRITE_ONCE(w->kicked, end);
	if (gap < 0 || gap > GAP_CALLS * took) {
		WRITE_ONCE(w->streak, 0);
		return;
	}
	WRITE_ONCE(w->streak, READ_ONCE(w->streak) + 1);
	if (READ_ONCE(w->streak) >= STREAK << READ_ONCE(w->doubt) &&
	    rove_engine_is_missing(u->dev->engine))
		start(u, clamp_t(u64, CALLS * (gap + took), PERIOD_MIN_NS, PERIOD_MAX_NS));
}

bool rove_watch_take_over(struct rove_uctx *u)
{
	return start(u, PERIOD_MIN_NS);
}

static enum rove_rung poll_qp(struct rove_qp *qp, void *arg)
{
	unsigned int *room = arg;

	if (!*room || need_resched())
		return ROVE_RUNG_STOP;
	--*room;
	return qp && rove_run_doorbell(qp, false) ? ROVE_RUNG_AGAIN : ROVE_RUNG_DONE;
}

/* The engine may have gone to sleep, or the timer have ended, while it was not rung. */
static void leave_rung(struct rove_uctx *u)
{
	struct rove_engine *e = u->dev->engine;

	smp_mb();	/* pairs with the engine's, before it looks once more */
	if (rove_engine_is_missing(e))
		start(u, PERIOD_MIN_NS);
	else if (rove_engine_is_asleep(e))
		run_rung(u, ROVE_DB_SLOTS);
}

bool rove_watch_polled(struct rove_uctx *u)
{
	unsigned int room = CAP, at = READ_ONCE(u->watch.polled_at);
	u64 trains;
	bool left;

	if (!rove_engine_is_asleep(u->dev->engine))
		return false;
	WRITE_ONCE(u->watch.polled, true);
	rove_stat_add_any(u->dev->stats, ROVE_STAT_POLLS, 1);
	left = rove_uctx_rung(u, &at, poll_qp, &room);
	WRITE_ONCE(u->watch.polled, true);
	WRITE_ONCE(u->watch.polled_at, at);
	if (left)
		leave_rung(u);
	/* Softirqs that are left to a thread run now, and with them what came in. */
	trains = raw_cpu_read(u->dev->stats->n[ROVE_STAT_RX_TRAINS]);
	local_bh_disable();
	local_bh_enable();
	return room < CAP || trains != raw_cpu_read(u->dev->stats->n[ROVE_STAT_RX_TRAINS]);
}

void rove_watch_init(struct rove_uctx *u)
{
	hrtimer_setup(&u->watch.timer, watch, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	tasklet_setup(&u->watch.again, watch_again);
}

void rove_watch_exit(struct rove_uctx *u)
{
	/* Either may have started the other, but not when nothing is rung any more. */
	do {
		hrtimer_cancel(&u->watch.timer);
		tasklet_kill(&u->watch.again);
	} while (hrtimer_active(&u->watch.timer));
}
