/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where the packets of a connected QP or an address handle go. */
#ifndef ROVE_IP_PATH_H
#define ROVE_IP_PATH_H

#include <linux/netdevice.h>
#include <net/ipv6.h>
#include "../wire/icrc.h"

struct rdma_ah_attr;

/* Constant from rove_path_init() on, but for ip_id. */
struct rove_path {
	bool v6;
	u8 hop_limit;
	u8 tclass;
	u8 sgid_index;
	u32 flow_label;
	u32 priority;			/* skb->priority */
	__be16 sport;
	union {
		__be32 saddr4;
		struct in6_addr saddr6;
	};
	union {
		__be32 daddr4;
		struct in6_addr daddr6;
	};
	struct net_device *ndev;	/* of the source GID; held */
	netdevice_tracker tracker;
	atomic_t ip_id;			/* IPv4 identification of the next packet */
};

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
 * Return: 0, -EINVAL (no GRH, GIDs of different families), -ENODEV (the GID's
 * netdev is gone).
 */
int rove_path_init(struct rove_path *path, const struct rdma_ah_attr *attr, u32 hash);
void rove_path_release(struct rove_path *path);

/**
 * rove_route_get() - a valid route for @path, looked up if need be
 *
 * Any context but hardirq; BH off; the caller owns @route. The reference stays
 * with @route.
 *
 * Return: the dst, or an ERR_PTR: -ENETUNREACH, -EHOSTUNREACH, -ENETDOWN.
 */
struct dst_entry *rove_route_get(struct rove_route *route, const struct rove_path *path);
void rove_route_drop(struct rove_route *route);

/* The source and destination of @path match the packet's, exchanged. */
bool rove_path_is_from(const struct rove_path *path, const struct sk_buff *skb);

#endif /* ROVE_IP_PATH_H */
