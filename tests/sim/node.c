// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A node: the driver around the two machines, as drivers/infiniband/sw/rove/obj
 * is in the kernel, its memory, and an application that looks at everything.
 */
#include "sim.h"
#include "wire/opcode.h"
#include "wire/parse.h"
#include "wire/psn.h"

#define LATE	(20 * US)	/* how much later than asked a timer may come */
#define BATCH	24		/* packets in one turn, at most */

/* ---- memory -------------------------------------------------------------- */

/* SGE addresses are offsets into the message's buffer, the lkey is its number. */
static enum rove_fault find_sge(struct node *n, const struct rove_sge *sge, u8 **p)
{
	const struct msg *m;

	if (sge->lkey >= n->num)
		return ROVE_FAULT_LOCAL_PROT;
	m = &n->msgs[sge->lkey];
	CHECK(sge->addr + sge->length <= m->len, "SGE outside of its buffer");
	*p = m->buf + sge->addr;
	return ROVE_FAULT_NONE;
}

enum rove_fault node_copy_sges(struct node *n, const struct rove_swqe *w, u32 off, u8 *p, u32 len,
			       bool in)
{
	enum rove_fault fault;
	u32 i, part;
	u8 *buf;

	CHECK((u64)off + len <= w->length, "bytes %u+%u of a message of %u", off, len, w->length);
	for (i = 0; len; i++) {
		const struct rove_sge *sge = &w->sge[i];

		CHECK(i < w->sqe.num, "SGE %u of %u", i, w->sqe.num);
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		fault = find_sge(n, sge, &buf);
		if (fault)
			return fault;
		part = min(len, sge->length - off);
		if (in)
			memcpy(buf + off, p, part);
		else
			memcpy(p, buf + off, part);
		p += part;
		len -= part;
		off = 0;
	}
	return ROVE_FAULT_NONE;
}

u8 *node_find_mr(struct node *n, u32 rkey, u64 va, u64 len, bool write)
{
	u64 off = va - BASE_VA;

	if (rkey == RO_KEY && !write && off + len <= RO_LEN)
		return n->ro + off;
	if (rkey == RW_KEY && off + len <= RW_LEN)
		return n->rw + off;
	return NULL;
}

/* Memory that is there the next time, or the time after that. */
bool node_absent(struct node *n)
{
	return sim_chance(n->world, n->world->absent);
}

/* ---- application --------------------------------------------------------- */

static void read_wqe(struct node *n, struct msg *m, struct rove_swqe *w)
{
	struct {
		struct rove_sqe sqe;
		union {
			struct rove_sge sge[4];
			u8 data[MAX_INLINE];
		};
	} slot = {};
	u32 i, part, left = m->len, id = m - n->msgs;

	slot.sqe.wr_id = id;
	slot.sqe.opcode = m->bad_wqe ? 99 : m->op;
	slot.sqe.flags = m->flags;
	slot.sqe.imm = m->imm;
	if (m->op == ROVE_WR_FLUSH) {
		slot.sqe.flush.addr = m->va;
		slot.sqe.flush.rkey = m->rkey;
		slot.sqe.flush.length = 16;
		slot.sqe.flush.type = 1;
	} else if (m->op == ROVE_WR_ATOMIC_WRITE) {
		slot.sqe.atomic.addr = m->va;
		slot.sqe.atomic.rkey = m->rkey;
		memcpy(&slot.sqe.atomic.compare_add, m->buf, m->len);
	} else if (msg_is(m, ROVE_WQEP_ATOMIC)) {
		slot.sqe.atomic.addr = m->va;
		slot.sqe.atomic.rkey = m->rkey;
		slot.sqe.atomic.compare_add = m->compare_add;
		slot.sqe.atomic.swap = m->swap;
	} else if (msg_is(m, ROVE_WQEP_WRITE | ROVE_WQEP_READ)) {
		slot.sqe.rdma.addr = m->va;
		slot.sqe.rdma.rkey = m->rkey;
	}
	if (n->limits.xrc)
		slot.sqe.rdma.srqn = SRQN;
	if (m->flags & ROVE_WR_INLINE) {
		slot.sqe.num = m->len;
		memcpy(slot.data, m->buf, m->len);
	} else {
		slot.sqe.num = m->sges;
		for (i = 0; i < m->sges; i++) {
			part = i + 1 == m->sges ? left : sim_below(n->world, left + 1);
			slot.sge[i].addr = m->len - left;
			slot.sge[i].length = part;
			slot.sge[i].lkey = id;
			left -= part;
		}
		if (m->bad_lkey)
			for (i = 0; i < m->sges; i++)
				slot.sge[i].lkey = 0xbad;
	}
	rove_wqe_read_send(w, &slot, &n->limits);
}

