// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The network: a heap of packets under way, by time of arrival. */
#include "sim.h"
#include "wire/build.h"
#include "wire/opcode.h"

static bool before(const struct packet *a, const struct packet *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct world *w, struct packet *p)
{
	u32 i = w->heap_num++;

	if (w->heap_num > w->heap_room) {
		w->heap_room = w->heap_room ? 2 * w->heap_room : 64;
		w->heap = realloc(w->heap, w->heap_room * sizeof(*w->heap));
	}
	for (; i && before(p, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = p;
}

static struct packet *pop(struct world *w)
{
	struct packet *top = w->heap[0], *p = w->heap[--w->heap_num];
	u32 i = 0, c;

	while ((c = 2 * i + 1) < w->heap_num) {
		if (c + 1 < w->heap_num && before(w->heap[c + 1], w->heap[c]))
			c++;
		if (!before(w->heap[c], p))
			break;
		w->heap[i] = w->heap[c];
		i = c;
	}
	w->heap[i] = p;
	return top;
}

u64 wire_next_at(const struct world *w)
{
	return w->heap_num ? w->heap[0]->at : 0;
}

struct packet *wire_next(struct world *w, u64 until)
{
	return w->heap_num && w->heap[0]->at <= until ? pop(w) : NULL;
}

static u64 arrival(struct world *w, struct wire *wire)
{
	u64 at = w->now + wire->delay + (wire->jitter ? sim_rand(w) % wire->jitter : 0);

	if (sim_chance(w, wire->reorder))
		return at + sim_rand(w) % (4 * wire->delay);
	if (at < wire->last)
		at = wire->last;
	wire->last = at;
	return at;
}

bool wire_send(struct node *from, struct rove_seg *seg, const u8 *payload)
{
	struct world *w = from->world;
	struct wire *wire = from->out;
	u8 hdr[ROVE_MAX_HDR];
	u32 copies = 1, hlen;
	struct packet *p;

	hlen = rove_build(hdr, &seg->pkt);
	w->packets++;
	trace(from, "> op %02x psn %06x len %u%s%s", seg->pkt.opcode, seg->pkt.psn, seg->pkt.len,
	      seg->pkt.ackreq ? " ackreq" : "", seg->resend ? " again" : "");
	if ((seg->pkt.opcode & ROVE_OP_MASK) == ROVE_OP_ACK)
		trace(from, "  syndrome %02x msn %x", seg->pkt.syndrome, seg->pkt.msn);
	if (wire->dead_at && w->now >= wire->dead_at)
		return false;
	if (sim_chance(w, wire->loss) || sim_chance(w, wire->corrupt)) {
		trace(from, "  lost");
		return false;
	}
	if (sim_chance(w, wire->dup))
		copies++;
	while (copies--) {
		p = malloc(sizeof(*p) + hlen + seg->pkt.len + seg->pkt.pad + ROVE_ICRC_LEN);
		p->at = arrival(w, wire);
		p->order = w->order++;
		p->to = from->peer;
		p->len = hlen + seg->pkt.len + seg->pkt.pad + ROVE_ICRC_LEN;
		memcpy(p->bytes, hdr, hlen);
		if (seg->pkt.len)
			memcpy(p->bytes + hlen, payload, seg->pkt.len);
		memset(p->bytes + hlen + seg->pkt.len, 0, seg->pkt.pad + ROVE_ICRC_LEN);
		push(w, p);
	}
	return true;
}
