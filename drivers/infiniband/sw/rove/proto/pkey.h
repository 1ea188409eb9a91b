/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_PROTO_PKEY_H
#define ROVE_PROTO_PKEY_H

#include "../base.h"

#define ROVE_PKEY_FULL	0x8000	/* full member, not a limited one */

/* Same partition, and not two limited members (IBTA vol. 1, 10.9.3). */
static inline bool rove_pkey_match(u16 a, u16 b)
{
	return !((a ^ b) & ~ROVE_PKEY_FULL & 0xffff) && ((a | b) & ROVE_PKEY_FULL);
}

#endif /* ROVE_PROTO_PKEY_H */