static void post_sends(struct node *n)
{
	struct world *w = n->world;
	u32 burst = 1 + sim_below(w, 12);
	struct rove_swqe *swqe;

	if (w->now < n->post_at)
		return;
	while (n->posted < n->num && burst--) {
		swqe = rove_req_slot(&n->req);
		if (!swqe)
			break;
		read_wqe(n, &n->msgs[n->posted], swqe);
		trace(n, "post %u", n->posted);
		n->posted++;
		rove_req_post(&n->req);
	}
	n->post_at = w->now + 1 + sim_below(w, 60) * US;
}

static void post_receives(struct node *n)
{
	struct world *w = n->world;
	u32 end = n->recv_num;

	if (w->now < n->recv_at || n->recv_posted == end)
		return;
	if (w->rnr) {
		/* Too few, and too late: see do_act(). */
		if (n->recv_posted != n->recv_taken)
			return;
		end = min(end, n->recv_posted + 1 + sim_below(w, 6));
	}
	if (n->peer->fail_with == ROVE_FAULT_RNR_RETRY)
		while (end && n->recv_msg[end - 1] >= n->peer->fail_at)
			end--;
	n->recv_posted = max(n->recv_posted, end);
}

static void check_send_done(struct node *n, const struct rove_req_comp *comp)
{
	u32 id = comp->wqe->sqe.wr_id;
	struct msg *m = &n->msgs[id];
	u32 i;

	CHECK(id == n->completed, "%s: message %u completes, %u was next", n->name, id,
	      n->completed);
	CHECK(comp->index == id + 1, "SQ index %u after message %u", comp->index, id);
	CHECK(comp->report == (comp->fault || (m->flags & ROVE_WR_SIGNALED)),
	      "message %u reports wrongly", id);
	n->completed++;
	trace(n, "message %u done, fault %u", id, comp->fault);
	if (n->failed) {
		CHECK(comp->fault == ROVE_FAULT_FLUSH, "message %u after the failure: fault %u", id,
		      comp->fault);
		return;
	}
	if (comp->fault) {
		u8 want = n->world->kind == DEAD ? ROVE_FAULT_RETRY : n->fail_with;

		CHECK(n->world->kind == DEAD || id == n->fail_at, "message %u: fault %u", id,
		      comp->fault);
		CHECK(comp->fault == want, "message %u: fault %u, not %u", id, comp->fault, want);
		n->failed = true;
		return;
	}
	CHECK(id != n->fail_at, "message %u did not fail", id);
	CHECK(m->executed == msg_is(m, ROVE_WQEP_LOCAL), "message %u done, not executed", id);
	for (i = 0; m->want && i < m->len; i++)
		CHECK(m->buf[i] == m->want[i], "%s: message %u: answer differs at byte %u", n->name,
		      id, i);
	/* The application uses the buffer for something else. */
	if (m->flags & ROVE_WR_SIGNALED && n->world->kind != UNRELIABLE)
		memset(m->buf, 0xdd, m->len);
}

/* UC: a message says which one it is; those that are missing were lost. */
static struct msg *find_arrived(struct node *n, const struct rove_resp_comp *comp, const u8 *buf)
{
	u32 id = comp->imm;

	if (!(comp->flags & ROVE_CQE_IMM))
		memcpy(&id, buf, sizeof(id));
	CHECK(id < n->peer->num && (s32)id > n->recv_last, "message %u after %d", id,
	      n->recv_last);
	n->recv_last = id;
	n->peer->msgs[id].arrived = true;
	return &n->peer->msgs[id];
}

