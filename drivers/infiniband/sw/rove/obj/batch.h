/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Sending, for both halves of a QP: packets into trains, trains to the stack. */
#ifndef ROVE_OBJ_BATCH_H
#define ROVE_OBJ_BATCH_H

#include "../ip/train.h"
#include "../proto/fault.h"
#include "../proto/seg.h"
#include "../proto/span.h"

struct rove_qp;

/* One BH-off section sends at most about this much, and less if it is whole trains then. */
#define ROVE_BATCH_BYTES	(256 * 1024)
#define ROVE_BATCH_ENOUGH	(ROVE_BATCH_BYTES - 32 * 1024)
#define ROVE_BATCH_PACKETS	1024

/* What one batch of a half sends, packet by packet; its owner's. */
struct rove_batch {
	struct rove_train train;
	struct rove_seg first;		/* of the open train */
	u32 bytes;
	u32 packets;
};

/* Writes the payload of @seg, seg->pkt.len bytes. */
typedef enum rove_fault (*rove_fill_fn)(struct rove_qp *qp, const struct rove_seg *seg,
					u8 *payload);

/* The packets that follow go that way; no train is open. */
void rove_batch_to(struct rove_qp *qp, struct rove_batch *b, struct rove_path *path,
		   struct rove_route *route);

static inline void rove_batch_begin(struct rove_batch *b)
{
	b->bytes = 0;
	b->packets = 0;
}

/**
 * rove_batch_add() - add one packet
 * @lost: set on failure
 *
 * Hands the open train over before where the packet does not fit.
 *
 * Return: 0; a fault of @fill; or an errno after the stack took nothing from *@lost on.
 */
int rove_batch_add(struct rove_qp *qp, struct rove_batch *b, struct rove_seg *seg,
		   rove_fill_fn fill, const struct rove_seg **lost);

/* Packets with @pmtu bytes of payload that rove_batch_add_span() has room for. */
u32 rove_batch_span_max(const struct rove_batch *b, u32 pmtu);

/**
 * rove_batch_add_span() - add the packets of a span to the open train
 * @s:    at most as many as there is room for; cut behind the last one that was added
 * @seg:  the first one, as rove_span_seg() has it
 * @fill: for each of them
 *
 * Return: 0, or the fault of @fill of the one that follows the last one that was added. Then
 * not even the first one may have been added, and s->num is 0.
 */
enum rove_fault rove_batch_add_span(struct rove_qp *qp, struct rove_batch *b,
				    struct rove_span *s, struct rove_seg *seg, rove_fill_fn fill);

/* Hands the open train over. 0 or an errno: the stack took nothing from b->first on. */
int rove_batch_flush(struct rove_qp *qp, struct rove_batch *b);

static inline bool rove_batch_full(const struct rove_batch *b)
{
	return b->bytes >= ROVE_BATCH_BYTES || b->packets >= ROVE_BATCH_PACKETS ||
	       (b->bytes >= ROVE_BATCH_ENOUGH && rove_train_is_full(&b->train));
}

#endif /* ROVE_OBJ_BATCH_H */
