/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Trains: many RoCE packets of equal length (but a shorter last one), each with
 * its own ICRC, in one skb that the stack carries whole as UDP GSO and that only
 * the device, or nobody, splits. The cost of the stack is per skb.
 *
 * A train lives on the stack of its builder, with BH off from rove_train_begin()
 * to rove_train_flush(); several trains of one BH-off section follow each other
 * in one struct. A CPU has one open train at a time: whoever reserved something
 * flushes (or cancels the only packet) before another train is begun there.
 */
#ifndef ROVE_IP_TRAIN_H
#define ROVE_IP_TRAIN_H

#include <linux/types.h>
#include "../wire/icrc.h"

struct page;
struct rove_path;
struct rove_route;

/* A stretch of a page; a packet never lies in two. */
struct rove_train_frag {
	struct page *page;
	u32 off;
	u32 len;
};

#define ROVE_TRAIN_FRAGS	4

struct rove_train {
	struct rove_path *path;
	struct rove_route *route;
	/* the open train */
	u32 count;		/* packets in it */
	u32 max_count;		/* that it may have */
	u32 used;		/* bytes in it */
	u32 max_used;
	u32 piece;		/* length of its packets */
	bool closed;		/* its last packet was shorter */
	int cpu;		/* its transmit queue is used; may be set after begin */
	bool single;		/* no trains, no UDP checksum; may be set after begin */
	u16 ip_id;		/* of the first packet */
	struct rove_icrc_flow flow;
	/* where it lies; the last one grows */
	u32 nr_frags;
	struct rove_train_frag frags[ROVE_TRAIN_FRAGS];
	u8 *next;		/* behind its last packet */
	u32 room;		/* bytes there */
	u32 reserved;		/* of them handed out, not committed yet */
};

/* Nothing is allocated or looked up yet. */
void rove_train_begin(struct rove_train *t, struct rove_path *path, struct rove_route *route);

/**
 * rove_train_reserve() - room for one more packet
 * @len: bytes from the BTH to the end of the ICRC
 *
 * The caller writes headers, payload and pad there (not the ICRC), then calls
 * rove_train_commit(), or rove_train_cancel().
 *
 * Return: where to write, ERR_PTR(-EAGAIN) when the packet does not fit into the
 * open train (flush it and try again), -EMSGSIZE (it fits into none), -ENOMEM, or
 * what rove_route_get() returns.
 */
u8 *rove_train_reserve(struct rove_train *t, u32 len);

/* @hdr_len: bytes of BTH and extended headers that were written. */
void rove_train_commit(struct rove_train *t, u32 hdr_len);
void rove_train_cancel(struct rove_train *t);

/**
 * rove_train_flush() - hand the open train to the stack, if there is one
 *
 * Packets that do not fit into the MTU are lost, as on any way.
 *
 * Return: 0; -EAGAIN if the stack dropped it (queue full), -ENOMEM, or what the
 * stack says (-EMSGSIZE, -EPERM by a firewall). In each case the train is empty
 * afterwards.
 */
int rove_train_flush(struct rove_train *t);

/* One more packet of @len bytes, BTH to ICRC, may go into the train, which is open. */
static inline bool rove_train_allows(const struct rove_train *t, u32 len)
{
	return !t->closed && t->count < t->max_count && len <= t->piece &&
	       len <= t->max_used - t->used;
}

/* ...and rove_train_reserve() cannot fail for it. */
static inline bool rove_train_takes(const struct rove_train *t, u32 len)
{
	return t->count && rove_train_allows(t, len) && len <= t->room;
}

/* So many packets of @len bytes at least, all as long as the first one, does it take then. */
static inline u32 rove_train_takes_many(const struct rove_train *t, u32 len)
{
	if (!rove_train_takes(t, len) || len != t->piece)
		return 0;
	return min(t->max_count - t->count, min(t->max_used - t->used, t->room) / len);
}

/* One more packet of the same length would go into another train. */
static inline bool rove_train_is_full(const struct rove_train *t)
{
	return t->count && (t->count == t->max_count || t->piece > t->max_used - t->used);
}

/* Skbs that this CPU has given to the stack, running freely. BH off. */
u32 rove_train_sent(void);

/* Module init and exit: the recycled pages that trains are built in. */
int rove_train_init(void);
void rove_train_exit(void);

#endif /* ROVE_IP_TRAIN_H */