static void check_receive(struct node *n, const struct rove_resp_comp *comp)
{
	u32 i, k = n->recv_done++;
	const struct msg *m;

	CHECK(k < n->recv_taken, "receive %u completes before it was taken", k);
	if (n->world->kind == UNRELIABLE) {
		m = find_arrived(n, comp, n->recv_buf[k]);
		for (i = 0; m->op == ROVE_WR_WRITE_IMM && i < m->len; i++)
			CHECK(n->rw[m->va - BASE_VA + i] == m->buf[i],
			      "WRITE with immediate: byte %u differs", i);
	} else {
		m = &n->peer->msgs[n->recv_msg[k]];
	}
	trace(n, "receive %u (message %u) done, fault %u", k, (u32)(m - n->peer->msgs),
	      comp->fault);
	if (comp->fault) {
		n->recv_fault = comp->fault;
		return;
	}
	CHECK(!n->recv_fault, "receive %u after one that failed", k);
	CHECK(comp->byte_len == m->len, "receive %u: %u bytes, not %u", k, comp->byte_len, m->len);
	CHECK(comp->solicited == !!(m->flags & ROVE_WR_SOLICITED), "receive %u: solicited", k);
	CHECK(comp->src_qp == n->resp.conf.dqpn, "receive %u: src_qp", k);
	CHECK(comp->recv == (m->op == ROVE_WR_WRITE_IMM ? ROVE_RECV_WRITE_IMM : ROVE_RECV_SEND),
	      "receive %u: opcode", k);
	CHECK(!(comp->flags & ROVE_CQE_IMM) ==
	      (m->op != ROVE_WR_SEND_IMM && m->op != ROVE_WR_WRITE_IMM), "receive %u: imm", k);
	if (comp->flags & (ROVE_CQE_IMM | ROVE_CQE_INV))
		CHECK(comp->imm == m->imm, "receive %u: imm %x, not %x", k, comp->imm, m->imm);
	CHECK((m->op == ROVE_WR_SEND_INV) == n->invalidated, "receive %u: invalidation", k);
	if (n->invalidated)
		CHECK(n->invalidated_key == m->imm, "receive %u: wrong key invalidated", k);
	n->invalidated = false;
	if (m->op != ROVE_WR_WRITE_IMM)
		for (i = 0; i < m->len; i++)
			CHECK(n->recv_buf[k][i] == m->buf[i], "receive %u: byte %u differs", k, i);
}

/* ---- the requester's driver ---------------------------------------------- */

/* From the WQEs alone, what the machine counts as it goes. */
void node_check_req(struct node *n)
{
	const struct rove_req *q = &n->req;
	u32 i, rd = 0, from, to, off;
	u64 bytes = 0;

	CHECK((s32)(q->acked - q->reaped) >= 0 && (s32)(q->send - q->acked) >= 0 &&
	      (s32)(q->begun - q->send) >= 0 && (s32)(q->post - q->begun) >= 0,
	      "%s: indices %u %u %u %u %u", n->name, q->reaped, q->acked, q->send, q->begun,
	      q->post);
	CHECK(rove_psn_diff(q->psn, q->una) >= 0 && rove_psn_diff(q->max_psn, q->psn) >= 0,
	      "%s: PSNs %06x %06x %06x", n->name, q->una, q->psn, q->max_psn);
	if (q->state != ROVE_REQ_RUN && q->state != ROVE_REQ_DRAIN)
		return;
	for (i = q->acked; i != q->send + !!q->send_off; i++) {
		const struct rove_swqe *w = rove_req_wqe(q, i);

		off = i == q->acked ? ((q->una - w->first_psn) & 0xffffff) * q->conf.pmtu : 0;
		from = min(off, w->length);
		to = i == q->send ? q->send_off : w->length;
		if (rove_wqe_is(w, ROVE_WQEP_LOCAL))
			CHECK(n->msgs[w->sqe.wr_id].executed, "%s: went past message %llu", n->name,
			      (unsigned long long)w->sqe.wr_id);
		else if (rove_wqe_is(w, ROVE_WQEP_DATA))
			bytes += to - from;
		else if (rove_wqe_is(w, ROVE_WQEP_READ) && to > from)
			rd += (to - 1) / q->conf.read_chunk - from / q->conf.read_chunk + 1;
		else if (to > from || !w->length)
			rd++;
	}
	CHECK(rd == q->rd_atomic, "%s: %u READs and atomics out, it says %u", n->name, rd,
	      q->rd_atomic);
	CHECK(rd <= q->conf.max_rd_atomic, "%s: %u READs and atomics out", n->name, rd);
	CHECK(bytes == q->send_bytes - q->una_bytes, "%s: %llu bytes out, it says %u", n->name,
	      (unsigned long long)bytes, q->send_bytes - q->una_bytes);
	CHECK(bytes <= q->conf.window || q->conf.type == ROVE_QPT_UC, "%s: %llu bytes out", n->name,
	      (unsigned long long)bytes);
	CHECK(q->una == q->max_psn || !q->conf.timeout || q->deadline, "%s: no timer", n->name);
}

void node_note_progress(struct node *n)
{
	if (n->una == n->req.una)
		return;
	n->una = n->req.una;
	n->progress_at = n->world->now;
}

