/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Received packets: a train is walked packet by packet. The headers of each are
 * copied once; whatever is decided and whatever is summed uses that copy, since a
 * train may lie in pages that its sender can still write.
 */
#ifndef ROVE_IP_RXPKT_H
#define ROVE_IP_RXPKT_H

#include <linux/skbuff.h>
#include "../wire/parse.h"
#include "../wire/icrc.h"
#include "../wire/piece.h"

/* What completions tell of the netdev that a train came in by, which may go before they do. */
struct rove_rxdev {
	bool ether;
	bool tagged;		/* a VLAN: */
	u16 vlan;
};

struct rove_rxpkt {
	struct sk_buff *skb;	/* NULL: the packet came by function call; see pieces */
	u32 off;		/* of this packet's BTH, in the skb */
	u32 end;		/* of the train, in the skb */
	u32 piece;		/* bytes of each packet but the last */
	u32 total;		/* bytes of this one, BTH to ICRC */
	u32 index;		/* in the train */
	bool same_id;		/* all packets carry the first one's IP ID */
	bool counted_id;	/* no: they count up from it */
	bool bare;		/* the one that was read last has a BTH and a payload, no more */
	u16 id;			/* the first one's */
	struct rove_rxdev dev;
	/* the stretch of memory that was looked at last */
	const u8 *at;
	u32 at_off;		/* in the skb */
	u32 at_len;
	/* without an skb: where the payload lies; pkt and total are set, nothing else is */
	u32 pieces;
	struct rove_piece piece_of[ROVE_PIECES];
	struct rove_icrc_flow flow;
	struct rove_pkt pkt;
	u8 hdr[ROVE_MAX_HDR];
};

/*
 * skb->data at the IP header, transport header at UDP; both headers are in the
 * linear part. The skb stays the caller's, but may be linearised.
 *
 * Return: false when there is something between IP and UDP, when the lengths are
 * impossible, or when the skb is of a kind that cannot be read. skb->dev is looked at here
 * only; where it is NULL, rx->dev is for the caller to fill in.
 */
bool rove_rxpkt_begin(struct rove_rxpkt *rx, struct sk_buff *skb);

/*
 * Copies and parses the packet at rx->off: a reason to drop it, or NONE. In either
 * case rx->total is set, for rove_rxpkt_next().
 */
enum rove_drop rove_rxpkt_read(struct rove_rxpkt *rx);

/* Steps to the next packet; false at the end. */
bool rove_rxpkt_next(struct rove_rxpkt *rx);

/* Is the ICRC of the packet that was read right? Reads the whole payload. */
bool rove_rxpkt_icrc_ok(struct rove_rxpkt *rx);

/**
 * rove_rxpkt_copy() - the payload, in contiguous pieces
 * @fn: called with each piece; a result other than 0 ends the walk
 *
 * Return: 0 or what @fn returned.
 */
int rove_rxpkt_copy(struct rove_rxpkt *rx, int (*fn)(void *arg, const void *p, u32 len),
		    void *arg);

#endif /* ROVE_IP_RXPKT_H */
