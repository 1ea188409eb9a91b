// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>
#include <rdma/rove-abi.h>
#include "../ip/path.h"
#include "../obj/dev.h"
#include "gid.h"
#include "netdev.h"

#define MAX_MSG_SIZE	BIT(31)
#define PORT_CAPS	IB_UVERBS_PCF_CM_SUP

int rove_netdev_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct rove_dev *dev = rove_dev_of(ib);
	struct net_device *ndev = dev->ndev;
	int err;

	err = ib_get_eth_speed(ib, port, &attr->active_speed, &attr->active_width);
	if (err)
		return err;

	attr->state = ib_get_curr_port_state(ndev);
	if (attr->state == IB_PORT_ACTIVE)
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	else if (netif_running(ndev))
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	else
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;

	attr->max_mtu = IB_MTU_4096;
	/* There is no name for less than the least. */
	attr->active_mtu = rove_dev_mtu(READ_ONCE(ndev->mtu)) ?: IB_MTU_256;
	attr->gid_tbl_len = ROVE_GID_TABLE_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = PORT_CAPS;
	attr->pkey_tbl_len = ROVE_PKEY_TABLE_LEN;
	attr->bad_pkey_cntr = rove_stat_sum(dev->stats, ROVE_STAT_DROP + ROVE_DROP_PKEY);
	attr->qkey_viol_cntr = rove_stat_sum(dev->stats, ROVE_STAT_DROP + ROVE_DROP_QKEY);
	attr->max_msg_sz = MAX_MSG_SIZE;
	attr->max_vl_num = 1;
	return 0;
}

/* RTNL held. */
static void port_changed(struct rove_dev *dev, struct net_device *ndev)
{
	enum ib_port_state state = ib_get_curr_port_state(ndev);

	ASSERT_RTNL();
	if (state == dev->port_state)
		return;
	dev->port_state = state;
	/* Where the core does it too, it knows whether it has done so. */
	ib_dispatch_port_state_event(&dev->ib, ndev);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(data);
	struct rove_dev *dev;
	struct ib_device *ib;

	/* Any netdev may have GIDs of a link below it. */
	if (event == NETDEV_UNREGISTER)
		rove_path_netdev_gone(ndev);

	ib = ib_device_get_by_netdev(ndev, ROVE_DRIVER_ID);
	if (!ib)
		return NOTIFY_DONE;
	dev = rove_dev_of(ib);

	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
		rove_gid_recheck(dev);
		fallthrough;
	case NETDEV_DOWN:
		port_changed(dev, ndev);
		break;
	case NETDEV_UNREGISTER:
		/* The core's work takes it from here; netdev_hold() makes RTNL's owner wait. */
		ib_unregister_device_queued(ib);
		break;
	}
	/* A new MTU is seen by whoever asks. */
	ib_device_put(ib);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

int rove_netdev_remember(struct rove_dev *dev)
{
	dev->port_state = ib_get_curr_port_state(dev->ndev);
	rove_gid_init_dev(dev);
	return 0;
}

void rove_netdev_forget(struct rove_dev *dev)
{
	rove_gid_exit_dev(dev);
}

int rove_netdev_init(void)
{
	int err;

	err = rove_gid_init();
	if (err)
		return err;
	err = register_netdevice_notifier(&netdev_notifier);
	if (err)
		rove_gid_exit();
	return err;
}

void rove_netdev_exit(void)
{
	unregister_netdevice_notifier(&netdev_notifier);
	rove_gid_exit();
}