enum rove_fault node_fill_request(struct node *n, const struct rove_seg *seg, u8 *payload)
{
	const struct rove_swqe *w = rove_req_wqe(&n->req, seg->wqe);
	u32 i;
	u8 *p;

	if (seg->source == ROVE_SEG_VALUE) {
		memcpy(payload, &w->sqe.atomic.compare_add, seg->pkt.len);
		return ROVE_FAULT_NONE;
	}
	if (seg->source == ROVE_SEG_WQE) {
		if (!(w->sqe.flags & ROVE_WR_INLINE))
			return node_copy_sges(n, w, seg->off, payload, seg->pkt.len, false);
		CHECK(seg->off + seg->pkt.len <= w->sqe.num, "inline bytes past the end");
		memcpy(payload, w->data + seg->off, seg->pkt.len);
		return ROVE_FAULT_NONE;
	}
	if (rove_wqe_is(w, ROVE_WQEP_SCATTER))
		for (i = 0; i < w->sqe.num; i++)
			if (w->sge[i].length && find_sge(n, &w->sge[i], &p))
				return ROVE_FAULT_LOCAL_PROT;
	return ROVE_FAULT_NONE;
}

static void check_fence(struct node *n, const struct rove_seg *seg)
{
	u32 i;

	if (!(rove_req_wqe(&n->req, seg->wqe)->sqe.flags & ROVE_WR_FENCE) || seg->off)
		return;
	for (i = n->req.acked; i != seg->wqe; i++)
		CHECK(!rove_wqe_is(rove_req_wqe(&n->req, i), ROVE_WQEP_RD),
		      "message %u went past the fence of %u", i, seg->wqe);
}

/* All that says what kind of packet it is, and where its payload comes from. */
static void check_seg(const struct node *n, const struct rove_seg *seg, u32 kind)
{
	const struct rove_pkt *pkt = &seg->pkt;

	CHECK(rove_opcode_info[pkt->opcode].flags & kind, "op %02x", pkt->opcode);
	CHECK(pkt->psn <= ROVE_PSN_MASK && pkt->len <= n->req.conf.pmtu, "psn %x len %u", pkt->psn,
	      pkt->len);
	CHECK(!pkt->len == (seg->source == ROVE_SEG_NONE), "%u bytes from source %u", pkt->len,
	      seg->source);
	if (kind == ROVE_OPF_REQUEST)
		CHECK(seg->source < ROVE_SEG_LOCAL && seg->source != ROVE_SEG_MR, "source %u",
		      seg->source);
	else
		CHECK(seg->source == ROVE_SEG_NONE || seg->source == ROVE_SEG_MR, "source %u",
		      seg->source);
	if (seg->source == ROVE_SEG_MR)
		CHECK(seg->srqn == (n->world->xrc ? SRQN : 0), "memory of SRQ %x", seg->srqn);
}

static void check_drop(u8 why)
{
	CHECK(why > ROVE_DROP_NONE && why < ROVE_DROP_REASONS, "dropped, reason %u", why);
}

static struct msg *msg_of(struct node *n, const struct rove_seg *seg)
{
	return &n->msgs[rove_req_wqe(&n->req, seg->wqe)->sqe.wr_id];
}

/* A message without packets: once, in its turn; what takes a key away after all others. */
static enum rove_fault execute(struct node *n, u32 wqe)
{
	const struct rove_req *q = &n->req;
	struct msg *m = &n->msgs[rove_req_wqe(q, wqe)->sqe.wr_id];

	CHECK(msg_is(m, ROVE_WQEP_LOCAL), "message %u is executed", wqe);
	CHECK(!m->executed, "message %u is executed twice", wqe);
	CHECK(wqe == q->begun && q->psn == q->max_psn, "message %u out of its turn", wqe);
	if (m->op == ROVE_WR_LOCAL_INV)
		CHECK(q->una == q->max_psn && q->acked == wqe, "message %u takes a key in use", wqe);
	if (m->bad_local)
		return ROVE_FAULT_MEMORY_OP;
	m->executed = true;
	trace(n, "execute %u", wqe);
	return ROVE_FAULT_NONE;
}

