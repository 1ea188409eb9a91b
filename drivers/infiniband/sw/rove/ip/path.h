/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where the packets of a connected QP or an address handle go. */
#ifndef ROVE_IP_PATH_H
#define ROVE_IP_PATH_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/types.h>

struct dst_entry;
struct net;
struct net_device;
struct rdma_ah_attr;
struct rove_netif;
struct sk_buff;

/*
 * Constant from rove_path_init() on, but for ip_id. May be copied, if just one of
 * the copies is released.
 */
struct rove_path {
	bool v6;
	u8 hop_limit;
	u8 tclass;
	u8 sgid_index;
	u32 flow_label;
	u32 priority;			/* skb->priority */
	u32 hash;			/* skb->hash */
	__be16 sport;
	union {
		__be32 saddr4;
		struct in6_addr saddr6;
	};
	union {
		__be32 daddr4;
		struct in6_addr daddr6;
	};
	struct rove_netif *netif;	/* of the source GID; a reference */
	atomic_t ip_id;			/* IPv4 identification of the next packet */
};

/* The one leads from an address to another of a namespace, the other back. RCU. */
bool rove_path_meets(const struct rove_path *path, const struct rove_path *back);

/* A cached route, private to one owner (a half of a QP). Zeroed: none yet. */
struct rove_route {
	struct dst_entry *dst;
	u32 cookie;
};

/**
 * rove_path_init() - from what modify_qp and create_ah are given
 * @attr: with a GRH whose sgid_attr is held by the caller
 * @hash: spreads connections over UDP source ports (49152-65535)
 *
 * Any context. No netdev is held: paths over one that is being unregistered turn
 * dead instead.
 *
 * Return: 0, -EINVAL (no GRH, no destination, GIDs of different families),
 * -ENODEV (the GID's netdev is gone), -ENOMEM.
 */
int rove_path_init(struct rove_path *path, const struct rdma_ah_attr *attr, u32 hash);
/* Any context. Who may still see the path under RCU may do so for a grace period. */
void rove_path_release(struct rove_path *path);

/**
 * rove_route_get() - a valid route for @path, looked up if need be
 *
 * Any context but hardirq; BH off; the caller owns @route. The reference stays
 * with @route.
 *
 * Return: the dst, or an ERR_PTR: -ENETUNREACH, -EHOSTUNREACH, -ENETDOWN,
 * -EADDRNOTAVAIL (the source address is gone), or whatever the stack says.
 */
struct dst_entry *rove_route_get(struct rove_route *route, const struct rove_path *path);
/* Any context but hardirq. */
void rove_route_drop(struct rove_route *route);

/*
 * The packet is of the path's namespace, and its addresses are those of the path,
 * exchanged. RCU held; skb->data at the IP header.
 */
bool rove_path_is_from(const struct rove_path *path, const struct sk_buff *skb);

/* @ndev is being unregistered: paths over it lead nowhere from now on. */
void rove_path_netdev_gone(struct net_device *ndev);

#endif /* ROVE_IP_PATH_H */
