/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Payload where it lies in memory. */
#ifndef ROVE_WIRE_PIECE_H
#define ROVE_WIRE_PIECE_H

#include "../base.h"

struct rove_piece {
	const void *p;
	u32 len;
};

/* A packet's payload in one region: it crosses one border of a page at most. */
#define ROVE_PIECES	2

#endif /* ROVE_WIRE_PIECE_H */
