/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Multicast groups: which QPs of a link are to have what is sent to a GID. */
#ifndef ROVE_OBJ_MCAST_H
#define ROVE_OBJ_MCAST_H

#include <linux/rculist.h>
#include <rdma/ib_verbs.h>

struct net_device;
struct rove_dev;
struct rove_qp;

/* Both found under RCU. */
struct rove_mcast_member {
	struct list_head node;		/* in members */
	struct rove_qp *qp;
	struct rcu_head rcu;
};

struct rove_mcast {
	struct hlist_node node;		/* in the table of groups */
	struct rove_dev *dev;
	union ib_gid gid;
	struct list_head members;
	struct rcu_head rcu;
};

/**
 * rove_mcast_attach() - @qp gets what is sent to @gid
 *
 * With a group's first QP the host joins it on the link's netdev. Sleeps; takes RTNL.
 *
 * Return: 0, -EEXIST (attached already), -ENOMEM, or what rove_mcast_join() returns.
 */
int rove_mcast_attach(struct rove_qp *qp, const union ib_gid *gid);
/* Return: -EINVAL if it was not attached. No packet of the group is on its way to it after. */
int rove_mcast_detach(struct rove_qp *qp, const union ib_gid *gid);

/*
 * The next group of @gid after @m (NULL: the first) whose link lies on @ndev or below
 * it. RCU held.
 */
struct rove_mcast *rove_mcast_next(struct rove_mcast *m, const union ib_gid *gid,
				   struct net_device *ndev);

#endif /* ROVE_OBJ_MCAST_H */
