/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_OBJ_CQ_H
#define ROVE_OBJ_CQ_H

#include <linux/llist.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>
#include "../ring/cqe.h"

struct rove_area;
struct rove_dev;

/* Found by QPs under their own reference; freed after RCU. */
struct rove_cq {
	struct rove_dev *dev;
	struct ib_cq *ib;		/* NULL once destroy has begun; under lock */
	struct rove_area *mem;		/* rove_cq_hdr, rove_cqe[] */
	u32 entries;
	u32 cqn;
	bool user;
	bool overflow;			/* a completion was lost; under lock */
	bool overflow_told;		/* under lock */
	spinlock_t lock;		/* irqsave: ring (module side), ib, notify state */
	struct rove_cq_ring ring;	/* module side */
	spinlock_t poll_lock;		/* irqsave: consumer side of a kernel CQ */
	struct rove_cq_ring poll;	/* consumer side of a kernel CQ */
	/* one handler call at a time; see notify() in cq.c; under lock */
	bool queued;			/* on a CPU's list, with a reference */
	bool wanted;			/* the completion handler is to be called */
	bool notifying;			/* a handler is running */
	struct llist_node notify_node;
	refcount_t refs;		/* creator, QPs, notify list */
	struct rcu_head rcu;
};

/* What the core sees; it frees this right after destroy_cq. */
struct rove_ibcq {
	struct ib_cq ib;
	struct rove_cq *cq;
	struct rdma_user_mmap_entry *mmap;	/* verbs/ */
};

static inline struct rove_cq *rove_cq_of(struct ib_cq *ib)
{
	return container_of(ib, struct rove_ibcq, ib)->cq;
}

/**
 * rove_cq_create() - rings and all
 * @entries: as asked for; rounded up to a power of two
 *
 * Return: the CQ or an ERR_PTR (-ENOMEM).
 */
struct rove_cq *rove_cq_create(struct rove_dev *dev, struct ib_cq *ib, u32 entries, bool user);

/* Waits for a running handler; no handler runs after this. Sleeps. */
void rove_cq_destroy(struct rove_cq *cq);

void rove_cq_get(struct rove_cq *cq);
void rove_cq_put(struct rove_cq *cq);	/* NULL is fine */

/*
 * Writes a completion and has the handler called if the CQ is armed. Any context;
 * the handler itself is called from softirq, never from here.
 */
void rove_cq_complete(struct rove_cq *cq, const struct rove_cqe *cqe, bool solicited);

/* ib_poll_cq() and ib_req_notify_cq() of kernel CQs; any context. */
bool rove_cq_poll(struct rove_cq *cq, struct rove_cqe *cqe);
int rove_cq_arm(struct rove_cq *cq, enum ib_cq_notify_flags flags);

/* Module init and exit. */
int rove_cq_init(void);
void rove_cq_exit(void);

#endif /* ROVE_OBJ_CQ_H */
