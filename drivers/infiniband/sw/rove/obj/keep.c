// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/skbuff.h>
#include "../ip/rxpkt.h"
#include "../wire/psn.h"
#include "keep.h"
#include "qp.h"

/* Of one QP: the window of a peer, in packets of 1 KiB that have a buffer each. */
#define KEEP_TRAINS	1024
#define KEEP_BYTES	SZ_4M

/* Which part of a train; in skb->cb. */
struct kept {
	u32 psn;	/* of its first packet */
	u32 off;
	u32 end;
	u32 index;
};

static struct kept *kept_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct kept) > sizeof(skb->cb));
	return (struct kept *)skb->cb;
}

/* Directly behind what was kept last, in the same train. */
static bool extend(struct rove_qp *qp, const struct rove_rxpkt *rx)
{
	struct sk_buff *last = skb_peek_tail(&qp->kept);

	if (!last || skb_shinfo(last) != skb_shinfo(rx->skb) || kept_of(last)->end != rx->off)
		return false;
	kept_of(last)->end = rx->off + rx->total;
	return true;
}

/* It may stay for long: it must not hold what others wait for. */
static struct sk_buff *copy_of(struct sk_buff *skb)
{
	struct sk_buff *clone = skb_clone(skb, GFP_ATOMIC);

	if (clone && skb_orphan_frags_rx(clone, GFP_ATOMIC)) {
		kfree_skb(clone);
		return NULL;
	}
	if (!clone)
		return NULL;
	skb_dst_drop(clone);
	nf_reset_ct(clone);
	skb_ext_reset(clone);
	clone->dev = NULL;
	return clone;
}

bool rove_keep(struct rove_qp *qp, const struct rove_rxpkt *rx)
{
	struct sk_buff *before, *clone;
	u32 psn = rx->pkt.psn;

	if (!rx->skb)
		return false;
	if (extend(qp, rx))
		return true;
	skb_queue_reverse_walk(&qp->kept, before) {
		if (rove_psn_diff(kept_of(before)->psn, psn) <= 0)
			break;
	}
	if (before != (struct sk_buff *)&qp->kept && kept_of(before)->psn == psn)
		return true;
	if (skb_queue_len(&qp->kept) >= KEEP_TRAINS ||
	    qp->kept_bytes + rx->skb->truesize > KEEP_BYTES)
		return false;
	clone = copy_of(rx->skb);
	if (!clone)
		return false;
	*kept_of(clone) = (struct kept){
		.psn = psn, .off = rx->off, .end = rx->off + rx->total, .index = rx->index,
	};
	qp->kept_bytes += clone->truesize;
	__skb_queue_after(&qp->kept, before, clone);
	return true;
}

static void unlink_kept(struct rove_qp *qp, struct sk_buff *skb)
{
	__skb_unlink(skb, &qp->kept);
	qp->kept_bytes -= skb->truesize;
}

struct sk_buff *rove_keep_take(struct rove_qp *qp, struct rove_rxpkt *rx)
{
	struct sk_buff *skb;
	struct kept k;
	s32 early;

	while ((skb = skb_peek(&qp->kept))) {
		k = *kept_of(skb);
		early = rove_resp_kept(&qp->resp, k.psn);
		if (early > 0)
			return NULL;
		unlink_kept(qp, skb);
		if (qp->resp.state == ROVE_RESP_RUN && rove_rxpkt_begin(rx, skb)) {
			rx->off = k.off;
			rx->end = k.end;
			rx->index = k.index;
			if (rove_rxpkt_read(rx) == ROVE_DROP_NONE)
				return skb;
		}
		kfree_skb(skb);
	}
	return NULL;
}

void rove_keep_rest(struct rove_qp *qp, struct sk_buff *skb, const struct rove_rxpkt *rx)
{
	*kept_of(skb) = (struct kept){
		.psn = rx->pkt.psn, .off = rx->off, .end = rx->end, .index = rx->index,
	};
	qp->kept_bytes += skb->truesize;
	__skb_queue_head(&qp->kept, skb);
}

void rove_keep_forget(struct rove_qp *qp)
{
	__skb_queue_purge(&qp->kept);
	qp->kept_bytes = 0;
}
