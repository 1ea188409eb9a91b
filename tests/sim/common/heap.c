// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "common/heap.h"

static bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void settle(struct heap *h, u32 i, struct event *e)
{
	h->slots[i] = e;
	e->place = i + 1;
}

static void rise(struct heap *h, u32 i, struct event *e)
{
	for (; i && before(e, h->slots[(i - 1) / 2]); i = (i - 1) / 2)
		settle(h, i, h->slots[(i - 1) / 2]);
	settle(h, i, e);
}

static void sink(struct heap *h, u32 i, struct event *e)
{
	u32 c;

	while ((c = 2 * i + 1) < h->num) {
		if (c + 1 < h->num && before(h->slots[c + 1], h->slots[c]))
			c++;
		if (!before(h->slots[c], e))
			break;
		settle(h, i, h->slots[c]);
		i = c;
	}
	settle(h, i, e);
}

void heap_put(struct heap *h, struct event *e, u64 at)
{
	u32 i = e->place - 1;

	e->at = at;
	e->order = h->order++;
	if (e->place) {
		if (i && before(e, h->slots[(i - 1) / 2]))
			rise(h, i, e);
		else
			sink(h, i, e);
		return;
	}
	if (h->num == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->slots = realloc(h->slots, h->room * sizeof(struct event *));
	}
	rise(h, h->num++, e);
}

struct event *heap_take(struct heap *h)
{
	struct event *first = h->slots[0], *last = h->slots[--h->num];

	if (h->num)
		sink(h, 0, last);
	first->place = 0;
	return first;
}
