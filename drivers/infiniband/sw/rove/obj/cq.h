/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_OBJ_CQ_H
#define ROVE_OBJ_CQ_H

#include <linux/hrtimer.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>
#include "../ring/cqe.h"

struct rove_area;
struct rove_dev;
struct rove_uctx;

/* Found by QPs under their own reference; freed after RCU. */
struct rove_cq {
	struct rove_dev *dev;
	struct ib_cq *ib;		/* NULL once destroy has begun; under lock */
	struct mutex mutex;		/* one resize at a time */
	struct rove_area *mem;		/* rove_cq_hdr, rove_cqe[]; under mutex */
	u32 entries;			/* under mutex */
	struct rove_area *next_mem;	/* a resize was prepared, or NULL; under mutex */
	u32 next_entries;
	u32 cqn;
	bool user;
	bool overflow;			/* a completion was lost; under lock */
	bool overflow_told;		/* under lock; or nobody wants to be told */
	int vector;			/* a kernel user's handler runs on that CPU */
	spinlock_t lock;		/* BH off: ring (module side), ib, notify state */
	struct rove_cq_ring ring;	/* module side */
	spinlock_t poll_lock;		/* irqsave: consumer side of a kernel CQ */
	struct rove_cq_ring poll;	/* consumer side of a kernel CQ */
	/* one handler call at a time; see notify() in cq.c; under lock */
	bool queued;			/* on a CPU's list, with a reference */
	bool wanted;			/* the completion handler is to be called */
	bool notifying;			/* a handler is running */
	struct llist_node notify_node;
	/* moderation: tell when so many came, or so long after the first; under lock */
	u16 mod_count;
	u16 mod_period;			/* us; 0: at once */
	u16 held;			/* completions since it was wanted */
	struct hrtimer mod_timer;
	refcount_t refs;		/* creator, QPs, notify list */
	struct rcu_head rcu;
};

/* What the core sees; it frees this right after destroy_cq. */
struct rove_ibcq {
	struct ib_cq ib;
	struct rove_cq *cq;
	struct rove_uctx *uctx;			/* NULL: of a kernel user */
	struct rdma_user_mmap_entry *mmap;	/* verbs/ */
	struct rdma_user_mmap_entry *next_mmap;
};

static inline struct rove_cq *rove_cq_of(struct ib_cq *ib)
{
	return container_of(ib, struct rove_ibcq, ib)->cq;
}

/**
 * rove_cq_create() - rings and all
 * @entries: as asked for; rounded up to a power of two
 * @vector:  number of the CPU on which handlers run
 *
 * Return: the CQ or an ERR_PTR (-ENOMEM).
 */
struct rove_cq *rove_cq_create(struct rove_dev *dev, struct ib_cq *ib, u32 entries, int vector,
			       bool user);

/* Call the handler after @count completions, or @period us after the first; 0: at once. */
void rove_cq_moderate(struct rove_cq *cq, u16 count, u16 period);

/*
 * Resizing a process's CQ: prepare allocates, commit moves the completions that were
 * not taken. Both need mutex. If they fail (-ENOMEM; -EINVAL: more completions than
 * entries) nothing has changed.
 */
int rove_cq_prepare(struct rove_cq *cq, u32 entries);
int rove_cq_commit(struct rove_cq *cq);

/* Waits for a running handler; no handler runs after this. Sleeps. */
void rove_cq_destroy(struct rove_cq *cq);

void rove_cq_get(struct rove_cq *cq);
void rove_cq_put(struct rove_cq *cq);	/* NULL is fine */

/*
 * Writes a completion and has the handler called if the CQ is armed. BH off;
 * the handler itself is called from softirq, never from here.
 */
void rove_cq_complete(struct rove_cq *cq, const struct rove_cqe *cqe, bool solicited);

/*
 * Somebody means to sleep until the next completion, or is about to be told of one. A
 * hint. Not from interrupts.
 */
bool rove_cq_is_awaited(struct rove_cq *cq);

/* ib_poll_cq() and ib_req_notify_cq() of kernel CQs; any context. */
bool rove_cq_poll(struct rove_cq *cq, struct rove_cqe *cqe);
int rove_cq_arm(struct rove_cq *cq, enum ib_cq_notify_flags flags);

/* Module init and exit. */
int rove_cq_init(void);
void rove_cq_exit(void);

#endif /* ROVE_OBJ_CQ_H */
