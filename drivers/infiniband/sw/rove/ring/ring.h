/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work queues shared with user space: user space (or, for the kernel's own
 * QPs, verbs/post.c) produces, the module consumes. Both indices run freely
 * over 32 bits and are masked on use.
 *
 *   producer                         consumer
 *
 *   if (prod - LOAD.acq cons < n) {  if (LOAD.acq prod != head) {  (B)
 *      WRITE slot            (A)        COPY slot
 *      STORE.rel prod        (B)        head++
 *   }                                   STORE.rel cons             (A)
 *                                    }
 *
 * (A) pairs with (A): a slot is not written again before the copy of it was
 * made. (B) pairs with (B): a slot is not read before it was written.
 *
 * The consumer keeps head in private memory and believes nothing else: prod
 * may hold any value, at most a ring full of entries is taken from it.
 */
#ifndef ROVE_RING_RING_H
#define ROVE_RING_RING_H

#include "../base.h"

struct rove_ring {
	u32 *prod;		/* shared; written by the producer */
	u32 *cons;		/* shared; written by the consumer */
	u8 *slots;
	u32 mask;		/* entries - 1 */
	u32 stride;		/* bytes */
	u32 head;		/* private: next entry to produce or to consume */
};

static inline void rove_ring_init(struct rove_ring *r, u32 *prod, u32 *cons,
				  void *slots, u32 entries, u32 stride)
{
	r->prod = prod;
	r->cons = cons;
	r->slots = slots;
	r->mask = entries - 1;
	r->stride = stride;
	r->head = 0;
}

static inline void *rove_ring_slot(const struct rove_ring *r, u32 index)
{
	return r->slots + (size_t)(index & r->mask) * r->stride;
}

/* Consumer: entries that may be read, 0 to mask + 1. */
static inline u32 rove_ring_pending(const struct rove_ring *r)
{
	u32 n = smp_load_acquire(r->prod) - r->head;	/* (B) */

	return n > r->mask + 1 ? r->mask + 1 : n;
}

/* Consumer: the entry at head was copied. */
static inline void rove_ring_release(struct rove_ring *r)
{
	r->head++;
	smp_store_release(r->cons, r->head);		/* (A) */
}

/* Producer: entries that may be written. */
static inline u32 rove_ring_space(const struct rove_ring *r)
{
	u32 used = r->head - smp_load_acquire(r->cons);	/* (A) */

	return used > r->mask + 1 ? 0 : r->mask + 1 - used;
}

/* Producer: make all entries before @head visible. */
static inline void rove_ring_submit(struct rove_ring *r)
{
	smp_store_release(r->prod, r->head);		/* (B) */
}

#endif /* ROVE_RING_RING_H */
