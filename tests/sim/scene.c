// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* From a seed: the wire, the QPs, and what the applications do with them. */
#include "sim.h"

static const u16 pkey = 0xffff;

static u32 pick(struct world *w, const u32 *from, u32 n)
{
	return from[sim_below(w, n)];
}

#define PICK(w, ...) ({							\
	static const u32 from_[] = { __VA_ARGS__ };			\
	pick(w, from_, ARRAY_SIZE(from_));				\
})

static u32 message_len(struct world *w, u32 pmtu, u32 max)
{
	u32 len;

	switch (sim_below(w, 6)) {
	case 0:
		len = sim_below(w, 3);
		break;
	case 1:
		len = 1 + sim_below(w, 64);
		break;
	case 2:
		len = pmtu * (1 + sim_below(w, 4)) - 1 + sim_below(w, 3);
		break;
	case 3:
		len = 1 + sim_below(w, 20 * pmtu);
		break;
	default:
		len = 1 + sim_below(w, 4 * pmtu);
	}
	return len < max ? len : max;
}

static void fill(struct world *w, u8 *p, u32 len)
{
	u64 x = 0;
	u32 i;

	for (i = 0; i < len; i++) {
		if (!(i & 7))
			x = sim_rand(w);
		p[i] = x >> 8 * (i & 7);
	}
}

static u8 *new_bytes(const u8 *from, u32 len)
{
	u8 *p = malloc(len ? len : 1);

	if (from && len)
		memcpy(p, from, len);
	return p;
}

/* READs of rw since the last fence: a WRITE there must wait for them. */
struct reads {
	u32 num;
	u32 from[MAX_MSGS];
	u32 to[MAX_MSGS];
};

static bool overlaps(const struct reads *r, u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < r->num; i++)
		if (from < r->to[i] && r->from[i] < to)
			return true;
	return false;
}

static void make_write(struct node *n, struct msg *m, struct reads *reads)
{
	u32 off = sim_below(n->world, RW_LEN - m->len + 1);

	m->va = BASE_VA + off;
	m->rkey = RW_KEY;
	if (overlaps(reads, off, off + m->len))
		m->flags |= ROVE_WR_FENCE;
	memcpy(n->peer->want_rw + off, m->buf, m->len);
}

/* ATOMIC WRITE and FLUSH. */
static void make_place(struct node *n, struct msg *m, struct reads *reads)
{
	u32 off = sim_below(n->world, RW_LEN / 8 - 2) * 8;

	m->va = BASE_VA + off;
	m->rkey = RW_KEY;
	if (m->op == ROVE_WR_FLUSH)
		return;
	/* One that is sent again is not written again: what was read stays true. */
	if (overlaps(reads, off, off + m->len))
		m->flags |= ROVE_WR_FENCE;
	memcpy(n->peer->want_rw + off, m->buf, m->len);
}

static void make_read(struct node *n, struct msg *m, struct reads *reads)
{
	u32 off = sim_below(n->world, RW_LEN - m->len + 1);
	bool rw = sim_below(n->world, 2);

	m->va = BASE_VA + off;
	m->rkey = rw ? RW_KEY : RO_KEY;
	m->want = new_bytes((rw ? n->peer->want_rw : n->peer->ro) + off, m->len);
	if (rw) {
		reads->from[reads->num] = off;
		reads->to[reads->num++] = off + m->len;
	}
}

/* What is lost may have been written in part: no two messages to one place. */
static void make_uc_write(struct node *n, struct msg *m, u32 *used)
{
	m->va = BASE_VA + *used;
	m->rkey = RW_KEY;
	memcpy(n->peer->want_rw + *used, m->buf, m->len);
	*used += m->len;
}

