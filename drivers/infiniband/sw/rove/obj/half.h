/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ownership of one half of a QP: one word, as NAPI has it.
 *
 * Leave work (a bit, a packet), then rove_half_own(): either the half is yours
 * and you do it, or its owner was told to look again. Only with BH off.
 */
#ifndef ROVE_OBJ_HALF_H
#define ROVE_OBJ_HALF_H

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/lockdep.h>
#include "qp.h"

#define ROVE_HALF_OWNED		1
#define ROVE_HALF_MISSED	2

/* True: the half is the caller's. False: its owner will look again. */
static inline bool rove_half_own(struct rove_half *h)
{
	int old = atomic_read(&h->word), new;

	do {
		new = old | ROVE_HALF_OWNED;
		if (old & ROVE_HALF_OWNED)
			new |= ROVE_HALF_MISSED;
	} while (!atomic_try_cmpxchg(&h->word, &old, new));
	return !(old & ROVE_HALF_OWNED);
}

/* The same, but leave no trace if it is busy. */
static inline bool rove_half_try_own(struct rove_half *h)
{
	int old = 0;

	return atomic_try_cmpxchg(&h->word, &old, ROVE_HALF_OWNED);
}

/* False: work was left meanwhile; the half is still the caller's. */
static inline bool rove_half_disown(struct rove_half *h)
{
	int old = ROVE_HALF_OWNED;

	rove_mr_forget(&h->mrs);
	if (atomic_try_cmpxchg(&h->word, &old, 0))
		return true;
	atomic_fetch_andnot(ROVE_HALF_MISSED, &h->word);
	return false;
}

#endif /* ROVE_OBJ_HALF_H */
