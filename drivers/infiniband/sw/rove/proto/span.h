/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * MIDDLE packets of a SEND, a WRITE or the answer to a READ, which are most of what a port
 * carries, by a shorter way than that of any packet (req.h, resp.h): several of one message
 * in one step, or a single one that came.
 *
 * A machine says what it would give, or whether all of it would go well; either looks only.
 * The driver copies the payload, and tells the machine what of it is done, which then is as
 * if the packets had gone one by one. Where anything is not as plain as that the answer is
 * no, and the packets go by the usual way; so does one whose copying fails.
 *
 * On a wire spans are not seen: a sender builds their packets (rove_span_seg()), a receiver
 * takes each of them for a span of one (rove_span_of()). A driver that joins two machines by
 * function calls (obj/samehost.c) gives one's to the other.
 */
#ifndef ROVE_PROTO_SPAN_H
#define ROVE_PROTO_SPAN_H

#include "req.h"
#include "resp.h"
#include "seg.h"

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

/**
 * rove_span_seg() - the first packet of a span, to be sent
 * @dqpn: the peer's number
 *
 * Those behind it have each the next PSN, and @off and @va by their length further. It does
 * not ask for an ACK.
 */
void rove_span_seg(const struct rove_span *s, u32 dqpn, struct rove_seg *seg);

/* The first @num packets of it without the rest; there may be none. */
void rove_span_cut(struct rove_span *s, u32 num);

/* A packet that came, as a span: false if it is no MIDDLE of RC. */
bool rove_span_of(const struct rove_pkt *pkt, struct rove_span *s);

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
