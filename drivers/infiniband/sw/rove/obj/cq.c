// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 *
 * Handlers (completion and overflow) run from a tasklet: never inside a verb, with no
 * lock held, one at a time for each CQ. For the kernel's own users that is one of the CPU
 * that is the CQ's completion vector, where they have laid out their work; for others, whose
 * handler does no more than wake a thread, and where that CPU is not there, of the CPU that
 * wrote the completion.
 * A CQ waits on at most one list; while its handler runs it may be queued once
 * more, and whoever finds the handler running leaves the work to it.
 */
#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/wait_bit.h>
#include "area.h"
#include "cq.h"
#include "dev.h"

struct notify_cpu {
	struct llist_head list;
	struct tasklet_struct tasklet;
	call_single_data_t csd;		/* schedules it from another CPU */
};

static DEFINE_PER_CPU(struct notify_cpu, notify_cpus);
static atomic_t next_cqn = ATOMIC_INIT(0);

static struct rove_area *alloc_ring(u32 entries)
{
	return rove_area_alloc(ROVE_CQ_ENTRIES + entries * sizeof(struct rove_cqe));
}

static enum hrtimer_restart moderation_ends(struct hrtimer *timer);

struct rove_cq *rove_cq_create(struct rove_dev *dev, struct ib_cq *ib, u32 entries, int vector,
			       bool user)
{
	struct rove_cq *cq;

	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return ERR_PTR(-ENOMEM);

	cq->entries = roundup_pow_of_two(max(entries, 1U));
	cq->mem = alloc_ring(cq->entries);
	if (!cq->mem) {
		kfree(cq);
		return ERR_PTR(-ENOMEM);
	}

	cq->dev = dev;
	cq->ib = ib;
	cq->user = user;
	cq->vector = vector;
	hrtimer_setup(&cq->mod_timer, moderation_ends, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	cq->cqn = atomic_inc_return(&next_cqn);
	mutex_init(&cq->mutex);
	spin_lock_init(&cq->lock);
	spin_lock_init(&cq->poll_lock);
	rove_cq_ring_init(&cq->ring, cq->mem->addr, cq->entries);
	rove_cq_ring_init(&cq->poll, cq->mem->addr, cq->entries);
	refcount_set(&cq->refs, 1);
	return cq;
}

void rove_cq_get(struct rove_cq *cq)
{
	refcount_inc(&cq->refs);
}

static void free_cq(struct rcu_head *rcu)
{
	struct rove_cq *cq = container_of(rcu, struct rove_cq, rcu);

	rove_area_put(cq->next_mem);
	rove_area_put(cq->mem);
	kfree(cq);
}

void rove_cq_put(struct rove_cq *cq)
{
	/* Whoever finds a QP rung, under RCU, looks whether its CQs are armed: in the ring. */
	if (cq && refcount_dec_and_test(&cq->refs))
		call_rcu(&cq->rcu, free_cq);
}

int rove_cq_prepare(struct rove_cq *cq, u32 entries)
{
	struct rove_area *mem;

	lockdep_assert_held(&cq->mutex);
	entries = roundup_pow_of_two(entries);
	mem = alloc_ring(entries);
	if (!mem)
		return -ENOMEM;
	rove_area_put(cq->next_mem);
	cq->next_mem = mem;
	cq->next_entries = entries;
	return 0;
}

int rove_cq_commit(struct rove_cq *cq)
{
	struct rove_area *unused = cq->next_mem;
	bool moved;

	lockdep_assert_held(&cq->mutex);
	if (!unused)
		return -EINVAL;

	spin_lock_bh(&cq->lock);
	moved = rove_cq_ring_move(&cq->ring, unused->addr, cq->next_entries);
	spin_unlock_bh(&cq->lock);

	cq->next_mem = NULL;
	if (moved) {
		swap(cq->mem, unused);
		cq->entries = cq->next_entries;
	}
	rove_area_put(unused);
	return moved ? 0 : -EINVAL;
}

static bool handler_done(struct rove_cq *cq)
{
	bool done;

	spin_lock_bh(&cq->lock);
	done = !cq->notifying;
	spin_unlock_bh(&cq->lock);
	return done;
}

void rove_cq_destroy(struct rove_cq *cq)
{
	spin_lock_bh(&cq->lock);
	cq->ib = NULL;
	spin_unlock_bh(&cq->lock);

	/* It is started only as long as there is somebody to be told. */
	hrtimer_cancel(&cq->mod_timer);
	wait_var_event(&cq->notifying, handler_done(cq));
	rove_cq_put(cq);
}

/* The CQ was taken off a list, with the list's reference. Softirq. */
static void notify(struct rove_cq *cq)
{
	bool wanted, overflow;
	struct ib_event ev;
	struct ib_cq *ib;

	spin_lock(&cq->lock);
	cq->queued = false;
	if (cq->notifying) {
		/* Its runner looks again. */
		spin_unlock(&cq->lock);
		rove_cq_put(cq);
		return;
	}

	cq->notifying = true;
	for (;;) {
		ib = cq->ib;
		wanted = cq->wanted;
		overflow = cq->overflow && !cq->overflow_told;
		if (!ib || (!wanted && !overflow))
			break;
		cq->wanted = false;
		cq->overflow_told |= overflow;
		spin_unlock(&cq->lock);

		if (overflow && ib->event_handler) {
			ev.device = &cq->dev->ib;
			ev.event = IB_EVENT_CQ_ERR;
			ev.element.cq = ib;
			ib->event_handler(&ev, ib->cq_context);
		}
		if (wanted && ib->comp_handler)
			ib->comp_handler(ib, ib->cq_context);

		spin_lock(&cq->lock);
	}
	cq->notifying = false;
	spin_unlock(&cq->lock);

	wake_up_var(&cq->notifying);
	rove_cq_put(cq);
}

static void notify_tasklet(struct tasklet_struct *t)
{
	struct notify_cpu *n = container_of(t, struct notify_cpu, tasklet);
	struct rove_cq *cq, *next;
	struct llist_node *list;

	list = llist_reverse_order(llist_del_all(&n->list));
	llist_for_each_entry_safe(cq, next, list, notify_node)
		notify(cq);
}

/* Caller holds cq->lock. */
static void queue_notify(struct rove_cq *cq)
{
	struct notify_cpu *n;

	lockdep_assert_held(&cq->lock);
	if (cq->queued)
		return;
	cq->queued = true;
	rove_cq_get(cq);
	if (cq->user || cq->vector == smp_processor_id() || !cpu_online(cq->vector)) {
		n = this_cpu_ptr(&notify_cpus);
		llist_add(&cq->notify_node, &n->list);
		tasklet_schedule(&n->tasklet);
		return;
	}
	n = per_cpu_ptr(&notify_cpus, cq->vector);
	/* Busy: it has not looked at the list yet. Gone: its list is taken here. */
	if (llist_add(&cq->notify_node, &n->list) &&
	    smp_call_function_single_async(cq->vector, &n->csd) == -ENXIO)
		tasklet_schedule(&n->tasklet);
}

static void schedule_notify(void *arg)
{
	struct notify_cpu *n = arg;

	tasklet_schedule(&n->tasklet);
}

/* The handler is wanted, and one more completion came. Caller holds cq->lock. */
static void moderate(struct rove_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (likely(!cq->mod_period) || ++cq->held >= cq->mod_count)
		queue_notify(cq);
	else if (cq->held == 1 && cq->ib)
		hrtimer_start(&cq->mod_timer, us_to_ktime(cq->mod_period), HRTIMER_MODE_REL_SOFT);
}

static enum hrtimer_restart moderation_ends(struct hrtimer *timer)
{
	struct rove_cq *cq = container_of(timer, struct rove_cq, mod_timer);

	spin_lock(&cq->lock);
	if (cq->wanted)
		queue_notify(cq);
	spin_unlock(&cq->lock);
	return HRTIMER_NORESTART;
}

void rove_cq_moderate(struct rove_cq *cq, u16 count, u16 period)
{
	spin_lock_bh(&cq->lock);
	cq->mod_count = count;
	cq->mod_period = count > 1 ? period : 0;
	/* What waits under the old rule does not wait any more. */
	if (cq->wanted)
		queue_notify(cq);
	spin_unlock_bh(&cq->lock);
}

void rove_cq_complete(struct rove_cq *cq, const struct rove_cqe *cqe, bool solicited)
{
	spin_lock(&cq->lock);
	if (!rove_cq_ring_put(&cq->ring, cqe)) {
		rove_stat_add(cq->dev->stats, ROVE_STAT_CQ_OVERFLOW, 1);
		cq->overflow = true;
		if (!cq->overflow_told)
			queue_notify(cq);
	} else if (rove_cq_ring_fire(&cq->ring, solicited)) {
		cq->wanted = true;
		cq->held = 0;
		moderate(cq);
	} else if (unlikely(cq->mod_period) && cq->wanted) {
		moderate(cq);
	}
	spin_unlock(&cq->lock);
}

bool rove_cq_is_awaited(struct rove_cq *cq)
{
	bool awaited;

	spin_lock_bh(&cq->lock);
	awaited = cq->wanted || rove_cq_ring_is_armed(&cq->ring);
	spin_unlock_bh(&cq->lock);
	return awaited;
}

bool rove_cq_poll(struct rove_cq *cq, struct rove_cqe *cqe)
{
	const struct rove_cqe *next;
	unsigned long flags;

	spin_lock_irqsave(&cq->poll_lock, flags);
	next = rove_cq_ring_peek(&cq->poll);
	if (next) {
		*cqe = *next;
		rove_cq_ring_release(&cq->poll);
	}
	spin_unlock_irqrestore(&cq->poll_lock, flags);
	return next;
}

int rove_cq_arm(struct rove_cq *cq, enum ib_cq_notify_flags how)
{
	unsigned long flags;
	bool missed;

	spin_lock_irqsave(&cq->poll_lock, flags);
	missed = rove_cq_ring_arm(&cq->poll, (how & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED);
	spin_unlock_irqrestore(&cq->poll_lock, flags);
	return missed && (how & IB_CQ_REPORT_MISSED_EVENTS);
}

int rove_cq_init(void)
{
	struct notify_cpu *n;
	int cpu;

	for_each_possible_cpu(cpu) {
		n = per_cpu_ptr(&notify_cpus, cpu);
		init_llist_head(&n->list);
		tasklet_setup(&n->tasklet, notify_tasklet);
		INIT_CSD(&n->csd, schedule_notify, n);
	}
	return 0;
}

static void nothing(void *arg)
{
}

/* All CQs are gone, so nothing is queued but what was taken off already. */
void rove_cq_exit(void)
{
	int cpu;

	/* Comes after calls that are on their way to another CPU. */
	on_each_cpu(nothing, NULL, 1);
	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&notify_cpus, cpu)->tasklet);
}
