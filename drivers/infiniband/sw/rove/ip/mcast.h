/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Membership of this host in IP multicast groups: IGMP, MLD and the netdev's filter. */
#ifndef ROVE_IP_MCAST_H
#define ROVE_IP_MCAST_H

struct in6_addr;
struct net_device;

/**
 * rove_mcast_join() - this host listens to a group on a netdev
 * @addr: IPv6, or IPv4 in its mapped form; multicast
 *
 * Counted: as many joins as leaves. Sleeps; takes RTNL.
 *
 * Return: 0, -ENODEV (the netdev has no addresses of that family), -EAFNOSUPPORT,
 * -ENOMEM.
 */
int rove_mcast_join(struct net_device *ndev, const struct in6_addr *addr);
/* Sleeps; takes RTNL. Harmless when the netdev has lost all its groups meanwhile. */
void rove_mcast_leave(struct net_device *ndev, const struct in6_addr *addr);

#endif /* ROVE_IP_MCAST_H */