/* Return: true when there may be more to send. */
static bool send_requests(struct node *n)
{
	u32 budget = 1 + sim_below(n->world, BATCH);
	u8 payload[ROVE_MAX_PMTU];
	enum rove_fault fault;
	struct rove_seg seg;
	bool idle;

	while (budget--) {
		fault = ROVE_FAULT_NONE;
		if (span_give_request(n) || span_send_request(n, &fault))
			continue;
		idle = n->req.una == n->req.max_psn;
		sim_dirty(&seg);
		if (!rove_req_next(&n->req, n->world->now, &seg))
			return false;
		if (idle)
			n->progress_at = n->world->now;
		check_fence(n, &seg);
		if (seg.source == ROVE_SEG_LOCAL) {
			rove_req_executed(&n->req, &seg, execute(n, seg.wqe));
			continue;
		}
		check_seg(n, &seg, ROVE_OPF_REQUEST);
		if (!fault)
			fault = node_absent(n) ? ROVE_FAULT_PAGE :
						 node_fill_request(n, &seg, payload);
		if (fault) {
			rove_req_seg_failed(&n->req, &seg, fault);
			if (fault == ROVE_FAULT_PAGE)
				return true;
			continue;
		}
		if (sim_chance(n->world, n->out->local_drop)) {
			trace(n, "dropped here: psn %06x", seg.pkt.psn);
			rove_req_seg_dropped(&n->req, &seg, n->world->now);
			/* UC: sent again, or given up. */
			if (n->req.psn != seg.pkt.psn)
				msg_of(n, &seg)->lost = true;
			return false;
		}
		if (!wire_send(n, &seg, payload))
			msg_of(n, &seg)->lost = true;
	}
	return true;
}

/* What is copied when some of it is not there: the beginning. */
static enum rove_fault take_in(struct node *n, u32 wqe, u32 off, u8 *p, u32 len)
{
	const struct rove_swqe *w = rove_req_wqe(&n->req, wqe);

	if (node_absent(n)) {
		node_copy_sges(n, w, off, p, len / 2, true);
		return ROVE_FAULT_PAGE;
	}
	return node_copy_sges(n, w, off, p, len, true);
}

/* Return: false when it is to be given again. */
static bool take_response(struct node *n, const struct rove_pkt *pkt, const u8 *payload)
{
	enum rove_fault fault = ROVE_FAULT_NONE;
	struct rove_req_place place;
	struct rove_span span;

	sim_dirty(&place);
	if (span_is_used(n, pkt, &span) && rove_span_expect(&n->req, &span, &place)) {
		CHECK(place.len == pkt->len, "place %u bytes of %u", place.len, pkt->len);
		fault = take_in(n, place.wqe, place.off, (u8 *)payload, place.len);
		if (!fault) {
			rove_span_expected(&n->req, &span, n->world->now);
			return true;
		}
	}
	sim_dirty(&place);
	switch (rove_req_packet(&n->req, pkt, n->world->now, &place)) {
	case ROVE_REQ_DONE:
		break;
	case ROVE_REQ_DROP:
		check_drop(place.drop);
		trace(n, "  dropped, reason %u", place.drop);
		break;
	case ROVE_REQ_PLACE:
		CHECK(place.len == pkt->len, "place %u bytes of %u", place.len, pkt->len);
		if (!fault)
			fault = take_in(n, place.wqe, place.off, (u8 *)payload, place.len);
		rove_req_placed(&n->req, fault, n->world->now);
		break;
	case ROVE_REQ_PLACE_VALUE:
		CHECK(!place.off && place.len == sizeof(place.value), "place %u bytes", place.len);
		fault = take_in(n, place.wqe, 0, (u8 *)&place.value, sizeof(place.value));
		rove_req_placed(&n->req, fault, n->world->now);
		break;
	}
	return fault != ROVE_FAULT_PAGE;
}

static void receive_response(struct node *n, const struct rove_pkt *pkt, const u8 *payload)
{
	while (!take_response(n, pkt, payload))
		trace(n, "  later");
	node_note_progress(n);
}

/* ---- the responder's driver ---------------------------------------------- */

static enum rove_fault do_atomic(struct node *n, const struct rove_resp_act *act, u64 *value)
{
	u64 i = (act->va - BASE_VA) / 8;

	if (act->va & 7)
		return ROVE_FAULT_REQ_INVALID;
	if (act->rkey != COUNTER_KEY || i >= COUNTERS)
		return ROVE_FAULT_REQ_ACCESS;
	CHECK(act->op == ROVE_OP_FETCH_ADD || act->op == ROVE_OP_CMP_SWP, "atomic %02x", act->op);
	*value = n->counter[i];
	if (act->op == ROVE_OP_FETCH_ADD)
		n->counter[i] += act->swap_add;
	else if (n->counter[i] == act->compare)
		n->counter[i] = act->swap_add;
	return ROVE_FAULT_NONE;
}

static void do_act(struct node *n, const struct rove_resp_act *act, const u8 *payload,
		   struct rove_resp_result *res)
{
	u32 k = n->recv_taken, len = act->len;
	u8 *p;

