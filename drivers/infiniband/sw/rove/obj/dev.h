/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A link: one ib_device on one netdev. */
#ifndef ROVE_OBJ_DEV_H
#define ROVE_OBJ_DEV_H

#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "../mem/mr.h"
#include "../proto/pkey.h"
#include "../stats.h"

struct rove_engine;
struct rove_qp;
struct rove_sock;

struct rove_dev {
	struct ib_device ib;		/* first: allocated by ib_alloc_device() */
	struct net_device *ndev;	/* held until dealloc_driver */
	netdevice_tracker tracker;
	struct rove_stats __percpu *stats;
	struct xarray counters;		/* verbs/v_counter: percpu rove_stats by number */
	struct rove_mr_table mrs;
	struct xarray ahs;		/* user AHs by handle; under RCU, xa_lock */
	u32 ah_next;
	struct rove_engine *engine;
	struct rove_qp __rcu *gsi;	/* QP 1 */
	struct rove_sock *sock;		/* the netdev's namespace listens */
	struct delayed_work gid_work;	/* net/gid */
	enum ib_port_state port_state;	/* as last told; under RTNL */
	/* written by verbs/settings */
	bool udp_csum;			/* off: no trains either */
	bool same_host;			/* peers here are called, not sent to */
	/* The port's partitions, 0: none. Written by verbs/pkeys, read by packets at any time. */
	u16 pkeys[ROVE_PKEY_TABLE_LEN];
};

#define ROVE_GID_TABLE_LEN	64

/*
 * The path MTU that fits into a netdev's @mtu: IPv6 (40), UDP (8), BTH (12), the
 * longest extended headers (28), ICRC (4). 0: none does.
 */
static inline enum ib_mtu rove_dev_mtu(unsigned int mtu)
{
	return mtu < 256 + 92 ? 0 : ib_mtu_int_to_enum(mtu - 92);
}

static inline struct rove_dev *rove_dev_of(struct ib_device *ib)
{
	return container_of(ib, struct rove_dev, ib);
}

#endif /* ROVE_OBJ_DEV_H */
