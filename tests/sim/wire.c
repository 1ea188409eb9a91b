// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The network between two nodes. */
#include "sim.h"
#include "wire/build.h"
#include "wire/opcode.h"

u64 wire_next_at(const struct world *w)
{
	const struct event *first = heap_first(&w->under_way);

	return first ? first->at : 0;
}

struct packet *wire_next(struct world *w, u64 until)
{
	const struct event *first = heap_first(&w->under_way);

	return first && first->at <= until ? (struct packet *)heap_take(&w->under_way) : NULL;
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

static struct packet *make_packet(struct node *from, const struct rove_seg *seg, const u8 *hdr,
				  u32 hlen, const u8 *payload)
{
	u32 len = hlen + seg->pkt.len + seg->pkt.pad + ROVE_ICRC_LEN;
	struct packet *p = malloc(sizeof(*p) + len);

	p->arrival.place = 0;
	p->to = from->peer;
	p->len = len;
	memcpy(p->bytes, hdr, hlen);
	if (seg->pkt.len)
		memcpy(p->bytes + hlen, payload, seg->pkt.len);
	memset(p->bytes + hlen + seg->pkt.len, 0, seg->pkt.pad + ROVE_ICRC_LEN);
	return p;
}

bool wire_send(struct node *from, struct rove_seg *seg, const u8 *payload)
{
	struct world *w = from->world;
	struct wire *wire = from->out;
	u8 hdr[ROVE_MAX_HDR];
	u32 copies = 1, hlen;
	struct packet *p;

	w->packets++;
	trace(from, "> op %02x psn %06x len %u%s%s", seg->pkt.opcode, seg->pkt.psn, seg->pkt.len,
	      seg->pkt.ackreq ? " ackreq" : "", seg->resend ? " again" : "");
	if ((seg->pkt.opcode & ROVE_OP_MASK) == ROVE_OP_ACK)
		trace(from, "  syndrome %02x msn %x", seg->pkt.syndrome, seg->pkt.msn);
	if (from->calls) {
		node_take(from->peer, &seg->pkt, payload);
		return true;
	}
	sim_dirty(&hdr);
	hlen = rove_build(hdr, &seg->pkt);
	if (wire->dead_at && w->now >= wire->dead_at)
		return false;
	if (sim_chance(w, wire->loss) || sim_chance(w, wire->corrupt)) {
		trace(from, "  lost");
		return false;
	}
	if (sim_chance(w, wire->dup))
		copies++;
	while (copies--) {
		p = make_packet(from, seg, hdr, hlen, payload);
		heap_put(&w->under_way, &p->arrival, arrival(w, wire));
	}
	return true;
}
