/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What is still to happen, the earliest first. */
#ifndef ROVE_TESTS_HEAP_H
#define ROVE_TESTS_HEAP_H

#include "base.h"

/* A member of whatever happens. */
struct event {
	u64 at;
	u64 order;		/* of two with the same time the one put in first is first */
	u32 place;		/* in the heap, from 1 on; 0: not in it */
	u32 kind;		/* its owner's affair */
};

struct heap {
	struct event **slots;
	u32 num;
	u32 room;
	u64 order;
};

/* @e happens at @at; it may be in the heap already. */
void heap_put(struct heap *h, struct event *e, u64 at);

/* The earliest one, or NULL; it stays. */
static inline struct event *heap_first(const struct heap *h)
{
	return h->num ? h->slots[0] : NULL;
}

/* Takes the earliest one out; there is one. */
struct event *heap_take(struct heap *h);

#endif /* ROVE_TESTS_HEAP_H */
