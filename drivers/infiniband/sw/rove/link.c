// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A link's life: from `rdma link add` to the last reference. */
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <net/addrconf.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rove-abi.h>
#include "ip/sock.h"
#include "link.h"
#include "net/gid.h"
#include "net/netdev.h"
#include "obj/dev.h"
#include "obj/engine.h"
#include "verbs/ops.h"
#include "verbs/settings.h"

/* The last reference is gone: no verb, no context, no GID. */
static void dealloc_driver(struct ib_device *ib)
{
	struct rove_dev *dev = rove_dev_of(ib);

	rove_netdev_forget(dev);
	rove_engine_stop(dev);
	rove_sock_put(dev->sock);
	rove_mr_table_exit(&dev->mrs);
	xa_destroy(&dev->ahs);
	xa_destroy(&dev->counters);
	free_percpu(dev->stats);
	netdev_put(dev->ndev, &dev->tracker);
}

/* What net/ answers; verbs/ has the rest. */
static const struct ib_device_ops net_ops = {
	.add_gid = rove_gid_add,
	.del_gid = rove_gid_del,
	.query_port = rove_netdev_query_port,
	.dealloc_driver = dealloc_driver,
};

static int init_dev(struct rove_dev *dev, struct net_device *ndev)
{
	int err;

	dev->stats = alloc_percpu(struct rove_stats);
	if (!dev->stats)
		return -ENOMEM;
	rove_mr_table_init(&dev->mrs);
	dev->pkeys[0] = ROVE_DEFAULT_PKEY;
	rove_settings_default(dev);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	dev->ah_next = get_random_u32() >> 8;

	/* Fails when another RoCE driver has the port there. */
	dev->sock = rove_sock_get(dev_net(ndev));
	if (IS_ERR(dev->sock)) {
		err = PTR_ERR(dev->sock);
		goto err_stats;
	}

	netdev_hold(ndev, &dev->tracker, GFP_KERNEL);
	dev->ndev = ndev;
	err = rove_engine_start(dev);
	if (err)
		goto err_netdev;
	return 0;

err_netdev:
	netdev_put(ndev, &dev->tracker);
	rove_sock_put(dev->sock);
err_stats:
	free_percpu(dev->stats);
	return err;
}

static int register_dev(struct rove_dev *dev, const char *name)
{
	struct ib_device *ib = &dev->ib;
	int err;

	strscpy(ib->node_desc, "rove", sizeof(ib->node_desc));
	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	addrconf_addr_eui48((u8 *)&ib->node_guid, dev->ndev->dev_addr);
	/* The kick is a post_send call with an empty list; who polls in vain lends its CPU. */
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_POLL_CQ);

	ib_mark_name_assigned_by_user(ib);
	ib_set_device_ops(ib, &rove_dev_ops);
	ib_set_device_ops(ib, &net_ops);
	err = ib_device_set_netdev(ib, dev->ndev, 1);
	if (err)
		return err;
	err = rove_netdev_remember(dev);
	if (err)
		return err;
	err = ib_register_device(ib, name, NULL);
	/* What it says when the name is taken. */
	return err == -ENFILE ? -EEXIST : err;
}

/* `rdma link add NAME type rove netdev NDEV`; the core holds @ndev meanwhile. */
static int newlink(const char *name, struct net_device *ndev)
{
	struct ib_device *ib;
	struct rove_dev *dev;
	int err;

	if (ndev->type != ARPHRD_ETHER) {
		pr_debug("rove: %s: %s is not an Ethernet netdev\n", name, ndev->name);
		return -EOPNOTSUPP;
	}
	ib = ib_device_get_by_netdev(ndev, ROVE_DRIVER_ID);
	if (ib) {
		pr_debug("rove: %s: %s has a link already\n", name, ndev->name);
		ib_device_put(ib);
		return -EEXIST;
	}

	dev = ib_alloc_device_with_net(rove_dev, ib, dev_net(ndev));
	if (!dev)
		return -ENOMEM;
	err = init_dev(dev, ndev);
	if (err) {
		pr_debug("rove: %s: cannot listen on UDP 4791 (%d)\n", name, err);
		goto err_dealloc;
	}
	err = register_dev(dev, name);
	if (err) {
		pr_debug("rove: %s: not registered (%d)\n", name, err);
		goto err_dealloc;
	}
	return 0;

err_dealloc:
	/* Calls dealloc_driver(), if it got as far as being told of it. */
	ib_dealloc_device(&dev->ib);
	return err;
}

static struct rdma_link_ops link_ops = {
	.type = "rove",
	.newlink = newlink,
};

int rove_link_init(void)
{
	rdma_link_register(&link_ops);
	return 0;
}

void rove_link_exit(void)
{
	rdma_link_unregister(&link_ops);
	ib_unregister_driver(ROVE_DRIVER_ID);
}
