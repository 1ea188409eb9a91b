// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cqe.h"

#define ARM_SOLICITED	1U
#define ARM_SHIFT	1
#define ARM_COUNT_MASK	(0xffffffffU >> ARM_SHIFT)

static_assert(sizeof(struct rove_cq_hdr) == ROVE_CQ_ENTRIES, "CQ header");
static_assert(sizeof(struct rove_cqe) == 64, "CQE");
static_assert(offsetof(struct rove_cqe, seq) == 60, "CQE: seq is last");

void rove_cq_ring_init(struct rove_cq_ring *r, void *area, u32 entries)
{
	r->hdr = area;
	r->cqe = area + ROVE_CQ_ENTRIES;
	r->mask = entries - 1;
	r->head = 0;
	r->armed = 0;
}

bool rove_cq_ring_put(struct rove_cq_ring *r, const struct rove_cqe *cqe)
{
	struct rove_cqe *slot = &r->cqe[r->head & r->mask];

	/* A consumer that claims to be ahead of us gets nothing either. */
	if (r->head - smp_load_acquire(&r->hdr->cons) > r->mask)
		return false;

	memcpy(slot, cqe, offsetof(struct rove_cqe, seq));
	r->head++;
	smp_store_release(&slot->seq, r->head);		/* (C) */
	WRITE_ONCE(r->hdr->prod, r->head);
	return true;
}

bool rove_cq_ring_fire(struct rove_cq_ring *r, bool solicited)
{
	u32 arm;

	smp_mb();					/* (D) */
	arm = READ_ONCE(r->hdr->arm);
	if (arm >> ARM_SHIFT == r->armed)
		return false;
	if ((arm & ARM_SOLICITED) && !solicited)
		return false;

	r->armed = arm >> ARM_SHIFT;
	WRITE_ONCE(r->hdr->fired, r->armed);
	return true;
}

bool rove_cq_ring_is_armed(const struct rove_cq_ring *r)
{
	return READ_ONCE(r->hdr->arm) >> ARM_SHIFT != r->armed;
}

bool rove_cq_ring_move(struct rove_cq_ring *r, void *area, u32 entries)
{
	struct rove_cq_ring to;
	u32 i, n;

	/* What the consumer says of its index is hostile. */
	n = r->head - READ_ONCE(r->hdr->cons);
	n = min(n, r->mask + 1);
	if (n > entries)
		return false;

	rove_cq_ring_init(&to, area, entries);
	/* Zero is what the consumer waits for there, before the indices begin anew. */
	to.cqe[to.mask].seq = r->head - n;
	for (i = r->head - n; i != r->head; i++)
		to.cqe[i & to.mask] = r->cqe[i & r->mask];
	to.hdr->cons = r->head - n;
	to.hdr->arm = READ_ONCE(r->hdr->arm);
	to.hdr->prod = r->head;
	to.hdr->fired = r->armed;
	to.head = r->head;
	to.armed = r->armed;
	*r = to;
	return true;
}

const struct rove_cqe *rove_cq_ring_peek(const struct rove_cq_ring *r)
{
	const struct rove_cqe *slot = &r->cqe[r->head & r->mask];

	/* (C) */
	return smp_load_acquire(&slot->seq) == r->head + 1 ? slot : NULL;
}

void rove_cq_ring_release(struct rove_cq_ring *r)
{
	r->head++;
	/* The module may write the slot again: what was read of it was read before. */
	smp_store_release(&r->hdr->cons, r->head);
}

bool rove_cq_ring_arm(struct rove_cq_ring *r, bool solicited)
{
	/*
	 * A request for any completion that was not answered yet stays one.
	 * Should the answer be on its way, the next one comes early: harmless.
	 */
	if (r->armed != READ_ONCE(r->hdr->fired) &&
	    !(READ_ONCE(r->hdr->arm) & ARM_SOLICITED))
		solicited = false;

	r->armed = (r->armed + 1) & ARM_COUNT_MASK;
	WRITE_ONCE(r->hdr->arm, r->armed << ARM_SHIFT | (solicited ? ARM_SOLICITED : 0));
	smp_mb();					/* (D) */
	return rove_cq_ring_peek(r);
}
