/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a link learns of its netdev: state, MTU, speed, and that it goes away. */
#ifndef ROVE_NET_NETDEV_H
#define ROVE_NET_NETDEV_H

#include <linux/types.h>

struct ib_device;
struct ib_port_attr;
struct rove_dev;

/* Of struct ib_device_ops. Takes RTNL. */
int rove_netdev_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr);

/* Before ib_register_device(), with dev->ndev set; undone in dealloc_driver. */
int rove_netdev_remember(struct rove_dev *dev);
void rove_netdev_forget(struct rove_dev *dev);

int rove_netdev_init(void);
void rove_netdev_exit(void);

#endif /* ROVE_NET_NETDEV_H */
