// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Links, and a switch that has one memory for the queues of all its ports. A port gets
 * as much of it as is free, so that one that is overrun leaves room for the others.
 */
#include "scale.h"

/* Preamble, Ethernet, FCS, gap; IPv4, UDP. */
#define AROUND		(8 + 14 + 4 + 12 + 20 + 8)

static u64 duration(const struct scale *s, u64 bytes)
{
	return bytes * 8000 / s->conf.rate;
}

/* Bytes that wait before @link. */
static u64 backlog(const struct scale *s, const struct link *link)
{
	return link->free_at > s->now ? (link->free_at - s->now) * s->conf.rate / 8000 : 0;
}

static void enqueue(struct scale *s, struct link *link, struct packet *p)
{
	u64 from = max(link->free_at, s->now);

	link->free_at = from + duration(s, p->len + AROUND);
	link->sent++;
	p->at = link->free_at + s->conf.delay;
	p->next = NULL;
	if (link->head)
		link->tail->next = p;
	else
		link->head = p;
	link->tail = p;
	if (!link->arrival.place)
		heap_put(&s->heap, &link->arrival, link->head->at);
}

bool fabric_send(struct scale *s, u32 from, struct packet *p)
{
	struct link *link = &s->up[from];

	if (backlog(s, link) + p->len > s->conf.backlog * 1024ULL) {
		link->dropped++;
		return false;
	}
	enqueue(s, link, p);
	return true;
}

static bool admit(const struct scale *s, u32 port, u32 len)
{
	u64 room = s->conf.buffer * 1024ULL, used = 0;
	u32 i;

	for (i = 0; i < s->conf.hosts; i++)
		used += backlog(s, &s->down[i]);
	return used + len <= room && backlog(s, &s->down[port]) + len <= room - used;
}

static void forward(struct scale *s, struct packet *p)
{
	struct link *link = &s->down[p->host];

	if (!admit(s, p->host, p->len)) {
		link->dropped++;
		free(p);
		return;
	}
	enqueue(s, link, p);
}

static bool lost(struct scale *s)
{
	return s->conf.loss && rand_next(&s->rng) % 1000000 < s->conf.loss;
}

void fabric_arrived(struct scale *s, struct link *link)
{
	struct packet *p = link->head;

	link->head = p->next;
	if (link->head)
		heap_put(&s->heap, &link->arrival, link->head->at);
	if (lost(s)) {
		s->lost++;
		free(p);
	} else if (link < s->up + s->conf.hosts && link >= s->up) {
		forward(s, p);
	} else {
		half_receive(s, p);
	}
}