	if (act->kind != ROVE_RESP_GET_RQE && act->kind != ROVE_RESP_INVALIDATE && node_absent(n)) {
		res->fault = ROVE_FAULT_PAGE;
		/* Some of a payload is copied then, nothing else is done. */
		if (act->kind != ROVE_RESP_PLACE_RQE && act->kind != ROVE_RESP_PLACE_MR)
			return;
		len /= 2;
	}
	switch (act->kind) {
	case ROVE_RESP_GET_RQE:
		res->empty = k == n->recv_posted;
		if (res->empty)
			break;
		res->len = n->recv_len[n->recv_taken++];
		if (n->recv_taken == n->recv_posted)
			n->recv_at = n->world->now + 1 + sim_below(n->world, 300) * US;
		break;
	case ROVE_RESP_PLACE_RQE:
		CHECK(k && k == n->recv_done + 1, "place into a receive that is not held");
		CHECK(act->off + act->len <= n->recv_len[k - 1], "past the end of a receive");
		memcpy(n->recv_buf[k - 1] + act->off, payload, len);
		break;
	case ROVE_RESP_PLACE_MR:
		p = node_find_mr(n, act->rkey, act->va, act->check_len, true);
		CHECK(act->len <= act->check_len, "writes more than it checks");
		if (p)
			memcpy(p, payload, len);
		else
			res->fault = ROVE_FAULT_REQ_ACCESS;
		break;
	case ROVE_RESP_CHECK_READ:
		if (!node_find_mr(n, act->rkey, act->va, act->check_len, false))
			res->fault = ROVE_FAULT_REQ_ACCESS;
		break;
	case ROVE_RESP_ATOMIC_WRITE:
	case ROVE_RESP_FLUSH:
		CHECK(act->kind != ROVE_RESP_FLUSH || (act->op == 1 && !act->whole), "flush %x",
		      act->op);
		p = node_find_mr(n, act->rkey, act->va, act->check_len, true);
		if (!p)
			res->fault = ROVE_FAULT_REQ_ACCESS;
		else if (act->kind == ROVE_RESP_ATOMIC_WRITE)
			memcpy(p, payload, act->len);
		break;
	case ROVE_RESP_ATOMIC:
		res->fault = do_atomic(n, act, &res->value);
		break;
	case ROVE_RESP_INVALIDATE:
		CHECK(!n->invalidated, "invalidates twice");
		n->invalidated = true;
		n->invalidated_key = act->rkey;
		break;
	default:
		CHECK(false, "act %u", act->kind);
	}
}

/* Return: true when it came too early. */
static bool receive_request(struct node *n, const struct rove_pkt *pkt, const u8 *payload)
{
	struct rove_resp_result res = {};
	struct rove_resp_comp comp;
	struct rove_resp_act act;
	struct rove_span span;
	enum rove_fault fault;

	do {
		fault = ROVE_FAULT_NONE;
		sim_dirty(&act);
		if (span_is_used(n, pkt, &span) && rove_span_accept(&n->resp, &span, &act)) {
			do_act(n, &act, payload, &res);
			fault = res.fault;
			if (!fault) {
				rove_span_accepted(&n->resp, &span);
				return false;
			}
		}
		sim_dirty(&act);
		rove_resp_packet(&n->resp, pkt, &act);
		while (act.kind > ROVE_RESP_LATER) {
			CHECK(!fault || act.kind == ROVE_RESP_PLACE_RQE ||
			      act.kind == ROVE_RESP_PLACE_MR, "act %u after a span", act.kind);
			res = (struct rove_resp_result){ .fault = fault };
			if (!fault)
				do_act(n, &act, payload, &res);
			sim_dirty(&act);
			rove_resp_result(&n->resp, &res, &act);
		}
		if (act.kind == ROVE_RESP_LATER)
			trace(n, "  later");
	} while (act.kind == ROVE_RESP_LATER);
	CHECK(act.kind <= ROVE_RESP_KEEP, "act %u", act.kind);
	if (act.kind == ROVE_RESP_DROP) {
		check_drop(act.drop);
		trace(n, "  dropped, reason %u", act.drop);
	}
	sim_dirty(&comp);
	while (rove_resp_reap(&n->resp, &comp)) {
		check_receive(n, &comp);
		sim_dirty(&comp);
	}
	return act.kind == ROVE_RESP_KEEP;
}

