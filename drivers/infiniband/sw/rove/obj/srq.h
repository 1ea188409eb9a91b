/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues. Many QPs take from one, on several CPUs at once, so the
 * consumer side has a lock, which QPs with a receive queue of their own do not
 * know. A work request belongs to the QP that took it; its slot is free then.
 */
#ifndef ROVE_OBJ_SRQ_H
#define ROVE_OBJ_SRQ_H

#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "../proto/fault.h"
#include "../ring/ring.h"
#include "../ring/wqe.h"

struct rove_area;
struct rove_cq;
struct rove_dev;

struct rove_srq {
	/* constant after creation */
	struct rove_dev *dev;
	struct ib_srq *ib;		/* shell; valid until destroy has begun */
	struct ib_pd *pd;		/* what its SGEs are checked against */
	bool user;
	u32 max_sge;
	u32 stride;
	/* XRC: target QPs find it by number; else NULL and 0 */
	struct ib_xrcd *xrcd;		/* compared only */
	struct rove_cq *cq;
	u32 srqn;

	spinlock_t lock;		/* BH off */
	struct rove_ring ring;		/* consumer side; under lock */
	u32 limit;			/* 0: not armed; under lock */
	bool dead;			/* destroy has begun; under lock */
	struct tasklet_struct tasklet;	/* tells that the limit was reached */

	spinlock_t post_lock;		/* irqsave, inside lock */
	struct rove_ring prod;		/* producer side of a kernel SRQ; under post_lock */

	struct mutex mutex;		/* changes of what follows */
	struct rove_area *mem;		/* rove_srq_hdr, slots */
	u32 entries;
	struct rove_area *next_mem;	/* a resize was prepared, or NULL */
	u32 next_entries;
	struct rcu_head rcu;
};

/* What the core sees; it frees this right after destroy_srq. */
struct rove_ibsrq {
	struct ib_srq ib;
	struct rove_srq *srq;
	struct rdma_user_mmap_entry *mmap;	/* verbs/ */
	struct rdma_user_mmap_entry *next_mmap;
};

static inline struct rove_srq *rove_srq_of(struct ib_srq *ib)
{
	return container_of(ib, struct rove_ibsrq, ib)->srq;
}

/**
 * rove_srq_create() - an empty SRQ
 * @init: max_wr and max_sge are updated to what was made; a limit is not set here
 * @user: rings are filled by a process
 *
 * Sleeps. Return: the SRQ or an ERR_PTR (-EINVAL, -ENOMEM).
 */
struct rove_srq *rove_srq_create(struct rove_dev *dev, struct ib_pd *pd, struct ib_srq *ib,
				 struct ib_srq_init_attr *init, bool user);

/* No QP was made with it any more. No event is told after this. Sleeps. */
void rove_srq_destroy(struct rove_srq *srq);

/*
 * That of an XRC domain, by number, or NULL. RCU held; it gives no work request when it
 * is being destroyed.
 */
struct rove_srq *rove_srq_find(struct ib_xrcd *xrcd, u32 srqn);

/**
 * rove_srq_take() - the owner of a responder half wants a work request
 * @wqe:   room for max_sge SGEs
 * @empty: set if there is none
 *
 * BH off.
 */
enum rove_fault rove_srq_take(struct rove_srq *srq, struct rove_rwqe *wqe, bool *empty);

/*
 * Resizing: prepare allocates, commit moves what is posted. Both need mutex. -EINVAL:
 * @max_wr is out of range, less than what is posted, or less than the limit; then
 * and with -ENOMEM nothing has changed. The memory that was replaced is put.
 */
int rove_srq_prepare(struct rove_srq *srq, u32 max_wr);
int rove_srq_commit(struct rove_srq *srq);

/* Ask for one event when fewer than @limit are left; 0: do not. */
int rove_srq_set_limit(struct rove_srq *srq, u32 limit);

int rove_srq_init(void);
void rove_srq_exit(void);

#endif /* ROVE_OBJ_SRQ_H */
