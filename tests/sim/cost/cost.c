// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cost QPS PACKETS: so many pairs of QPs exchange so many packets, one packet of each pair
 * after the other, so that none meets what it left in the cache. There is no network and
 * no clock: what is run is the core, and what it costs is counted from outside (cost.sh).
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "proto/req.h"
#include "proto/resp.h"
#include "wire/build.h"
#include "wire/parse.h"

#define DEPTH	4
#define MTU	1024
#define MAX_RD	4

static const u16 pkey = 0xffff;

struct pair {
	struct rove_req req;
	struct rove_resp resp;
	struct rove_resp_saved saved[MAX_RD];
	u8 *slots;
	u32 posted;
};

static u64 packets;

void sim_fail(const char *file, int line, const char *fmt, ...)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, fmt);
	exit(1);
}

static void init(struct pair *p, u32 num)
{
	u32 stride = rove_wqe_private_stride(rove_wqe_sq_stride(1, 0));

	p->slots = malloc((size_t)DEPTH * stride);
	rove_req_init(&p->req, p->slots, DEPTH, stride);
	rove_resp_init(&p->resp);
	p->req.conf = (struct rove_req_conf){
		.type = ROVE_QPT_RC, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = MAX_RD, .pkeys = { &pkey, 1 }, .pmtu = MTU, .dqpn = num,
		.window = 1024 * 1024, .read_window = 1024 * 1024, .read_chunk = 512 * 1024,
	};
	p->resp.conf = (struct rove_resp_conf){
		.type = ROVE_QPT_RC, .min_rnr_timer = 12, .remote_write = true,
		.remote_read = true, .remote_atomic = true, .pkeys = { &pkey, 1 }, .pmtu = MTU,
		.dqpn = num,
	};
	rove_resp_set_saved(&p->resp, p->saved, MAX_RD);
	rove_resp_set_psn(&p->resp, num);
	rove_resp_start(&p->resp);
	rove_req_set_psn(&p->req, num);
	rove_req_start(&p->req);
}

static void post(struct pair *p)
{
	static const struct rove_wqe_limits limits = { .max_sge = 1, .ops = ~0U };
	static const struct {
		u8 op;
		u32 len;
	} what[] = {
		{ ROVE_WR_WRITE, 4 * MTU }, { ROVE_WR_SEND, 64 }, { ROVE_WR_READ, 3 * MTU },
		{ ROVE_WR_WRITE_IMM, 3 * MTU }, { ROVE_WR_FETCH_ADD, 8 },
	};
	u32 i = p->posted++ % ARRAY_SIZE(what);
	struct {
		struct rove_sqe sqe;
		struct rove_sge sge;
	} slot = {
		.sqe = { .opcode = what[i].op, .flags = ROVE_WR_SIGNALED, .num = 1 },
		.sge = { .length = what[i].len },
	};

	CHECK(!rove_wqe_read_send(rove_req_slot(&p->req), &slot, &limits), "refused");
	rove_req_post(&p->req);
}

/* Over the wire and back into a struct. */
static void carry(struct rove_seg *seg, struct rove_pkt *pkt)
{
	u8 hdr[ROVE_MAX_HDR];
	u32 hlen = rove_build(hdr, &seg->pkt);

	CHECK(!rove_parse(hdr, hlen + seg->pkt.len + seg->pkt.pad + ROVE_ICRC_LEN, pkt), "parse");
	packets++;
}

static void request(struct pair *p, const struct rove_pkt *pkt)
{
	struct rove_resp_result res;
	struct rove_resp_comp comp;
	struct rove_resp_act act;

	rove_resp_packet(&p->resp, pkt, &act);
	while (act.kind > ROVE_RESP_LATER) {
		res = (struct rove_resp_result){ .len = act.kind == ROVE_RESP_GET_RQE ? MTU : 0 };
		rove_resp_result(&p->resp, &res, &act);
	}
	CHECK(act.kind == ROVE_RESP_DONE, "not taken");
	while (rove_resp_reap(&p->resp, &comp))
		CHECK(!comp.fault, "receive fails");
}

static void response(struct pair *p, const struct rove_pkt *pkt)
{
	struct rove_req_place place;
	enum rove_req_act act = rove_req_packet(&p->req, pkt, 1, &place);

	CHECK(act != ROVE_REQ_DROP, "dropped");
	if (act != ROVE_REQ_DONE)
		rove_req_placed(&p->req, ROVE_FAULT_NONE, 1);
}

/* One request of it, and what it is answered. */
static void step(struct pair *p)
{
	struct rove_req_comp comp;
	struct rove_seg seg;
	struct rove_pkt pkt;

	if (!rove_req_has_more(&p->req))
		post(p);
	CHECK(rove_req_next(&p->req, 1, &seg), "stands still");
	carry(&seg, &pkt);
	request(p, &pkt);
	while (rove_resp_next(&p->resp, &seg)) {
		carry(&seg, &pkt);
		response(p, &pkt);
	}
	while (rove_req_reap(&p->req, &comp))
		CHECK(!comp.fault, "fails");
}

int main(int argc, char **argv)
{
	u64 qps = argc > 1 ? strtoul(argv[1], NULL, 0) : 0, i;
	u64 wanted = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	struct pair *pairs;

	if (!qps || !wanted) {
		fprintf(stderr, "usage: %s QPS PACKETS\n", argv[0]);
		return 2;
	}
	pairs = calloc(qps, sizeof(*pairs));
	for (i = 0; i < qps; i++)
		init(&pairs[i], i);
	for (i = 0; packets < wanted; i = i + 1 == qps ? 0 : i + 1)
		step(&pairs[i]);
	printf("%llu\n", (unsigned long long)packets);
	for (i = 0; i < qps; i++)
		free(pairs[i].slots);
	free(pairs);
	return 0;
}