/* Return: true when there may be more to send. */
static bool send_responses(struct node *n)
{
	u32 budget = 1 + sim_below(n->world, BATCH);
	u8 payload[ROVE_MAX_PMTU];
	enum rove_fault fault;
	struct rove_seg seg;
	const u8 *p;

	while (budget--) {
		fault = ROVE_FAULT_NONE;
		if (span_give_answer(n) || span_send_answer(n, &fault))
			continue;
		sim_dirty(&seg);
		if (!rove_resp_next(&n->resp, &seg))
			return false;
		check_seg(n, &seg, ROVE_OPF_RESPONSE);
		if (seg.source == ROVE_SEG_MR) {
			p = node_find_mr(n, seg.rkey, seg.va, seg.pkt.len, false);
			CHECK(p, "response from memory that was not checked");
			if (fault || node_absent(n)) {
				rove_resp_seg_failed(&n->resp, &seg, ROVE_FAULT_PAGE);
				return true;
			}
			memcpy(payload, p, seg.pkt.len);
		}
		if (sim_chance(n->world, n->out->local_drop)) {
			trace(n, "dropped here: psn %06x", seg.pkt.psn);
			rove_resp_seg_dropped(&n->resp, &seg);
			return false;
		}
		wire_send(n, &seg, payload);
	}
	return true;
}

/* Return: true when it is a request that came too early. */
static bool take_packet(struct node *n, struct rove_pkt *pkt, const u8 *payload)
{
	CHECK(pkt->migreq && pkt->pkey == 0xffff && pkt->dqpn == n->peer->req.conf.dqpn, "BTH");
	if (n->world->kind == UNRELIABLE)
		CHECK(!pkt->ackreq && rove_opcode_info[pkt->opcode].flags & ROVE_OPF_REQUEST,
		      "UC: asks for an answer, or is one");
	trace(n, "< op %02x psn %06x len %u", pkt->opcode, pkt->psn, pkt->len);
	CHECK(((pkt->opcode & ROVE_TR_MASK) == ROVE_TR_XRC) == n->world->xrc, "transport");
	if (n->world->xrc)
		pkt->opcode &= ROVE_OP_MASK;
	if (rove_opcode_info[pkt->opcode].flags & ROVE_OPF_AETH)
		CHECK(pkt->msn <= n->peer->resp.msn, "MSN %x", pkt->msn);
	if (!(rove_opcode_info[pkt->opcode].flags & ROVE_OPF_REQUEST)) {
		receive_response(n, pkt, payload);
		return false;
	}
	CHECK(pkt->srqn == (n->world->xrc ? SRQN : 0), "SRQ number %x", pkt->srqn);
	return receive_request(n, pkt, payload);
}

static bool receive(struct node *n, const u8 *bytes, u32 len, struct rove_pkt *pkt)
{
	enum rove_drop why;

	sim_dirty(pkt);
	why = rove_parse(bytes, len, pkt);
	CHECK(!why, "packet does not parse: %u", why);
	return take_packet(n, pkt, bytes + pkt->hlen);
}

void node_receive(struct node *n, const struct packet *p)
{
	struct rove_pkt pkt;
	struct kept *k;

	if (receive(n, p->bytes, p->len, &pkt))
		keep_packet(n, pkt.psn, p->bytes, p->len);
	while ((k = keep_take(n))) {
		CHECK(!receive(n, k->bytes, k->len, &pkt), "kept packet %06x is early", k->psn);
		free(k);
	}
	node_check_req(n);
	n->turn_at = n->world->now;
}

/* As obj/samehost: there are no headers to be read, and nothing is kept. */
void node_take(struct node *n, const struct rove_pkt *sent, const u8 *payload)
{
	struct rove_pkt pkt = *sent;

	take_packet(n, &pkt, payload);
	node_check_req(n);
	n->turn_at = n->world->now;
}

/* ---- turns --------------------------------------------------------------- */

static void check_retry_time(struct node *n)
{
	const struct rove_req_conf *c = &n->req.conf;
	u64 least = (4096ULL << c->timeout) * (c->retry_cnt + 1);
	u64 took = n->world->now - n->progress_at, most = 0;
	u32 i;

	/* Doubled twice. */
	for (i = 0; i <= c->retry_cnt; i++)
		most += 4096ULL << (c->timeout + min(i, 2U));
	CHECK(took >= least, "%s: gave up after %llu ns, not %llu", n->name,
	      (unsigned long long)took, (unsigned long long)least);
	CHECK(took <= most + (c->retry_cnt + 1) * (LATE + 2 * US), "%s: gave up late", n->name);
}

