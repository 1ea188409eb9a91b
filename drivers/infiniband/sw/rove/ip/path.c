// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hashtable.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/dst.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include "../wire/pkt.h"
#include "path.h"

#define DEFAULT_HOP_LIMIT	64
#define FLOW_LABEL_MASK		0xfffff

/*
 * What all paths over one netdev share. It does not hold the netdev, so that an
 * upper one (VLAN, macvlan) can be deleted while QPs use its GIDs: the notifier
 * clears @ndev, and a grace period passes before the netdev goes.
 */
struct rove_netif {
	struct net_device __rcu *ndev;
	struct hlist_node node;		/* in netifs, as long as there is an ndev */
	refcount_t refs;		/* paths */
	struct rcu_head rcu;
};

/* irqsave: address handles come and go in any context. */
static DEFINE_SPINLOCK(netifs_lock);
static DEFINE_HASHTABLE(netifs, 6);

static struct rove_netif *find_netif(const struct net_device *ndev)
{
	struct rove_netif *netif;

	lockdep_assert_held(&netifs_lock);
	hash_for_each_possible(netifs, netif, node, (unsigned long)ndev) {
		if (rcu_access_pointer(netif->ndev) == ndev)
			return netif;
	}
	return NULL;
}

/* RCU held, so that @ndev stays. */
static struct rove_netif *get_netif(struct net_device *ndev)
{
	struct rove_netif *netif;
	unsigned long flags;

	spin_lock_irqsave(&netifs_lock, flags);
	/* The notifier has been here, or it comes later and finds the entry. */
	if (READ_ONCE(ndev->reg_state) != NETREG_REGISTERED) {
		netif = ERR_PTR(-ENODEV);
		goto out;
	}
	netif = find_netif(ndev);
	if (netif) {
		refcount_inc(&netif->refs);
		goto out;
	}
	netif = kzalloc_obj(*netif, GFP_ATOMIC);
	if (!netif) {
		netif = ERR_PTR(-ENOMEM);
		goto out;
	}
	refcount_set(&netif->refs, 1);
	rcu_assign_pointer(netif->ndev, ndev);
	hash_add(netifs, &netif->node, (unsigned long)ndev);
out:
	spin_unlock_irqrestore(&netifs_lock, flags);
	return netif;
}

static void put_netif(struct rove_netif *netif)
{
	unsigned long flags;

	spin_lock_irqsave(&netifs_lock, flags);
	if (refcount_dec_and_test(&netif->refs)) {
		hash_del(&netif->node);
		kfree_rcu(netif, rcu);
	}
	spin_unlock_irqrestore(&netifs_lock, flags);
}

void rove_path_netdev_gone(struct net_device *ndev)
{
	struct rove_netif *netif;

	spin_lock_irq(&netifs_lock);
	netif = find_netif(ndev);
	if (netif) {
		hash_del(&netif->node);
		RCU_INIT_POINTER(netif->ndev, NULL);
	}
	spin_unlock_irq(&netifs_lock);
}

/* Both addresses, which must be of one family. */
static int init_addrs(struct rove_path *path, const union ib_gid *sgid, const union ib_gid *dgid)
{
	const struct in6_addr *s = (const struct in6_addr *)sgid->raw;
	const struct in6_addr *d = (const struct in6_addr *)dgid->raw;
	bool v4 = ipv6_addr_v4mapped(s);

	if (v4 != ipv6_addr_v4mapped(d))
		return -EINVAL;
	path->v6 = !v4;
	if (v4) {
		path->saddr4 = s->s6_addr32[3];
		path->daddr4 = d->s6_addr32[3];
		/* To the stack "any" means this host. */
		return path->daddr4 ? 0 : -EINVAL;
	}
	path->saddr6 = *s;
	path->daddr6 = *d;
	return ipv6_addr_any(d) ? -EINVAL : 0;
}

int rove_path_init(struct rove_path *path, const struct rdma_ah_attr *attr, u32 hash)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct net_device *ndev;
	u32 label;
	int err;

	memset(path, 0, sizeof(*path));
	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !grh->sgid_attr)
		return -EINVAL;
	err = init_addrs(path, &grh->sgid_attr->gid, &grh->dgid);
	if (err)
		return err;

	path->hop_limit = grh->hop_limit ?: DEFAULT_HOP_LIMIT;
	path->tclass = grh->traffic_class;
	path->sgid_index = grh->sgid_index;
	path->flow_label = grh->flow_label & FLOW_LABEL_MASK;
	path->priority = rt_tos2priority(grh->traffic_class);
	path->hash = hash_32(hash, 32) ?: 1;
	label = path->flow_label ?: path->hash & FLOW_LABEL_MASK;
	path->sport = htons(rdma_flow_label_to_udp_sport(label));
	atomic_set(&path->ip_id, get_random_u32());

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(grh->sgid_attr);
	if (IS_ERR(ndev)) {
		err = -ENODEV;
	} else {
		path->netif = get_netif(ndev);
		err = PTR_ERR_OR_ZERO(path->netif);
		if (err)
			path->netif = NULL;
	}
	rcu_read_unlock();
	return err;
}

