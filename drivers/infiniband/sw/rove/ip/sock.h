/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One listener on UDP 4791 for each network namespace that has links or GIDs. */
#ifndef ROVE_IP_SOCK_H
#define ROVE_IP_SOCK_H

struct net;
struct sk_buff;

/**
 * rove_sock_get() - make sure that @net listens
 *
 * Sockets (IPv4, and IPv6 where the kernel has it) and the netfilter hook come
 * with the first user and go with the last. Sleeps; takes a mutex that nests
 * inside RTNL; does not take RTNL.
 *
 * Return: 0, or -EADDRINUSE when another RoCE driver has the port, -ENOMEM.
 */
int rove_sock_get(struct net *net);
void rove_sock_put(struct net *net);

/*
 * @rx: takes an skb with data at the IP header and the transport header set, in
 * BH-off, RCU-locked context, and frees it.
 */
int rove_sock_init(void (*rx)(struct sk_buff *skb));
void rove_sock_exit(void);

#endif /* ROVE_IP_SOCK_H */
