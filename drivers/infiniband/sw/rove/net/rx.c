// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From the listener's skb to QPs. One listener serves all links of a namespace:
 * the QP number, unique in the module, tells the link; the GSI's is found by the
 * destination address.
 *
 * What is dropped is counted at the QP's link, or before a QP is known at the link
 * that owns the destination GID. If no link does (an address of this host that has
 * nothing to do with RDMA), the skb is a drop of the stack's (skb:kfree_skb).
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include "../ip/path.h"
#include "../ip/rxpkt.h"
#include "../obj/dev.h"
#include "../obj/mcast.h"
#include "../obj/qp.h"
#include "../obj/run.h"
#include "../stats.h"
#include "../trace.h"
#include "../wire/opcode.h"
#include "gid.h"
#include "rx.h"

#define GSI_QPN		1

/* Whom the skb is for: destination GID, in a namespace, over a netdev. */
struct dest {
	struct net *net;
	union ib_gid gid;
	int ifindex;
	bool mcast;
};

static void read_dest(struct dest *d, const struct sk_buff *skb)
{
	d->net = dev_net(skb->dev);
	d->ifindex = skb->dev->ifindex;
	if (ip_hdr(skb)->version == 6) {
		memcpy(d->gid.raw, &ipv6_hdr(skb)->daddr, sizeof(d->gid));
		/* That of the address, even if it came over the loopback device. */
		d->ifindex = inet6_iif(skb);
	} else {
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, (struct in6_addr *)d->gid.raw);
	}
	d->mcast = rdma_is_multicast_addr((struct in6_addr *)d->gid.raw);
}

/* The owner of the destination, or NULL. */
static struct rove_dev *dest_dev(const struct dest *d)
{
	return rove_gid_find_dev(d->net, &d->gid, d->ifindex);
}

/* The QP of the current packet; NULL and a reason: there is none, or not for this peer. */
static struct rove_qp *find_qp(const struct rove_rxpkt *rx, const struct dest *d,
			       struct rove_dev **dev, enum rove_drop *why)
{
	u32 qpn = rx->pkt.dqpn;
	struct rove_qp *qp;

	if (qpn == GSI_QPN) {
		*dev = dest_dev(d);
		qp = *dev ? rcu_dereference((*dev)->gsi) : NULL;
	} else {
		qp = rove_qp_find(qpn);
	}
	if (unlikely(!qp)) {
		*why = ROVE_DROP_QPN;
		return NULL;
	}
	*dev = qp->dev;
	if (unlikely(rx->pkt.opcode == ROVE_OPCODE_CNP)) {
		*why = ROVE_DROP_CNP;
		return NULL;
	}
	if (!qp->limits.ud) {
		/* A path that is being changed matches nobody, or its old or new peer. */
		if (READ_ONCE(qp->path_set) && rove_path_is_from(&qp->path, rx->skb))
			return qp;
	} else if (rove_gid_is_of(qp->dev, d->net, &d->gid)) {
		return qp;
	}
	*why = ROVE_DROP_ADDR;
	return NULL;
}

/* @qpn: of the packet, 0 if it could not be read. */
static void count_drop(struct rove_dev *dev, const struct dest *d, u32 qpn, enum rove_drop why)
{
	trace_rove_drop(qpn, why);
	if (!dev)
		dev = dest_dev(d);
	if (dev)
		rove_stat_drop(dev->stats, why);
}

/*
 * Each member gets the packets from here on that are for the group; @rx moves behind
 * them. Return: whether there was one.
 */
static bool run_mcast(struct rove_rxpkt *rx, const struct dest *d, bool *more)
{
	struct rove_rxpkt start = *rx;
	struct rove_mcast_member *member;
	struct rove_mcast *m = NULL;
	bool used = false;

	while ((m = rove_mcast_next(m, &d->gid, rx->skb->dev))) {
		list_for_each_entry_rcu(member, &m->members, node) {
			if (used)
				*rx = start;
			used = true;
			*more = rove_run_packets(member->qp, rx);
		}
	}
	return used;
}

/* Return: whether a QP got any of it. */
static bool run_train(struct rove_rxpkt *rx, const struct dest *d)
{
	enum rove_drop why = rove_rxpkt_read(rx);
	struct rove_dev *dev;
	struct rove_qp *qp;
	bool used = false, more = false;
	u32 qpn;

	for (;;) {
		dev = NULL;
		qpn = why ? 0 : rx->pkt.dqpn;
		if (unlikely(!why && d->mcast)) {
			if (rx->pkt.dqpn != ROVE_MULTICAST_QPN) {
				why = ROVE_DROP_QPN;
			} else if (run_mcast(rx, d, &more)) {
				used = true;
				if (!more)
					return true;
				continue;
			} else {
				why = ROVE_DROP_ADDR;
			}
		}
		qp = why ? NULL : find_qp(rx, d, &dev, &why);
		if (likely(qp)) {
			if (!used)
				rove_stat_add(READ_ONCE(qp->stats), ROVE_STAT_RX_TRAINS, 1);
			used = true;
			if (!rove_run_packets(qp, rx))
				return true;
			/* The next one's headers were read. */
			continue;
		}
		count_drop(dev, d, qpn, why);
		if (!rove_rxpkt_next(rx))
			return used;
		why = rove_rxpkt_read(rx);
	}
}

void rove_rx(struct sk_buff *skb, enum rove_drop why)
{
	struct rove_rxpkt rx __uninitialized;
	struct dest d __uninitialized;

	/* An skb may be kept for a while; nothing else is to be kept by it. */
	nf_reset_ct(skb);
	skb_orphan(skb);
	read_dest(&d, skb);
	skb_dst_drop(skb);

	if (!why && !rove_rxpkt_begin(&rx, skb))
		why = ROVE_DROP_SHORT;
	if (why)
		count_drop(NULL, &d, 0, why);
	if (!why && run_train(&rx, &d))
		consume_skb(skb);
	else
		kfree_skb_reason(skb, why == ROVE_DROP_XFRM ? SKB_DROP_REASON_XFRM_POLICY :
							      SKB_DROP_REASON_NO_SOCKET);
}
