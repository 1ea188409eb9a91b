/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One RoCE packet in host order: what wire/parse makes of bytes and what
 * wire/build makes bytes of. Everything behind the UDP header but the payload.
 */
#ifndef ROVE_WIRE_PKT_H
#define ROVE_WIRE_PKT_H

#include "../base.h"

#define ROVE_UDP_PORT		4791
#define ROVE_ICRC_LEN		4
#define ROVE_BTH_LEN		12
/* BTH + XRCETH + DETH/RETH/AtomicETH (28) + ImmDt or IETH: no opcode carries more. */
#define ROVE_MAX_HDR		48
#define ROVE_MAX_PMTU		4096
#define ROVE_DEFAULT_PKEY	0xffff
#define ROVE_GSI_QKEY		0x80010000U
#define ROVE_MULTICAST_QPN	0xffffffU

struct rove_pkt {
	u8 opcode;		/* BTH opcode, transport in the upper 3 bits */
	u8 pad;			/* 0-3 bytes behind the payload */
	bool se;		/* solicited event */
	bool ackreq;
	bool migreq;
	u8 syndrome;		/* AETH */
	u16 pkey;
	u32 dqpn;		/* 24 bits */
	u32 psn;		/* 24 bits */
	u32 msn;		/* AETH, 24 bits */
	u32 hlen;		/* bytes of BTH and extended headers */
	u32 len;		/* payload bytes, pad not counted */

	u64 va;			/* RETH, AtomicETH */
	u32 rkey;		/* RETH, AtomicETH */
	u32 dma_len;		/* RETH */
	u64 swap_add;		/* AtomicETH */
	u64 compare;		/* AtomicETH */
	u64 orig;		/* AtomicAckETH */
	u32 imm;		/* ImmDt, the four bytes as they are on the wire */
	u32 inv_rkey;		/* IETH */
	u32 qkey;		/* DETH */
	u32 sqpn;		/* DETH, 24 bits */
	u8 flush_type;		/* FETH: enum ib_placement_type */
	u8 flush_level;		/* FETH: enum ib_selectivity_level */
	u32 srqn;		/* XRCETH, 24 bits; 0 for other transports */
};

#endif /* ROVE_WIRE_PKT_H */