static void make_uc_msg(struct node *n, struct msg *m, u32 *used)
{
	static const u8 ops[] = {
		ROVE_WR_SEND, ROVE_WR_SEND_IMM, ROVE_WR_WRITE, ROVE_WR_WRITE_IMM,
	};
	struct world *w = n->world;
	u32 id = m - n->msgs;

	m->op = ops[sim_below(w, ARRAY_SIZE(ops))];
	m->flags = sim_below(w, 3) ? ROVE_WR_SIGNALED : 0;
	if (!sim_below(w, 4))
		m->flags |= ROVE_WR_SOLICITED;
	m->sges = 1 + sim_below(w, 3);
	m->len = message_len(w, n->req.conf.pmtu, RW_LEN / 2);
	/* Each tells its number. */
	m->imm = id;
	if (m->op == ROVE_WR_SEND && m->len < sizeof(id))
		m->op = ROVE_WR_SEND_IMM;
	if (m->op >= ROVE_WR_WRITE && *used + m->len > RW_LEN)
		m->op = ROVE_WR_SEND_IMM;
	if (m->len <= MAX_INLINE && sim_below(w, 2))
		m->flags |= ROVE_WR_INLINE;
	m->buf = new_bytes(NULL, m->len);
	fill(w, m->buf, m->len);
	if (m->op == ROVE_WR_SEND)
		memcpy(m->buf, &id, sizeof(id));
	else if (m->op != ROVE_WR_SEND_IMM)
		make_uc_write(n, m, used);
}

static void make_atomic(struct node *n, struct msg *m)
{
	u32 i = sim_below(n->world, COUNTERS);
	u64 *value = &n->peer->want_counter[i];

	m->va = BASE_VA + 8 * i;
	m->rkey = COUNTER_KEY;
	m->want = new_bytes((u8 *)value, sizeof(*value));
	m->compare_add = sim_rand(n->world);
	m->swap = sim_rand(n->world);
	if (m->op == ROVE_WR_FETCH_ADD) {
		*value += m->compare_add;
	} else if (sim_below(n->world, 2)) {
		m->compare_add = *value;
		*value = m->swap;
	}
}

static void make_msg(struct node *n, struct msg *m, struct reads *reads)
{
	struct world *w = n->world;
	u32 max = RW_LEN / 2;

	m->op = sim_below(w, w->xrc ? ROVE_WR_FETCH_ADD + 1 : ROVE_WR_OPS);
	m->flags = 0;
	if (sim_below(w, 3))
		m->flags |= ROVE_WR_SIGNALED;
	if (!sim_below(w, 4))
		m->flags |= ROVE_WR_SOLICITED;
	if (!sim_below(w, 6))
		m->flags |= ROVE_WR_FENCE;
	m->sges = 1 + sim_below(w, 3);
	m->imm = sim_rand(w);
	m->len = message_len(w, n->req.conf.pmtu, max);
	if (msg_is(m, ROVE_WQEP_LOCAL)) {
		m->len = 0;
		m->sges = 0;
	}
	if (msg_is(m, ROVE_WQEP_DATA) && m->len <= MAX_INLINE && sim_below(w, 2))
		m->flags |= ROVE_WR_INLINE;
	if (msg_is(m, ROVE_WQEP_ATOMIC)) {
		m->len = 8;
		m->sges = 1;
	}
	if (msg_is(m, ROVE_WQEP_PLACE)) {
		m->len = m->op == ROVE_WR_FLUSH ? 0 : 8;
		m->sges = 0;
	}
	m->buf = new_bytes(NULL, m->len);
	fill(w, m->buf, m->len);

	if (msg_is(m, ROVE_WQEP_WRITE))
		make_write(n, m, reads);
	else if (msg_is(m, ROVE_WQEP_PLACE))
		make_place(n, m, reads);
	else if (msg_is(m, ROVE_WQEP_READ))
		make_read(n, m, reads);
	else if (msg_is(m, ROVE_WQEP_ATOMIC))
		make_atomic(n, m);
	if (m->flags & ROVE_WR_FENCE) {
		/* This one's own READ is behind the fence. */
		u32 keep = m->op == ROVE_WR_READ && m->rkey == RW_KEY;

		if (keep) {
			reads->from[0] = reads->from[reads->num - 1];
			reads->to[0] = reads->to[reads->num - 1];
		}
		reads->num = keep;
	}
}

