/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* BTH opcodes and what follows from each (IBTA vol. 1, 9.2 and table 38). */
#ifndef ROVE_WIRE_OPCODE_H
#define ROVE_WIRE_OPCODE_H

#include "../base.h"

enum rove_transport {
	ROVE_TR_RC	= 0x00,
	ROVE_TR_UC	= 0x20,
	ROVE_TR_RD	= 0x40,
	ROVE_TR_UD	= 0x60,
	ROVE_TR_CNP	= 0x80,
	ROVE_TR_XRC	= 0xa0,
	ROVE_TR_MASK	= 0xe0,
};

/* Lower five bits; UC and UD use a subset. */
enum rove_op {
	ROVE_OP_SEND_FIRST		= 0x00,
	ROVE_OP_SEND_MIDDLE		= 0x01,
	ROVE_OP_SEND_LAST		= 0x02,
	ROVE_OP_SEND_LAST_IMM		= 0x03,
	ROVE_OP_SEND_ONLY		= 0x04,
	ROVE_OP_SEND_ONLY_IMM		= 0x05,
	ROVE_OP_WRITE_FIRST		= 0x06,
	ROVE_OP_WRITE_MIDDLE		= 0x07,
	ROVE_OP_WRITE_LAST		= 0x08,
	ROVE_OP_WRITE_LAST_IMM		= 0x09,
	ROVE_OP_WRITE_ONLY		= 0x0a,
	ROVE_OP_WRITE_ONLY_IMM		= 0x0b,
	ROVE_OP_READ_REQ		= 0x0c,
	ROVE_OP_READ_RESP_FIRST		= 0x0d,
	ROVE_OP_READ_RESP_MIDDLE	= 0x0e,
	ROVE_OP_READ_RESP_LAST		= 0x0f,
	ROVE_OP_READ_RESP_ONLY		= 0x10,
	ROVE_OP_ACK			= 0x11,
	ROVE_OP_ATOMIC_ACK		= 0x12,
	ROVE_OP_CMP_SWP			= 0x13,
	ROVE_OP_FETCH_ADD		= 0x14,
	ROVE_OP_SEND_LAST_INV		= 0x16,
	ROVE_OP_SEND_ONLY_INV		= 0x17,
	ROVE_OP_FLUSH			= 0x1c,
	ROVE_OP_ATOMIC_WRITE		= 0x1d,
	ROVE_OP_MASK			= 0x1f,
};

#define ROVE_OPCODE_CNP		0x81
#define ROVE_CNP_LEN		16	/* reserved bytes, zero, behind its BTH */

enum rove_op_flags {
	/* extended headers, in this order on the wire */
	ROVE_OPF_DETH		= 1 << 0,
	ROVE_OPF_RETH		= 1 << 1,
	ROVE_OPF_ATOMIC		= 1 << 2,
	ROVE_OPF_AETH		= 1 << 3,
	ROVE_OPF_ATOMIC_ACK	= 1 << 4,
	ROVE_OPF_IMM		= 1 << 5,
	ROVE_OPF_IETH		= 1 << 6,
	/* what the packet is */
	ROVE_OPF_PAYLOAD	= 1 << 7,	/* may carry payload */
	ROVE_OPF_REQUEST	= 1 << 8,	/* to a responder */
	ROVE_OPF_RESPONSE	= 1 << 9,	/* to a requester */
	ROVE_OPF_START		= 1 << 10,	/* FIRST or ONLY */
	ROVE_OPF_END		= 1 << 11,	/* LAST or ONLY */
	ROVE_OPF_SEND		= 1 << 12,
	ROVE_OPF_WRITE		= 1 << 13,
	ROVE_OPF_READ		= 1 << 14,
	ROVE_OPF_VALID		= 1 << 15,
	ROVE_OPF_FETH		= 1 << 16,	/* a header, before the RETH */
	ROVE_OPF_ATOMIC_WRITE	= 1 << 17,
};

struct rove_opinfo {
	u32 flags;	/* enum rove_op_flags; 0: an opcode rove does not know */
	u8 hlen;	/* BTH and extended headers, bytes */
};

/* An XRCETH follows the BTH: in every request of XRC (annex A14). */
static inline bool rove_opcode_has_xrceth(u8 opcode, u32 flags)
{
	return (opcode & ROVE_TR_MASK) == ROVE_TR_XRC && (flags & ROVE_OPF_REQUEST);
}

/* Any byte may be asked for. */
extern const struct rove_opinfo rove_opcode_info[256];

#endif /* ROVE_WIRE_OPCODE_H */
