/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_WIRE_PARSE_H
#define ROVE_WIRE_PARSE_H

#include "pkt.h"

/* Why a packet was dropped before or in the transport; each has a counter. */
enum rove_drop {
	ROVE_DROP_NONE,
	ROVE_DROP_SHORT,	/* shorter than its headers and ICRC */
	ROVE_DROP_OPCODE,	/* unknown opcode */
	ROVE_DROP_VERSION,	/* BTH transport header version not 0 */
	ROVE_DROP_PAD,		/* more padding than payload, or payload not of 4 n */
	ROVE_DROP_LENGTH,	/* payload where the opcode has none, or over path MTU */
	ROVE_DROP_ICRC,
	ROVE_DROP_QPN,		/* no such QP */
	ROVE_DROP_TRANSPORT,	/* opcode not of the QP's transport */
	ROVE_DROP_STATE,	/* QP not ready to receive (or to send, for a response) */
	ROVE_DROP_ADDR,		/* not from the QP's peer, not to its own address */
	ROVE_DROP_PKEY,
	ROVE_DROP_QKEY,
	ROVE_DROP_PSN,		/* outside any window: neither new nor duplicate */
	ROVE_DROP_STALE,	/* response to a request not outstanding */
	ROVE_DROP_SEQ,		/* out of sequence, the peer was told already; UC: the
				 * rest of a message that was given up
				 */
	ROVE_DROP_NO_RQE,	/* UD, UC: nothing posted to receive into */
	ROVE_DROP_FAULT,	/* UD, UC: message refused; reasons that RC would NAK */
	ROVE_DROP_DUP,		/* duplicate that needs no answer any more */
	ROVE_DROP_NOMEM,
	ROVE_DROP_BUSY,		/* queue of a busy QP is full */
	ROVE_DROP_CNP,		/* congestion notification, not acted on */
	ROVE_DROP_XFRM,		/* refused by IPsec policy */
	ROVE_DROP_REASONS
};

/**
 * rove_parse() - headers of one packet, all bounds checked here
 * @hdr:   its first bytes, from the BTH on: a private copy, at least
 *         min(@total, ROVE_MAX_HDR) bytes
 * @total: bytes from the BTH to the end of the ICRC, any value
 * @pkt:   filled in on success
 *
 * On success hlen + len + pad + ROVE_ICRC_LEN == @total, len <= ROVE_MAX_PMTU,
 * pad bytes really are there, and the opcode is one of rove_opcode_info.
 *
 * Return: ROVE_DROP_NONE, or SHORT, OPCODE, VERSION, PAD, LENGTH.
 */
enum rove_drop rove_parse(const u8 *hdr, u32 total, struct rove_pkt *pkt);

/**
 * rove_parse_next() - headers of one more packet of the same length, that is alike
 * @hdr:  of the packet before, which is nothing but a BTH, ROVE_BTH_LEN bytes
 * @pkt:  what rove_parse() made of it; the opcode may have been changed since
 * @next: a private copy of the BTH of this one
 *
 * Return: true if it is the same but for PSN, AckReq and what is reserved beside them: @hdr
 * and @pkt are this one's now, as rove_parse() would have it. False: nothing was changed.
 */
bool rove_parse_next(u8 *hdr, struct rove_pkt *pkt, const u8 *next);

#endif /* ROVE_WIRE_PARSE_H */