static bool takes_rqe(const struct msg *m)
{
	return msg_is(m, ROVE_WQEP_SEND) || m->op == ROVE_WR_WRITE_IMM;
}

static void make_program(struct node *n, u32 num)
{
	struct reads reads = {};
	struct node *peer = n->peer;
	u32 i, used = 0;

	n->num = num;
	n->fail_at = num;
	for (i = 0; i < num; i++) {
		if (n->world->kind == UNRELIABLE)
			make_uc_msg(n, &n->msgs[i], &used);
		else
			make_msg(n, &n->msgs[i], &reads);
		if (takes_rqe(&n->msgs[i]))
			peer->recv_msg[peer->recv_num++] = i;
	}
}

static void make_receives(struct node *n)
{
	struct world *w = n->world;
	u32 i;

	for (i = 0; i < n->recv_num; i++) {
		const struct msg *m = &n->peer->msgs[n->recv_msg[i]];
		u32 len = m->op == ROVE_WR_WRITE_IMM ? sim_below(w, 8) : m->len;

		if (w->kind == UNRELIABLE)
			len = RW_LEN / 2;
		else if (m->rqe_len)
			len = m->rqe_len;
		else if (sim_below(w, 2))
			len += sim_below(w, 500);
		n->recv_len[i] = len;
		n->recv_buf[i] = new_bytes(NULL, len);
	}
}

/* One message that must fail, and with what. */
static void make_fault(struct node *n)
{
	struct msg *m = &n->msgs[n->fail_at = sim_below(n->world, n->num)];
	u32 which = sim_below(n->world, 6);

	if (which == 0) {
		m->bad_wqe = true;
		n->fail_with = ROVE_FAULT_WQE;
	} else if (which == 1 && m->len && m->sges && !(m->flags & ROVE_WR_INLINE)) {
		m->bad_lkey = true;
		n->fail_with = ROVE_FAULT_LOCAL_PROT;
	} else if (takes_rqe(m) && which == 2) {
		/* its receive is never posted: see node.c */
		n->req.conf.rnr_retry = sim_below(n->world, 7);
		n->fail_with = ROVE_FAULT_RNR_RETRY;
	} else if (msg_is(m, ROVE_WQEP_LOCAL) && which >= 3) {
		m->bad_local = true;
		n->fail_with = ROVE_FAULT_MEMORY_OP;
	} else if (msg_is(m, ROVE_WQEP_SEND) && m->len > 1) {
		m->rqe_len = m->len - 1;
		n->fail_with = ROVE_FAULT_PEER_INVALID;
	} else if (!msg_is(m, ROVE_WQEP_SEND) && m->len) {
		m->rkey = 0x666;
		n->fail_with = ROVE_FAULT_PEER_ACCESS;
	} else {
		m->bad_wqe = true;
		n->fail_with = ROVE_FAULT_WQE;
	}
}

static void make_wire(struct world *w, struct wire *wire)
{
	wire->delay = 1 * US + sim_below(w, 20) * US;
	if (sim_below(w, 2))
		wire->jitter = 1 + sim_below(w, 5000);
	if (w->kind == DEAD)
		wire->dead_at = 1 + sim_below(w, 2000) * US;
	if (w->kind == LOSSY || w->kind == DEAD || (w->kind == UNRELIABLE && sim_below(w, 4))) {
		wire->loss = PICK(w, 0, 0, 10, 10, 50, 100, 200);
		wire->dup = PICK(w, 0, 0, 20, 100);
		wire->corrupt = PICK(w, 0, 0, 0, 10, 50);
		wire->reorder = PICK(w, 0, 0, 20, 100, 300);
		wire->local_drop = PICK(w, 0, 0, 0, 20, 100);
	}
}

static u32 first_psn(struct world *w)
{
	return sim_below(w, 2) ? (0 - sim_below(w, 300)) & 0xffffff : sim_rand(w) & 0xffffff;
}

