/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_PROTO_PKEY_H
#define ROVE_PROTO_PKEY_H

#include "../base.h"

#define ROVE_PKEY_FULL	0x8000	/* full member, not a limited one */

/* Entries of a port's table. */
#define ROVE_PKEY_TABLE_LEN	32

/*
 * The keys of a QP: one entry of the port's table, or (QP 1) all of it. They may change
 * at any time.
 */
struct rove_pkeys {
	const u16 *table;
	u32 num;
};

/* Does it name a partition? (IBTA vol. 1, 10.9.1.2: 0x0000 and 0x8000 do not) */
static inline bool rove_pkey_valid(u16 pkey)
{
	return pkey & ~ROVE_PKEY_FULL & 0xffff;
}

/* Same partition, and not two limited members (10.9.3). */
static inline bool rove_pkey_match(u16 a, u16 b)
{
	return !((a ^ b) & ~ROVE_PKEY_FULL & 0xffff) && ((a | b) & ROVE_PKEY_FULL) &&
	       rove_pkey_valid(a);
}

/* The index of the first key that a packet with @pkey matches, or -1. */
static inline int rove_pkey_find(const struct rove_pkeys *k, u16 pkey)
{
	u32 i;

	for (i = 0; i < k->num; i++)
		if (rove_pkey_match(READ_ONCE(k->table[i]), pkey))
			return i;
	return -1;
}

/* The key to send with. @index: below num, unless there is but one. */
static inline u16 rove_pkey_get(const struct rove_pkeys *k, u32 index)
{
	return READ_ONCE(k->table[index < k->num ? index : 0]);
}

#endif /* ROVE_PROTO_PKEY_H */
