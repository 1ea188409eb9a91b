/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One listener on UDP 4791 for each network namespace that has links or GIDs. */
#ifndef ROVE_IP_SOCK_H
#define ROVE_IP_SOCK_H

#include "../wire/parse.h"

struct net;
struct rove_sock;
struct sk_buff;

/**
 * rove_sock_get() - make sure that @net listens
 *
 * Sockets (IPv4, and IPv6 where the kernel has it) and the netfilter hook come
 * with the first user and go with the last. Sleeps; takes a mutex that nests
 * inside RTNL; does not take RTNL.
 *
 * Return: the listener, to be put by rove_sock_put() even if @net is gone by
 * then, or an ERR_PTR: -EADDRINUSE when another RoCE driver has the port, -ENOMEM.
 */
struct rove_sock *rove_sock_get(struct net *net);
void rove_sock_put(struct rove_sock *sock);

/*
 * @rx: takes an skb with data at the IP header and the transport header set, and
 * frees it. Called with BH off and RCU held. The second argument is a reason to
 * drop it that was found already, or ROVE_DROP_NONE.
 */
int rove_sock_init(void (*rx)(struct sk_buff *skb, enum rove_drop why));
void rove_sock_exit(void);

#endif /* ROVE_IP_SOCK_H */