static void make_conf(struct node *n, u32 pmtu, u32 rd)
{
	struct rove_req_conf *q = &n->req.conf;
	struct rove_resp_conf *r = &n->resp.conf;
	struct world *w = n->world;

	q->type = ROVE_QPT_RC;
	q->xrc = w->xrc;
	q->timeout = 8 + sim_below(w, 3);
	/* A lossy wire may lose any number of times in a row. */
	q->retry_cnt = w->kind == LOSSY ? 255 : sim_below(w, 8);
	q->rnr_retry = 7;
	q->max_rd_atomic = 1 + sim_below(w, rd);
	q->pkeys = (struct rove_pkeys){ &pkey, 1 };
	q->pmtu = pmtu;
	q->dqpn = n == w->node ? 0x22 : 0x11;
	q->window = pmtu * PICK(w, 1, 2, 3, 8, 50, 1000);
	q->read_chunk = pmtu * PICK(w, 1, 2, 4, 8, 64);
	q->read_window = pmtu * PICK(w, 0, 0, 1, 6, 70);
	if (w->kind == UNRELIABLE) {
		q->type = ROVE_QPT_UC;
		q->timeout = 0;
		q->retry_cnt = 0;
		q->rnr_retry = 0;
		q->max_rd_atomic = 0;
		q->read_window = 0;
	}

	r->type = ROVE_QPT_RC;
	r->xrc = w->xrc;
	r->min_rnr_timer = 1 + sim_below(w, 12);
	r->remote_write = true;
	r->remote_read = true;
	r->remote_atomic = true;
	r->flush_types = 1;
	r->pkeys = (struct rove_pkeys){ &pkey, 1 };
	r->pmtu = pmtu;
	r->dqpn = q->dqpn;
	r->keep = PICK(w, 0, 2, 20, 4096);
	if (w->kind == UNRELIABLE)
		r->type = ROVE_QPT_UC;
}

static void make_node(struct world *w, u32 i)
{
	struct node *n = &w->node[i];
	u32 stride = rove_wqe_private_stride(rove_wqe_sq_stride(4, MAX_INLINE));

	n->world = w;
	n->name = i ? "B" : "A";
	n->peer = &w->node[!i];
	n->out = &w->wire[i];
	n->limits.max_inline = MAX_INLINE;
	n->limits.max_sge = 4;
	n->limits.xrc = w->xrc;
	n->limits.ops = (1U << (w->xrc ? ROVE_WR_FETCH_ADD + 1 : ROVE_WR_OPS)) - 1;
	n->slots = malloc((size_t)SQ_ENTRIES * stride);
	rove_req_init(&n->req, n->slots, SQ_ENTRIES, stride);
	rove_resp_init(&n->resp);
	fill(w, n->ro, RO_LEN);
	fill(w, n->rw, RW_LEN);
	fill(w, (u8 *)n->counter, sizeof(n->counter));
	memcpy(n->want_rw, n->rw, RW_LEN);
	memcpy(n->want_counter, n->counter, sizeof(n->counter));
}

static void start_node(struct node *n, u32 psn, u32 peer_psn, u32 rd)
{
	struct world *w = n->world;

	rove_resp_set_saved(&n->resp, n->saved, rd);
	rove_resp_set_psn(&n->resp, peer_psn);
	rove_resp_start(&n->resp);
	rove_req_set_psn(&n->req, psn);
	n->una = n->req.una;
	n->recv_last = -1;
	if (sim_below(w, 4))
		rove_req_start(&n->req);
	else
		n->restart_at = w->now + sim_below(w, 100) * US;
	if (w->kind != FAULTY && !sim_below(w, 4))
		n->drain_at = w->now + 1 + sim_below(w, 3000) * US;
	n->post_at = w->now;
	n->recv_at = w->now;
	n->turn_at = w->now;
}

/*
 * Both on one host, in some scenes, always or now and then: what is under way on the wire is
 * overtaken then. Not from the scene's numbers, so that a seed stays the scene that it was.
 */