static void to_error(struct node *n)
{
	struct rove_resp_comp comp;

	trace(n, "to ERR");
	n->in_error = true;
	rove_req_error(&n->req);
	rove_resp_error(&n->resp);
	while (rove_resp_reap(&n->resp, &comp))
		check_receive(n, &comp);
}

static void drain(struct node *n)
{
	u64 now = n->world->now;

	if (n->drain_at && now >= n->drain_at) {
		n->drain_at = 0;
		if (n->req.state == ROVE_REQ_RESET) {
			n->drain_at = now + 10 * US;
		} else {
			trace(n, "to SQD");
			rove_req_drain(&n->req);
		}
	}
	if (n->restart_at && now >= n->restart_at) {
		n->restart_at = 0;
		trace(n, "to RTS");
		if (!n->in_error)
			rove_req_start(&n->req);
	}
}

static void take_events(struct node *n)
{
	u32 events = rove_req_take_events(&n->req);

	CHECK(!(events & ~ROVE_QPE_SQ_DRAINED), "events %x", events);
	if (events) {
		CHECK(n->req.state == ROVE_REQ_DRAIN && n->req.acked == n->req.begun &&
		      n->req.una == n->req.max_psn, "drained, it says");
		CHECK(!n->drained++, "drained twice");
		trace(n, "drained");
		n->restart_at = n->world->now + 1 + sim_below(n->world, 100) * US;
	}
	events = rove_resp_take_events(&n->resp);
	CHECK(!(n->events & events), "event %x twice", events);
	n->events |= events;
}

static void count(u32 *sum, struct rove_tally *t)
{
	u32 i;

	for (i = 0; i < ROVE_TALLIES; i++)
		sum[i] += t->n[i];
	memset(t, 0, sizeof(*t));
}

void node_run(struct node *n)
{
	struct rove_req *q = &n->req;
	struct rove_req_comp comp;
	u64 now = n->world->now;
	bool more;
	u8 state;

	n->turn_at = 0;
	n->calls = n->world->near && sim_chance(n->world, n->world->near);
	drain(n);
	post_receives(n);
	/* A call takes no time in which the peer might have run for the first time. */
	if (n->calls) {
		post_receives(n->peer);
		keep_forget(n->peer);
	}
	state = q->state;
	rove_req_timer(q, now);
	if (q->state == ROVE_REQ_BROKEN && state != q->state)
		check_retry_time(n);
	post_sends(n);
	more = send_requests(n);
	rove_req_handed_over(q, now);
	more |= send_responses(n);
	node_check_req(n);
	sim_dirty(&comp);
	while (rove_req_reap(q, &comp)) {
		check_send_done(n, &comp);
		sim_dirty(&comp);
	}
	take_events(n);
	count(n->tally, &q->tally);
	count(n->tally, &n->resp.tally);
	/* What was dropped here is still owed, and nobody may ask for it again. */
	more |= q->broken || n->resp.broken;
	if ((q->broken || n->resp.broken) && !n->resp.saved_pending && !n->resp.nak_owed) {
		q->broken = false;
		n->resp.broken = false;
		if (!n->in_error)
			to_error(n);
		more = true;
	}
	if (more)
		n->turn_at = now + 1 + sim_below(n->world, 2000);
}

static u64 earlier(u64 a, u64 b)
{
	return !a || (b && b < a) ? b : a;
}

/* When node_run() has something to do without a packet coming in; 0: never. */
u64 node_wants_run(const struct node *n)
{
	u64 deadline = rove_req_deadline(&n->req);
	u64 at = n->turn_at;

	/* A timer is never exact; here it is always as late by. */
	if (deadline)
		at = earlier(at, deadline + (deadline & 1 ? LATE : 0));
	if (n->posted < n->num && rove_req_slot((struct rove_req *)&n->req))
		at = earlier(at, n->post_at);
	if (n->recv_posted < n->recv_num && n->recv_posted == n->recv_taken && n->world->rnr)
		at = earlier(at, n->recv_at);
	at = earlier(at, n->drain_at);
	return earlier(at, n->restart_at);
}

/* Nothing is left to be done, ever. */
bool node_at_rest(const struct node *n)
{
	struct rove_resp resp = n->resp;
	struct rove_req req = n->req;
	struct rove_seg seg;

	/* What was dropped here may be owed still, to a peer that did not ask again. */
	return rove_req_idle(&n->req) && !rove_req_deadline(&n->req) &&
	       !rove_req_next(&req, n->world->now, &seg) &&
	       (n->out->local_drop || !rove_resp_next(&resp, &seg)) &&
	       req.rd_atomic == 0 && req.send_bytes == req.una_bytes;
}
