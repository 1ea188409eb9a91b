// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The driver around the two machines, as drivers/infiniband/sw/rove/obj is in the kernel. */
#include "scale.h"
#include "wire/build.h"
#include "wire/opcode.h"
#include "wire/parse.h"

/* One turn of the module's: as obj/batch.h has it. */
#define BATCH_PACKETS	1024
#define BATCH_BYTES	(256 * 1024)

/* ---- sending ------------------------------------------------------------- */

static bool send_seg(struct scale *s, const struct half *h, struct rove_seg *seg,
		     struct content content)
{
	const struct flow *f = h->flow;
	struct packet *p = malloc(sizeof(*p));
	u32 hlen = rove_build(p->hdr, &seg->pkt);

	p->len = hlen + seg->pkt.len + seg->pkt.pad + ROVE_ICRC_LEN;
	p->host = h->is_req ? f->resp_half.host : f->req_half.host;
	p->content = content;
	if (fabric_send(s, h->host, p))
		return true;
	s->lost_here++;
	free(p);
	return false;
}

/* ---- the requester ------------------------------------------------------- */

static void post(struct scale *s, struct flow *f)
{
	static const struct rove_wqe_limits limits = {
		.max_sge = 1,
		.ops = (1U << ROVE_WR_OPS) - 1,
	};
	const struct conf *c = &s->conf;

	while (f->posted < c->messages && f->posted - f->completed < c->depth) {
		struct message m = flow_message(f, f->posted);
		struct rove_swqe *w = rove_req_slot(&f->req);
		struct {
			struct rove_sqe sqe;
			struct rove_sge sge;
		} slot = {
			.sqe = {
				.wr_id = f->posted,
				.opcode = m.op,
				.flags = ROVE_WR_SIGNALED,
				.num = 1,
				.imm = m.imm,
			},
			.sge = { .addr = 0, .length = m.len, .lkey = f->posted },
		};

		CHECK(w, "flow %u: no slot for message %u", f->num, f->posted);
		if (m.op == ROVE_WR_FETCH_ADD) {
			slot.sqe.atomic.addr = m.va;
			slot.sqe.atomic.rkey = COUNTER_KEY;
			slot.sqe.atomic.compare_add = 1;
		} else if (rove_wqe_props[m.op] & (ROVE_WQEP_WRITE | ROVE_WQEP_READ)) {
			slot.sqe.rdma.addr = m.va;
			slot.sqe.rdma.rkey = m.op == ROVE_WR_READ ? SOURCE_KEY : AREA_KEY;
		}
		CHECK(!rove_wqe_read_send(w, &slot, &limits), "message refused");
		f->read_done[f->posted % c->depth] = 0;
		f->posted_at[f->posted++] = s->now;
		rove_req_post(&f->req);
	}
}

static void check_send_done(struct scale *s, struct flow *f, const struct rove_req_comp *comp)
{
	u32 num = comp->wqe->sqe.wr_id;
	struct message m = flow_message(f, num);

	CHECK(!comp->fault, "flow %u: message %u ends with fault %u after %llu us", f->num, num,
	      comp->fault, (unsigned long long)((s->now - f->posted_at[num]) / US));
	CHECK(num == f->completed && comp->report, "flow %u: message %u completes, %u was next",
	      f->num, num, f->completed);
	if (m.op == ROVE_WR_READ) {
		CHECK(f->read_done[num % s->conf.depth] == m.len, "flow %u: %u of %u bytes read",
		      f->num, f->read_done[num % s->conf.depth], m.len);
	} else if (m.op != ROVE_WR_FETCH_ADD) {
		content_check(f, f->area + (m.va - BASE_VA), &(struct content){ m.key, 0 }, m.len);
	}
	f->completed++;
	f->bytes += m.len;
	s->bytes += m.len;
	f->posted_at[num] = s->now - f->posted_at[num];
	f->end = s->now;
	s->end = s->now;
}

static u32 send_requests(struct scale *s, struct flow *f, bool *more)
{
	u32 packets = 0, bytes = 0;
	struct content content;
	struct rove_seg seg;

	while (packets < BATCH_PACKETS && bytes < BATCH_BYTES) {
		sim_dirty(&seg);
		if (!rove_req_next(&f->req, s->now, &seg))
			return packets;
		content = (struct content){
			flow_message(f, rove_req_wqe(&f->req, seg.wqe)->sqe.wr_id).key, seg.off
		};
		if (!send_seg(s, &f->req_half, &seg, content)) {
			rove_req_seg_dropped(&f->req, &seg, s->now);
			return packets;
		}
		s->packets++;
		s->resent += seg.resend;
		packets++;
		bytes += seg.pkt.len;
	}
	*more = true;
	return packets;
}

