// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include "mcast.h"

static bool has_group(const struct in_device *in_dev, __be32 addr)
{
	const struct ip_mc_list *im;

	for (im = rtnl_dereference(in_dev->mc_list); im; im = rtnl_dereference(im->next_rcu)) {
		if (im->multiaddr == addr)
			return true;
	}
	return false;
}

static int join4(struct net_device *ndev, __be32 addr)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, addr);
	/* It does not say when it has no memory. */
	return has_group(in_dev, addr) ? 0 : -ENOMEM;
}

int rove_mcast_join(struct net_device *ndev, const struct in6_addr *addr)
{
	int err;

	rtnl_lock();
	if (ndev->reg_state != NETREG_REGISTERED)
		err = -ENODEV;
	else if (ipv6_addr_v4mapped(addr))
		err = join4(ndev, addr->s6_addr32[3]);
	else if (ipv6_mod_enabled())
		err = ipv6_dev_mc_inc(ndev, addr);
	else
		err = -EAFNOSUPPORT;
	rtnl_unlock();
	return err == -EINVAL ? -ENODEV : err;
}

void rove_mcast_leave(struct net_device *ndev, const struct in6_addr *addr)
{
	struct in_device *in_dev;

	rtnl_lock();
	if (ipv6_addr_v4mapped(addr)) {
		in_dev = __in_dev_get_rtnl(ndev);
		if (in_dev)
			ip_mc_dec_group(in_dev, addr->s6_addr32[3]);
	} else if (ipv6_mod_enabled()) {
		ipv6_dev_mc_dec(ndev, addr);
	}
	rtnl_unlock();
}
