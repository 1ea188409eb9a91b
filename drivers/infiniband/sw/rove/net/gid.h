/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The GIDs of all links. Each has its namespace, that of its netdev, which is the
 * link's own or one on top of it; a namespace with a GID listens.
 */
#ifndef ROVE_NET_GID_H
#define ROVE_NET_GID_H

#include <rdma/ib_verbs.h>

struct net;
struct rove_dev;

/* Of struct ib_device_ops. May be called under RTNL. */
int rove_gid_add(const struct ib_gid_attr *attr, void **context);
int rove_gid_del(const struct ib_gid_attr *attr, void **context);

/*
 * The link that @gid in @net belongs to, or NULL. If it belongs to several, then
 * the one over the netdev @ifindex, or the one whose own netdev has it. RCU held.
 */
struct rove_dev *rove_gid_find_dev(const struct net *net, const union ib_gid *gid, int ifindex);

/* Does @dev have it? RCU held. */
bool rove_gid_is_of(const struct rove_dev *dev, const struct net *net, const union ib_gid *gid);

/*
 * The core never takes back a link's default GID. If its netdev should have lost
 * the address, then have the core look anew, in a moment. Any context; a reference
 * to the device is held.
 */
void rove_gid_recheck(struct rove_dev *dev);

/* The work behind rove_gid_recheck(), for the device's life. */
void rove_gid_init_dev(struct rove_dev *dev);
void rove_gid_exit_dev(struct rove_dev *dev);

int rove_gid_init(void);
void rove_gid_exit(void);

#endif /* ROVE_NET_GID_H */