void rove_path_release(struct rove_path *path)
{
	if (path->netif)
		put_netif(path->netif);
	path->netif = NULL;
}

static struct dst_entry *lookup4(const struct rove_path *path, const struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	int oif = ndev->ifindex;
	struct flowi4 fl;
	struct rtable *rt;

	/*
	 * The GID's netdev is the way out, but not to the addresses of this host:
	 * they may be on any netdev of it.
	 */
	if (inet_addr_type_dev_table(net, ndev, path->daddr4) == RTN_LOCAL)
		oif = l3mdev_master_ifindex_rcu(ndev);

	flowi4_init_output(&fl, oif, 0, path->tclass, RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   path->daddr4, path->saddr4, htons(ROVE_UDP_PORT), path->sport,
			   sock_net_uid(net, NULL));
	rt = ip_route_output_flow(net, &fl, NULL);
	if (IS_ERR(rt))
		/* What is wrong with these arguments can only be the source address. */
		return PTR_ERR(rt) == -EINVAL ? ERR_PTR(-EADDRNOTAVAIL) : ERR_CAST(rt);
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return ERR_PTR(-EHOSTUNREACH);
	}
	return &rt->dst;
}

static struct dst_entry *lookup6(const struct rove_path *path, const struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct flowi6 fl = {
		.flowi6_oif = ndev->ifindex,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(net, NULL),
		.flowlabel = ip6_make_flowinfo(path->tclass, htonl(path->flow_label)),
		.saddr = path->saddr6,
		.daddr = path->daddr6,
		.fl6_sport = path->sport,
		.fl6_dport = htons(ROVE_UDP_PORT),
	};
	struct dst_entry *dst;
	int err;

	if (!ipv6_mod_enabled())
		return ERR_PTR(-EAFNOSUPPORT);
	/* A tentative address will do, as it does for its GID. */
	if (!ipv6_chk_addr_and_flags(net, &path->saddr6, ndev, false, 1, 0))
		return ERR_PTR(-EADDRNOTAVAIL);

	dst = ip6_dst_lookup_flow(net, NULL, &fl, NULL);
	if (!IS_ERR(dst) && dst->error) {
		err = dst->error;
		dst_release(dst);
		return ERR_PTR(err);
	}
	return dst;
}

struct dst_entry *rove_route_get(struct rove_route *route, const struct rove_path *path)
{
	struct dst_entry *dst = route->dst;
	struct net_device *ndev;

	if (likely(dst && dst_check(dst, route->cookie)))
		return dst;
	rove_route_drop(route);

	rcu_read_lock();
	ndev = rcu_dereference(path->netif->ndev);
	if (!ndev || !netif_running(ndev))
		dst = ERR_PTR(-ENETDOWN);
	else if (path->v6)
		dst = lookup6(path, ndev);
	else
		dst = lookup4(path, ndev);
	rcu_read_unlock();
	if (IS_ERR(dst))
		return dst;

	route->dst = dst;
	if (path->v6)
		route->cookie = rt6_get_cookie(dst_rt6_info(dst));
	return dst;
}

void rove_route_drop(struct rove_route *route)
{
	dst_release(route->dst);
	route->dst = NULL;
	route->cookie = 0;
}

bool rove_path_is_from(const struct rove_path *path, const struct sk_buff *skb)
{
	/* A path that is being set is not there yet. */
	const struct rove_netif *netif = READ_ONCE(path->netif);
	const struct net_device *ndev;

	ndev = netif ? rcu_dereference(netif->ndev) : NULL;
	if (!ndev || !net_eq(dev_net(ndev), dev_net(skb->dev)))
		return false;
	if (path->v6)
		return ip_hdr(skb)->version == 6 &&
		       ipv6_addr_equal(&ipv6_hdr(skb)->saddr, &path->daddr6) &&
		       ipv6_addr_equal(&ipv6_hdr(skb)->daddr, &path->saddr6);
	return ip_hdr(skb)->version == 4 && ip_hdr(skb)->saddr == path->daddr4 &&
	       ip_hdr(skb)->daddr == path->saddr4;
}

bool rove_path_meets(const struct rove_path *path, const struct rove_path *back)
{
	/* Either may be set just now, and not be there yet. */
	const struct rove_netif *from = READ_ONCE(path->netif), *to = READ_ONCE(back->netif);
	const struct net_device *a, *b;

	a = from ? rcu_dereference(from->ndev) : NULL;
	b = to ? rcu_dereference(to->ndev) : NULL;
	if (!a || !b || !net_eq(dev_net(a), dev_net(b)) || path->v6 != back->v6)
		return false;
	if (path->v6)
		return ipv6_addr_equal(&path->saddr6, &back->daddr6) &&
		       ipv6_addr_equal(&path->daddr6, &back->saddr6);
	return path->saddr4 == back->daddr4 && path->daddr4 == back->saddr4;
}