/* Its timer is set to come no later than the machine wants; often it comes too early. */
static void arm(struct scale *s, struct flow *f)
{
	u64 deadline = rove_req_deadline(&f->req);

	if (deadline && (!f->timer.place || f->timer.at > deadline))
		heap_put(&s->heap, &f->timer, deadline);
}

static u32 req_turn(struct scale *s, struct flow *f)
{
	struct rove_req_comp comp;
	bool more = false;
	u32 sent;

	rove_req_timer(&f->req, s->now);
	post(s, f);
	sent = send_requests(s, f, &more);
	while (rove_req_reap(&f->req, &comp)) {
		check_send_done(s, f, &comp);
		more = true;
	}
	arm(s, f);
	if (more)
		host_wake(s, &f->req_half);
	return sent;
}

/* Bytes that were read for message @num: those that come next, and from the right place. */
static void check_read(struct flow *f, u32 num, const struct rove_req_place *place,
		       const struct content *content)
{
	u32 *done = &f->read_done[num % f->s->conf.depth];

	CHECK(place->off == *done, "flow %u: message %u: bytes from %u on, %u were read", f->num,
	      num, place->off, *done);
	CHECK(content->key == flow_read_key(f) &&
	      content->off == flow_message(f, num).va - BASE_VA + place->off,
	      "flow %u: message %u reads from elsewhere", f->num, num);
	*done += place->len;
}

static void take_response(struct scale *s, struct flow *f, const struct rove_pkt *pkt,
			  const struct content *content)
{
	struct rove_req_place place;

	sim_dirty(&place);
	switch (rove_req_packet(&f->req, pkt, s->now, &place)) {
	case ROVE_REQ_DONE:
	case ROVE_REQ_DROP:
		break;
	case ROVE_REQ_PLACE:
		check_read(f, rove_req_wqe(&f->req, place.wqe)->sqe.wr_id, &place, content);
		rove_req_placed(&f->req, ROVE_FAULT_NONE, s->now);
		break;
	case ROVE_REQ_PLACE_VALUE:
		CHECK(place.value == f->added, "flow %u: atomic %llu found %llu", f->num,
		      (unsigned long long)f->added, (unsigned long long)place.value);
		f->added++;
		rove_req_placed(&f->req, ROVE_FAULT_NONE, s->now);
		break;
	}
	host_wake(s, &f->req_half);
}

/* ---- the responder ------------------------------------------------------- */

static void take_rqe(struct flow *f, struct rove_resp_result *res)
{
	struct message m;

	CHECK(!f->recv_held, "flow %u: two receives held", f->num);
	do {
		CHECK(f->recv_next < f->posted, "flow %u: a receive for nothing", f->num);
		m = flow_message(f, f->recv_next++);
	} while (!(rove_wqe_props[m.op] & ROVE_WQEP_SEND) && m.op != ROVE_WR_WRITE_IMM);
	f->recv_msg = f->recv_next - 1;
	f->recv_held = true;
	res->len = m.op == ROVE_WR_WRITE_IMM ? 0 : m.len;
}

static u8 *area_at(struct flow *f, u64 off, u32 len)
{
	CHECK(off + len <= (u64)f->s->conf.depth * flow_stride(f), "flow %u: outside its area",
	      f->num);
	return f->area + off;
}

static void do_act(struct flow *f, const struct rove_resp_act *act, const struct content *content,
		   struct rove_resp_result *res)
{
	switch (act->kind) {
	case ROVE_RESP_GET_RQE:
		take_rqe(f, res);
		break;
	case ROVE_RESP_PLACE_RQE:
		CHECK(f->recv_held, "flow %u: no receive held", f->num);
		content_write(area_at(f, flow_message(f, f->recv_msg).va - BASE_VA + act->off,
				      act->len), content, act->len);
		break;
	case ROVE_RESP_PLACE_MR:
		CHECK(act->rkey == AREA_KEY, "flow %u: key %x", f->num, act->rkey);
		content_write(area_at(f, act->va - BASE_VA, act->len), content, act->len);
		break;
	case ROVE_RESP_CHECK_READ:
		CHECK(act->rkey == SOURCE_KEY, "flow %u: key %x", f->num, act->rkey);
		break;
	case ROVE_RESP_ATOMIC:
		CHECK(act->rkey == COUNTER_KEY && act->va == BASE_VA, "flow %u: key %x", f->num,
		      act->rkey);
		res->value = f->counter;
		f->counter += act->swap_add;
		break;
	default:
		CHECK(false, "flow %u: act %u", f->num, act->kind);
	}
}

