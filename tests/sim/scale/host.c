// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A host: one CPU, which serves the machines that have something to do, in turn. */
#include "scale.h"

#define WAKE_NS		1000	/* from an interrupt to a turn */
#define PACKET_NS	100	/* of CPU time, of each packet sent */

void host_wake(struct scale *s, struct half *h)
{
	struct host *host = &s->hosts[h->host];

	if (h->queued)
		return;
	h->queued = true;
	h->next = NULL;
	if (host->head)
		host->tail->next = h;
	else
		host->head = h;
	host->tail = h;
	if (!host->turn.place)
		heap_put(&s->heap, &host->turn, s->now + WAKE_NS);
}

void host_turn(struct scale *s, struct host *host)
{
	struct half *h = host->head;
	u32 sent;

	if (!h)
		return;
	host->head = h->next;
	h->queued = false;
	/* What wakes up meanwhile does not set the time of the next turn. */
	heap_put(&s->heap, &host->turn, s->now + WAKE_NS);
	sent = half_turn(s, h);
	if (host->head)
		heap_put(&s->heap, &host->turn, s->now + WAKE_NS + (u64)sent * PACKET_NS);
}
