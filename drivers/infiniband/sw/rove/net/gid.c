// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hashtable.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/rove-abi.h>
#include "../ip/sock.h"
#include "../obj/dev.h"
#include "gid.h"

/* Time for a netdev that comes up to get its link-local address back. */
#define RECHECK_DELAY	(HZ / 5)

/* From add_gid to del_gid; readers under RCU. */
struct gid {
	struct hlist_node node;		/* in gids; under gids_lock */
	union ib_gid gid;
	struct rove_dev *dev;
	struct net *net;		/* to compare with, no more */
	int ifindex;
	bool own;			/* of the link's own netdev */
	struct rove_sock *sock;
	struct rcu_head rcu;
};

static DEFINE_SPINLOCK(gids_lock);
static DEFINE_HASHTABLE(gids, 8);

static u32 hash(const union ib_gid *gid)
{
	return jhash(gid->raw, sizeof(gid->raw), 0);
}

static const struct in6_addr *addr_of(const union ib_gid *gid)
{
	return (const struct in6_addr *)gid->raw;
}

/* A tentative address will do: it is one in a second, and its owner knows it. */
static bool has_addr(struct net_device *ndev, const union ib_gid *gid)
{
	return ipv6_mod_enabled() &&
	       ipv6_chk_addr_and_flags(dev_net(ndev), addr_of(gid), ndev, false, 1, 0);
}

static bool is_link_local(const union ib_gid *gid)
{
	return ipv6_addr_type(addr_of(gid)) & IPV6_ADDR_LINKLOCAL;
}

int rove_gid_add(const struct ib_gid_attr *attr, void **context)
{
	struct rove_dev *dev = rove_dev_of(attr->device);
	struct net_device *ndev;
	struct gid *g;
	int err;

	/* The core holds it until del_gid is done. */
	ndev = rcu_dereference_protected(attr->ndev, true);
	/* The core makes up a default GID, whether the netdev has that address or not. */
	if (is_link_local(&attr->gid) && !has_addr(ndev, &attr->gid))
		return -EADDRNOTAVAIL;

	g = kzalloc_obj(*g);
	if (!g)
		return -ENOMEM;
	g->gid = attr->gid;
	g->dev = dev;
	g->net = dev_net(ndev);
	g->ifindex = ndev->ifindex;
	g->own = ndev == dev->ndev;
	g->sock = rove_sock_get(g->net);
	if (IS_ERR(g->sock)) {
		err = PTR_ERR(g->sock);
		kfree(g);
		return err;
	}
	*context = g;

	spin_lock(&gids_lock);
	hash_add_rcu(gids, &g->node, hash(&g->gid));
	spin_unlock(&gids_lock);
	return 0;
}

int rove_gid_del(const struct ib_gid_attr *attr, void **context)
{
	struct gid *g = *context;

	spin_lock(&gids_lock);
	hash_del_rcu(&g->node);
	spin_unlock(&gids_lock);

	rove_sock_put(g->sock);
	*context = NULL;
	kfree_rcu(g, rcu);
	return 0;
}

static bool is_gid(const struct gid *g, const struct net *net, const union ib_gid *gid)
{
	return !memcmp(&g->gid, gid, sizeof(*gid)) && net_eq(g->net, net);
}

struct rove_dev *rove_gid_find_dev(const struct net *net, const union ib_gid *gid, int ifindex)
{
	struct rove_dev *dev = NULL;
	int best = -1, rank;
	struct gid *g;

	hash_for_each_possible_rcu(gids, g, node, hash(gid)) {
		if (!is_gid(g, net, gid))
			continue;
		rank = 2 * (g->ifindex == ifindex) + g->own;
		if (rank > best) {
			best = rank;
			dev = g->dev;
		}
	}
	return dev;
}

bool rove_gid_is_of(const struct rove_dev *dev, const struct net *net, const union ib_gid *gid)
{
	struct gid *g;

	hash_for_each_possible_rcu(gids, g, node, hash(gid)) {
		if (g->dev == dev && is_gid(g, net, gid))
			return true;
	}
	return false;
}

/* ---- the default GID ------------------------------------------------------ */

/* The netdev of the default GID if that is out of date; held. */
static struct net_device *stale_default(struct rove_dev *dev)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;

	attr = rdma_get_gid_attr(&dev->ib, 1, 0);
	if (IS_ERR(attr))
		return NULL;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	/* While a netdev is down, or has no carrier yet, nothing works there anyway. */
	if (IS_ERR(ndev) || !netif_running(ndev) || !netif_carrier_ok(ndev) ||
	    has_addr(ndev, &attr->gid))
		ndev = NULL;
	dev_hold(ndev);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return ndev;
}

static void recheck(struct work_struct *work)
{
	struct rove_dev *dev = container_of(to_delayed_work(work), struct rove_dev, gid_work);
	struct net_device *ndev;

	/* Being unregistered? */
	if (!ib_device_try_get(&dev->ib))
		return;
	ndev = stale_default(dev);
	if (ndev) {
		/* There is no taking back a single one. */
		roce_del_all_netdev_gids(&dev->ib, 1, ndev);
		rdma_roce_rescan_port(&dev->ib, 1);
	}
	dev_put(ndev);
	ib_device_put(&dev->ib);
}

void rove_gid_recheck(struct rove_dev *dev)
{
	mod_delayed_work(system_wq, &dev->gid_work, RECHECK_DELAY);
}

void rove_gid_init_dev(struct rove_dev *dev)
{
	INIT_DELAYED_WORK(&dev->gid_work, recheck);
}

/* Who calls rove_gid_recheck() holds a reference; there are none any more. */
void rove_gid_exit_dev(struct rove_dev *dev)
{
	cancel_delayed_work_sync(&dev->gid_work);
}

/* Atomic. */
static int addr_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct inet6_ifaddr *ifa = data;
	struct ib_device *ib;

	if (event != NETDEV_DOWN || !(ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL))
		return NOTIFY_DONE;
	ib = ib_device_get_by_netdev(ifa->idev->dev, ROVE_DRIVER_ID);
	if (ib) {
		rove_gid_recheck(rove_dev_of(ib));
		ib_device_put(ib);
	}
	return NOTIFY_DONE;
}

static struct notifier_block addr_notifier = {
	.notifier_call = addr_event,
};

int rove_gid_init(void)
{
	return IS_ENABLED(CONFIG_IPV6) ? register_inet6addr_notifier(&addr_notifier) : 0;
}

void rove_gid_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&addr_notifier);
}
