/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packet sequence numbers: 24 bits, compared on a circle. */
#ifndef ROVE_WIRE_PSN_H
#define ROVE_WIRE_PSN_H

#include "../base.h"

#define ROVE_PSN_MASK	0xffffffU

static inline u32 rove_psn_add(u32 psn, u32 n)
{
	return (psn + n) & ROVE_PSN_MASK;
}

/* @a - @b, from -2^23 to 2^23 - 1. */
static inline s32 rove_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

#endif /* ROVE_WIRE_PSN_H */
