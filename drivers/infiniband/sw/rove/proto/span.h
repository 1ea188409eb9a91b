/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Several packets of one message in one step, for a driver that joins two machines by
 * function calls (obj/samehost.c, tests/sim): a run of MIDDLE packets, of a SEND, a WRITE
 * or the answer to a READ. Nothing of this exists on a wire.
 *
 * One machine says what it would give, the other one whether all of it would go well; both
 * look only. The driver copies the payload, which must not fail any more, and tells both
 * that it is done. They are then as if the packets had come one by one. Where anything is
 * not as plain as that the answer is no, and the packets go one by one.
 */
#ifndef ROVE_PROTO_SPAN_H
#define ROVE_PROTO_SPAN_H

#include "req.h"
#include "resp.h"

struct rove_span {
	u8 opcode;		/* of each packet */
	bool ackreq;		/* of the last one */
	u16 pkey;
	u32 psn;		/* of the first one */
	u32 num;
	u32 len;		/* of all payloads */
	u32 wqe;		/* requests: SQ index, */
	u32 off;		/* and from which byte of its message on */
	u32 rkey;		/* answers: what is read */
	u64 va;
};

/* Requests that may be sent now, @max bytes at most. False: less than two of them. */
bool rove_span_request(const struct rove_req *q, u32 max, struct rove_span *s);
/* Where they go: PLACE_RQE or PLACE_MR, as rove_resp_packet() has it. False: not all. */
bool rove_span_accept(const struct rove_resp *r, const struct rove_span *s,
		      struct rove_resp_act *act);
void rove_span_requested(struct rove_req *q, const struct rove_span *s, u64 now);
void rove_span_accepted(struct rove_resp *r, const struct rove_span *s);

/* The same the other way: the data of a READ. */
bool rove_span_answer(const struct rove_resp *r, u32 max, struct rove_span *s);
bool rove_span_expect(const struct rove_req *q, const struct rove_span *s,
		      struct rove_req_place *place);
void rove_span_answered(struct rove_resp *r, const struct rove_span *s);
void rove_span_expected(struct rove_req *q, const struct rove_span *s, u64 now);

#endif /* ROVE_PROTO_SPAN_H */
