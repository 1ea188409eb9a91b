/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The headers behind UDP, byte by byte (IBTA vol. 1, chapter 9). */
#ifndef ROVE_WIRE_HDR_H
#define ROVE_WIRE_HDR_H

#include "../base.h"

#define ROVE_HDR_24BITS	0xffffffU

struct rove_bth {
	u8 opcode;
	u8 flags;
	__be16 pkey;
	__be32 qpn;		/* FECN, BECN, 6 reserved bits, 24 bits QPN */
	__be32 psn;		/* AckReq, 7 reserved bits, 24 bits PSN */
} __packed;

#define ROVE_BTH_SE		0x80
#define ROVE_BTH_MIGREQ		0x40
#define ROVE_BTH_PAD_SHIFT	4
#define ROVE_BTH_PAD_MASK	0x03
#define ROVE_BTH_TVER_MASK	0x0f
#define ROVE_BTH_BECN		0x40000000U
#define ROVE_BTH_ACKREQ		0x80000000U

struct rove_deth {
	__be32 qkey;
	__be32 sqpn;		/* 8 reserved bits, 24 bits QPN */
} __packed;

struct rove_feth {
	__be32 bits;		/* 26 reserved bits, 2 bits level, 4 bits type */
} __packed;

#define ROVE_FETH_TYPE		0x0fU
#define ROVE_FETH_LEVEL_SHIFT	4
#define ROVE_FETH_LEVEL		0x03U

struct rove_xrceth {
	__be32 srqn;		/* 8 reserved bits, 24 bits SRQ number */
} __packed;

struct rove_reth {
	__be64 va;
	__be32 rkey;
	__be32 dma_len;
} __packed;

struct rove_atomic_eth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} __packed;

struct rove_aeth {
	__be32 smsn;		/* 8 bits syndrome, 24 bits MSN */
} __packed;

#define ROVE_AETH_SYNDROME_SHIFT	24

struct rove_atomic_ack_eth {
	__be64 orig;
} __packed;

struct rove_immdt {
	u32 imm;		/* the application's bytes, never swapped */
} __packed;

struct rove_ieth {
	__be32 rkey;
} __packed;

#endif /* ROVE_WIRE_HDR_H */