static u32 nearness(const struct world *w)
{
	u64 x = rand_mix(~w->seed);

	if (x & 1 || w->kind == DEAD || w->kind == UNRELIABLE)
		return 0;
	return w->kind == LOSSY && x & 2 ? (x >> 8) % 1000 : 1000;
}

void scene_make(struct world *w)
{
	struct node *a = &w->node[0], *b = &w->node[1];
	u32 pmtu, rd, psn_a, psn_b;

	w->now = 1 + sim_rand(w) % MS;
	w->kind = PICK(w, LOSSY, LOSSY, LOSSY, LOSSY, LOSSY, CLEAN, DEAD, FAULTY, UNRELIABLE,
		       UNRELIABLE);
	w->near = nearness(w);
	w->rnr = w->kind == LOSSY && !sim_below(w, 3);
	w->xrc = w->kind != UNRELIABLE && !sim_below(w, 4);
	w->absent = sim_below(w, 3) ? 0 : 1 + sim_below(w, 300);
	w->unkept = PICK(w, 0, 100, 500);
	pmtu = PICK(w, 256, 256, 512, 1024, 4096);
	rd = 1 + sim_below(w, MAX_RD);
	make_node(w, 0);
	make_node(w, 1);
	make_wire(w, &w->wire[0]);
	make_wire(w, &w->wire[1]);
	make_conf(a, pmtu, rd);
	make_conf(b, pmtu, rd);
	make_program(a, 1 + sim_below(w, MAX_MSGS));
	if (w->kind != FAULTY && sim_below(w, 2))
		make_program(b, 1 + sim_below(w, MAX_MSGS));
	else
		make_program(b, 0);
	if (w->kind == FAULTY)
		make_fault(a);
	make_receives(a);
	make_receives(b);
	psn_a = first_psn(w);
	psn_b = first_psn(w);
	start_node(a, psn_a, psn_b, rd);
	start_node(b, psn_b, psn_a, rd);
}

static void print_node(const struct node *n)
{
	const struct rove_req_conf *q = &n->req.conf;
	u32 i;

	printf("%s: psn %06x pmtu %u window %u chunk %u rd %u/%u timeout %u retry %u rnr %u\n",
	       n->name, n->req.psn, q->pmtu, q->window, q->read_chunk, q->max_rd_atomic,
	       n->peer->resp.saved_num, q->timeout, q->retry_cnt, q->rnr_retry);
	printf("   loss %u dup %u corrupt %u reorder %u local drop %u delay %llu dead at %llu\n",
	       n->out->loss, n->out->dup, n->out->corrupt, n->out->reorder, n->out->local_drop,
	       (unsigned long long)n->out->delay, (unsigned long long)n->out->dead_at);
	for (i = 0; i < n->num; i++)
		printf("   %2u: op %u flags %x len %u rkey %x va +%llx%s\n", i, n->msgs[i].op,
		       n->msgs[i].flags, n->msgs[i].len, n->msgs[i].rkey,
		       (unsigned long long)(n->msgs[i].va ? n->msgs[i].va - BASE_VA : 0),
		       i == n->fail_at ? " fails" : "");
}

void scene_print(const struct world *w)
{
	static const char *const names[KINDS] = { "lossy", "clean", "dead", "faulty", "unreliable" };

	printf("seed %llu: %s%s%s%s, near %u\n", (unsigned long long)w->seed, names[w->kind],
	       w->rnr ? ", late receives" : "", w->xrc ? ", XRC" : "",
	       w->absent ? ", absent pages" : "", w->near);
	print_node(&w->node[0]);
	print_node(&w->node[1]);
}

void scene_free(struct world *w)
{
	u32 i, k;

	for (i = 0; i < 2; i++) {
		struct node *n = &w->node[i];

		for (k = 0; k < n->num; k++) {
			free(n->msgs[k].buf);
			free(n->msgs[k].want);
		}
		for (k = 0; k < n->recv_num; k++)
			free(n->recv_buf[k]);
		keep_forget(n);
		free(n->slots);
	}
	while (heap_first(&w->under_way))
		free(heap_take(&w->under_way));
	free(w->under_way.slots);
}
