/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues: the module produces, user space (or ib_poll_cq()) consumes.
 *
 *   module                           consumer
 *
 *   WRITE cqe                        if (LOAD.acq cqe.seq == cons + 1)  (C)
 *   STORE.rel cqe.seq        (C)        COPY cqe
 *   FULL BARRIER             (D)        cons++
 *   LOAD arm                 (D)        STORE.rel hdr.cons
 *                                    ...
 *                                    WRITE arm                       (D)
 *                                    FULL BARRIER                    (D)
 *                                    poll once more
 *
 * (C) pairs with (C): a completion is read only when it is whole. (D) pairs with
 * (D): either the module sees the arming, or the consumer sees the completion.
 */
#ifndef ROVE_RING_CQE_H
#define ROVE_RING_CQE_H

#include <rdma/rove-abi.h>
#include "../base.h"

struct rove_cq_ring {
	struct rove_cq_hdr *hdr;	/* shared */
	struct rove_cqe *cqe;		/* shared */
	u32 mask;			/* entries - 1 */
	u32 head;			/* private: next to produce or to consume */
	u32 armed;			/* private: consumer: times armed; module: last
					 * arming that was answered
					 */
};

/* @area: ROVE_CQ_ENTRIES + entries * sizeof(struct rove_cqe) bytes. */
void rove_cq_ring_init(struct rove_cq_ring *r, void *area, u32 entries);

/**
 * rove_cq_ring_put() - module: write a completion
 * @cqe: seq is filled in here
 *
 * Return: false when the consumer has left no room (what it says of its index is
 * hostile: a wrong one makes it lose its own entries or overflow, no more).
 */
bool rove_cq_ring_put(struct rove_cq_ring *r, const struct rove_cqe *cqe);

/**
 * rove_cq_ring_fire() - module: after a put, is the consumer to be told?
 * @solicited: the completion is a solicited one or an error
 *
 * True once for each arming.
 */
bool rove_cq_ring_fire(struct rove_cq_ring *r, bool solicited);

/* Module: the consumer has asked to be told, and was not told yet. A hint. */
bool rove_cq_ring_is_armed(const struct rove_cq_ring *r);

/**
 * rove_cq_ring_move() - module: go on in another area
 * @area: zeroed; of @entries
 *
 * The consumer stands still. What it has not taken moves along, and so does an
 * arming that was not answered.
 *
 * Return: false, with nothing done, when there is more than @entries.
 */
bool rove_cq_ring_move(struct rove_cq_ring *r, void *area, u32 entries);

/* Consumer: the next completion, in place, or NULL. */
const struct rove_cqe *rove_cq_ring_peek(const struct rove_cq_ring *r);

/* Consumer: what was peeked at has been copied. */
void rove_cq_ring_release(struct rove_cq_ring *r);

/**
 * rove_cq_ring_arm() - consumer: ask to be told of the next completion
 *
 * Return: true when a completion is there already (IB_CQ_REPORT_MISSED_EVENTS).
 */
bool rove_cq_ring_arm(struct rove_cq_ring *r, bool solicited);

#endif /* ROVE_RING_CQE_H */
