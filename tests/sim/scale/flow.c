// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A flow: a requester, its responder, and what both must have done in the end. */
#include "scale.h"

#define SQ_MAX_SGE	1

static const u16 pkey = 0xffff;

/* ---- messages ------------------------------------------------------------ */

u32 flow_stride(const struct flow *f)
{
	return (f->s->conf.len + 7) & ~7U;
}

u64 flow_read_key(const struct flow *f)
{
	return rand_mix(f->s->conf.seed ^ (u64)f->num << 32 ^ 0x5bd1e995);
}

struct message flow_message(const struct flow *f, u32 num)
{
	const struct conf *c = &f->s->conf;
	u64 x = rand_mix(c->seed ^ ((u64)f->num << 32 | num) * 0x9e3779b97f4a7c15);
	static const u8 ops[] = {
		ROVE_WR_SEND, ROVE_WR_SEND_IMM, ROVE_WR_WRITE, ROVE_WR_WRITE_IMM,
		ROVE_WR_READ, ROVE_WR_FETCH_ADD,
	};
	struct message m = { .op = c->op, .len = c->len, .imm = x, .key = x };

	if (c->op >= ROVE_WR_OPS)
		m.op = ops[x % ARRAY_SIZE(ops)];
	if (c->vary)
		m.len = (x >> 8) % (c->len + 1);
	m.va = BASE_VA + (u64)(num % c->depth) * flow_stride(f);
	if (m.op == ROVE_WR_FETCH_ADD) {
		m.va = BASE_VA;
		m.len = 8;
	}
	return m;
}

static u64 word(u64 key, u32 off)
{
	return key ^ (off / 8 + 1ULL) * 0x9e3779b97f4a7c15;
}

void content_write(u8 *p, const struct content *from, u32 len)
{
	u32 i, part;
	u64 x;

	for (i = 0; i < len; i += part) {
		x = word(from->key, from->off + i);
		part = min(len - i, 8U);
		memcpy(p + i, &x, part);
	}
}

void content_check(const struct flow *f, const u8 *p, const struct content *want, u32 len)
{
	u32 i, part;
	u64 x;

	for (i = 0; i < len; i += part) {
		x = word(want->key, want->off + i);
		part = min(len - i, 8U);
		CHECK(!memcmp(p + i, &x, part), "flow %u: memory differs at byte %u of %u", f->num,
		      i, len);
	}
}

/* ---- life ---------------------------------------------------------------- */

static u32 power_of_two(u32 n)
{
	u32 p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static void set_conf(struct flow *f)
{
	const struct conf *c = &f->s->conf;

	f->req.conf = (struct rove_req_conf){
		.type = ROVE_QPT_RC,
		.timeout = c->timeout,
		.retry_cnt = c->retries,
		.rnr_retry = 7,
		.max_rd_atomic = MAX_RD,
		.pkeys = { &pkey, 1 },
		.pmtu = c->mtu,
		.dqpn = req_qpn(f) + 1,
		.window = c->window * 1024,
		.read_window = c->window * 1024,
		.read_chunk = c->window * 512,
	};
	f->resp.conf = (struct rove_resp_conf){
		.type = ROVE_QPT_RC,
		.min_rnr_timer = 12,
		.remote_write = true,
		.remote_read = true,
		.remote_atomic = true,
		.pkeys = { &pkey, 1 },
		.pmtu = c->mtu,
		.dqpn = req_qpn(f),
		.keep = c->keep,
	};
}

void flow_init(struct scale *s, u32 num)
{
	u32 stride = rove_wqe_private_stride(rove_wqe_sq_stride(SQ_MAX_SGE, 0));
	const struct conf *c = &s->conf;
	struct flow *f = &s->flows[num];
	u32 entries = power_of_two(c->depth), psn = rand_next(&s->rng) & 0xffffff;

	f->s = s;
	f->num = num;
	f->timer.kind = FLOW_TIMER;
	f->req_half = (struct half){ .flow = f, .is_req = true };
	f->resp_half = (struct half){ .flow = f };
	if (c->incast) {
		f->resp_half.host = c->hosts - 1;
		f->req_half.host = num % (c->hosts - 1);
	} else {
		f->req_half.host = num % c->hosts;
		f->resp_half.host = (f->req_half.host + 1 +
				     rand_next(&s->rng) % (c->hosts - 1)) % c->hosts;
	}
	f->slots = malloc((size_t)entries * stride);
	f->area = malloc((size_t)c->depth * flow_stride(f) + 1);
	f->kept = calloc(c->keep + 1, sizeof(*f->kept));
	f->read_done = calloc(c->depth, sizeof(*f->read_done));
	f->posted_at = calloc(c->messages, sizeof(*f->posted_at));
	rove_req_init(&f->req, f->slots, entries, stride);
	rove_resp_init(&f->resp);
	set_conf(f);
	rove_resp_set_saved(&f->resp, f->saved, MAX_RD);
	rove_resp_set_psn(&f->resp, psn);
	rove_resp_start(&f->resp);
	rove_req_set_psn(&f->req, psn);
	rove_req_start(&f->req);
	/* It begins when its timer comes. */
	heap_put(&s->heap, &f->timer, s->now + rand_next(&s->rng) % (100 * US));
}

void flow_free(struct flow *f)
{
	free(f->slots);
	free(f->area);
	free(f->kept);
	free(f->read_done);
	free(f->posted_at);
}

void flow_at_rest(const struct flow *f)
{
	u32 messages = f->s->conf.messages, i, takers = 0, atomics = 0;
	struct rove_resp resp = f->resp;
	struct rove_seg seg;

	for (i = 0; i < messages; i++) {
		u8 op = flow_message(f, i).op;

		takers += rove_wqe_props[op] & ROVE_WQEP_SEND || op == ROVE_WR_WRITE_IMM;
		atomics += op == ROVE_WR_FETCH_ADD;
	}
	CHECK(f->completed == messages, "flow %u: %u of %u messages completed", f->num,
	      f->completed, messages);
	CHECK(f->recv_done == takers, "flow %u: %u of %u receives", f->num, f->recv_done, takers);
	CHECK(!f->kept_num, "flow %u: %u packets are kept still", f->num, f->kept_num);
	CHECK(f->counter == atomics, "flow %u: %llu of %u atomics", f->num,
	      (unsigned long long)f->counter, atomics);
	CHECK(rove_req_idle(&f->req) && !rove_req_deadline(&f->req) &&
	      !rove_req_in_flight(&f->req) && !f->req.rd_atomic,
	      "flow %u: its requester is not at rest", f->num);
	/* What the own queue dropped is owed still, to a peer that did not ask again. */
	CHECK(f->s->lost_here || !rove_resp_next(&resp, &seg),
	      "flow %u: its responder is not at rest", f->num);
}