static void check_receive(struct flow *f, const struct rove_resp_comp *comp)
{
	struct message m = flow_message(f, f->recv_msg);
	bool imm = m.op == ROVE_WR_SEND_IMM || m.op == ROVE_WR_WRITE_IMM;

	CHECK(f->recv_held && !comp->fault, "flow %u: receive of message %u: fault %u", f->num,
	      f->recv_msg, comp->fault);
	CHECK(comp->byte_len == m.len, "flow %u: receive of message %u: %u bytes, not %u", f->num,
	      f->recv_msg, comp->byte_len, m.len);
	CHECK(!(comp->flags & ROVE_CQE_IMM) == !imm && (!imm || comp->imm == m.imm),
	      "flow %u: immediate data of message %u", f->num, f->recv_msg);
	content_check(f, f->area + (m.va - BASE_VA), &(struct content){ m.key, 0 }, m.len);
	f->recv_held = false;
	f->recv_done++;
}

/* Return: true when it came too early. */
static bool take_request(struct flow *f, const struct rove_pkt *pkt, const struct content *content)
{
	struct rove_resp_result res;
	struct rove_resp_comp comp;
	struct rove_resp_act act;

	sim_dirty(&act);
	rove_resp_packet(&f->resp, pkt, &act);
	while (act.kind > ROVE_RESP_LATER) {
		res = (struct rove_resp_result){};
		do_act(f, &act, content, &res);
		sim_dirty(&act);
		rove_resp_result(&f->resp, &res, &act);
	}
	while (rove_resp_reap(&f->resp, &comp))
		check_receive(f, &comp);
	CHECK(!f->resp.broken, "flow %u: the responder breaks", f->num);
	return act.kind == ROVE_RESP_KEEP;
}

static void take_requests(struct scale *s, struct flow *f, const struct rove_pkt *pkt,
			  const struct content *content)
{
	struct kept k;

	if (take_request(f, pkt, content))
		keep_packet(f, pkt, content);
	while (keep_take(f, &k))
		CHECK(!take_request(f, &k.pkt, &k.content), "flow %u: a kept packet is early",
		      f->num);
	if (rove_resp_owes(&f->resp))
		host_wake(s, &f->resp_half);
}

static u32 resp_turn(struct scale *s, struct flow *f)
{
	u32 packets = 0, bytes = 0;
	struct content content;
	struct rove_seg seg;

	while (packets < BATCH_PACKETS && bytes < BATCH_BYTES) {
		sim_dirty(&seg);
		if (!rove_resp_next(&f->resp, &seg))
			return packets;
		content = (struct content){ flow_read_key(f), seg.va - BASE_VA };
		if (!send_seg(s, &f->resp_half, &seg, content)) {
			rove_resp_seg_dropped(&f->resp, &seg);
			return packets;
		}
		if (seg.source == ROVE_SEG_MR)
			s->packets++;
		packets++;
		bytes += seg.pkt.len;
	}
	host_wake(s, &f->resp_half);
	return packets;
}

/* ---- both ---------------------------------------------------------------- */

static void count(u64 *sum, struct rove_tally *t)
{
	u32 i;

	if (!t->dirty)
		return;
	for (i = 0; i < ROVE_TALLIES; i++)
		sum[i] += t->n[i];
	memset(t, 0, sizeof(*t));
}

u32 half_turn(struct scale *s, struct half *h)
{
	struct flow *f = h->flow;

	if (!h->is_req) {
		count(s->tally, &f->resp.tally);
		return resp_turn(s, f);
	}
	count(s->tally, &f->req.tally);
	return req_turn(s, f);
}

void half_receive(struct scale *s, struct packet *p)
{
	struct rove_pkt pkt;
	struct flow *f;
	u32 num;

	sim_dirty(&pkt);
	CHECK(!rove_parse(p->hdr, p->len, &pkt), "packet does not parse");
	num = pkt.dqpn - QPN_FIRST;
	CHECK(num / 2 < s->conf.flows, "packet for QP %x", pkt.dqpn);
	f = &s->flows[num / 2];
	CHECK(p->host == (num & 1 ? f->resp_half.host : f->req_half.host), "packet astray");
	if (num & 1)
		take_requests(s, f, &pkt, &p->content);
	else
		take_response(s, f, &pkt, &p->content);
	free(p);
}
