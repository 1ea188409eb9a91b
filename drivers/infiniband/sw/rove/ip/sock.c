// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What arrives for UDP 4791.
 *
 * A socket with encap_rcv is given a train only after it was cut into pieces, and
 * a packet only after its UDP checksum was computed, which its ICRC makes
 * needless. So both are taken before UDP sees them, in a hook at the end of
 * LOCAL_IN, where the administrator's own rules have had their say; the hook does
 * what comes between there and the socket: IPsec policy, conntrack, BH. The sockets
 * own the port, have GRO gather our trains, and take what the hook leaves to UDP:
 * packets with IP options or extension headers, and everything where the kernel
 * has no netfilter.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/inet_common.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/route.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include <net/xfrm.h>
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack.h>
#endif
#include "../wire/pkt.h"
#include "sock.h"

struct rove_sock {
	struct net *net;		/* NULL once the namespace is gone */
	unsigned int users;
	struct socket *v4;
	struct socket *v6;		/* NULL: no IPv6 */
#if IS_ENABLED(CONFIG_NETFILTER)
	struct nf_hook_ops hook;
#endif
};

/* Of a namespace; NULL when nothing listens there. */
struct pernet {
	struct rove_sock *sock;
};

static unsigned int pernet_id;
/* pernet.sock and users. Nests inside RTNL; sockets and hooks come and go under it. */
static DEFINE_MUTEX(socks_lock);
static void (*rx_fn)(struct sk_buff *skb, enum rove_drop why);

static void receive(struct sk_buff *skb, enum rove_drop why)
{
	/* Softirq, but for packets that waited for a queue in user space. */
	local_bh_disable();
	rcu_read_lock();
	rx_fn(skb, why);
	rcu_read_unlock();
	local_bh_enable();
}

static int encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	/* data is at UDP; what is before it was there before. */
	__skb_push(skb, -skb_network_offset(skb));
	receive(skb, ROVE_DROP_NONE);
	return 0;
}

#if IS_ENABLED(CONFIG_NETFILTER)

/* UDP directly behind the IP header, to this host or to a group that it is in. */
static bool is_udp4(struct net *net, struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);
	const struct rtable *rt = skb_rtable(skb);

	return iph->protocol == IPPROTO_UDP && iph->ihl == sizeof(*iph) / 4 &&
	       !ip_is_fragment(iph) && rt &&
	       (rt->rt_type == RTN_LOCAL || rt->rt_type == RTN_MULTICAST) &&
	       udp_sk_bound_dev_eq(net, 0, inet_iif(skb), inet_sdif(skb)) &&
	       pskb_may_pull(skb, sizeof(*iph) + sizeof(struct udphdr));
}

static bool is_udp6(struct net *net, struct sk_buff *skb)
{
	const struct ipv6hdr *iph = ipv6_hdr(skb);

	return iph->nexthdr == IPPROTO_UDP &&
	       udp_sk_bound_dev_eq(net, 0, inet6_iif(skb), inet6_sdif(skb)) &&
	       pskb_may_pull(skb, sizeof(*iph) + sizeof(struct udphdr));
}

/* A new flow's entry, which conntrack itself confirms behind us. */
static unsigned int confirm(struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	const struct nf_ct_hook *ct_hook;
	enum ip_conntrack_info info;
	struct nf_conn *ct;

	ct = nf_ct_get(skb, &info);
	if (!ct || nf_ct_is_confirmed(ct))
		return NF_ACCEPT;
	ct_hook = rcu_dereference(nf_ct_hook);
	if (ct_hook)
		return ct_hook->confirm(skb);
#endif
	return NF_ACCEPT;
}

static unsigned int local_in(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	bool v6 = state->pf == NFPROTO_IPV6;
	unsigned int verdict;
	bool allowed;

	/* Somebody (a transparent proxy, BPF) chose a socket for it. */
	if (skb->sk)
		return NF_ACCEPT;
	if (!(v6 ? is_udp6(state->net, skb) : is_udp4(state->net, skb)))
		return NF_ACCEPT;
	skb_set_transport_header(skb, v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	if (udp_hdr(skb)->dest != htons(ROVE_UDP_PORT))
		return NF_ACCEPT;

	verdict = confirm(skb);
	if (verdict != NF_ACCEPT)
		return verdict;
	if (v6)
		allowed = xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb);
	else
		allowed = xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb);
	receive(skb, allowed ? ROVE_DROP_NONE : ROVE_DROP_XFRM);
	return NF_STOLEN;
}

static int hook_on(struct rove_sock *s)
{
	s->hook = (struct nf_hook_ops) {
		.hook = local_in,
		.pf = NFPROTO_INET,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_LAST,
	};
	return nf_register_net_hook(s->net, &s->hook);
}

static void hook_off(struct rove_sock *s)
{
	nf_unregister_net_hook(s->net, &s->hook);
}

#else

static int hook_on(struct rove_sock *s)
{
	return 0;
}

static void hook_off(struct rove_sock *s)
{
}

#endif /* CONFIG_NETFILTER */

/*
 * Our sockets are used under locks that users of RDMA hold over their own UDP and
 * TCP sockets; to lockdep all sockets of a family are one.
 */
static void set_lock_class(struct sock *sk)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	static struct lock_class_key slock_key[2], sk_key[2];
	bool v6 = sk->sk_family == AF_INET6;

	if (WARN_ON_ONCE(!sock_allow_reclassification(sk)))
		return;
	if (v6)
		sock_lock_init_class_and_name(sk, "slock-AF_INET6-rove", &slock_key[1],
					      "sk_lock-AF_INET6-rove", &sk_key[1]);
	else
		sock_lock_init_class_and_name(sk, "slock-AF_INET-rove", &slock_key[0],
					      "sk_lock-AF_INET-rove", &sk_key[0]);
	/*
	 * That took a reference to this module for the sake of the keys, so that it
	 * could never be unloaded. Each socket is released before that anyway.
	 */
	sk_owner_put(sk);
	sk_owner_clear(sk);
#endif
}

static struct socket *open_socket(struct net *net, u8 family)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(ROVE_UDP_PORT),
		.ipv6_v6only = family == AF_INET6,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = encap_rcv,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &port, &sock);
	if (err)
		return ERR_PTR(err);
	set_lock_class(sock->sk);
	setup_udp_tunnel_sock(net, sock->sk, &tunnel);
	/* No checksum is ever looked at: none need be converted. */
	inet_dec_convert_csum(sock->sk);
	udp_set_bit(GRO_ENABLED, sock->sk);
	udp_set_bit(ACCEPT_L4, sock->sk);
	return sock;
}

static int open_sock(struct rove_sock *s)
{
	int err;

	s->v4 = open_socket(s->net, AF_INET);
	if (IS_ERR(s->v4))
		return PTR_ERR(s->v4);
	if (ipv6_mod_enabled()) {
		s->v6 = open_socket(s->net, AF_INET6);
		if (s->v6 == ERR_PTR(-EAFNOSUPPORT))
			s->v6 = NULL;
		if (IS_ERR(s->v6)) {
			err = PTR_ERR(s->v6);
			goto err_v4;
		}
	}
	err = hook_on(s);
	if (err)
		goto err_v6;
	return 0;

err_v6:
	if (s->v6)
		udp_tunnel_sock_release(s->v6->sk);
err_v4:
	udp_tunnel_sock_release(s->v4->sk);
	return err;
}

/* Nothing comes from it any more after this. */
static void close_sock(struct rove_sock *s)
{
	hook_off(s);
	if (s->v6)
		udp_tunnel_sock_release(s->v6->sk);
	udp_tunnel_sock_release(s->v4->sk);
	/* For both: neither the hook nor, on every kernel, the sockets wait. */
	synchronize_net();
}

struct rove_sock *rove_sock_get(struct net *net)
{
	struct pernet *pernet = net_generic(net, pernet_id);
	struct rove_sock *s;
	int err;

	mutex_lock(&socks_lock);
	s = pernet->sock;
	if (s)
		goto out;
	s = kzalloc_obj(*s);
	if (!s) {
		s = ERR_PTR(-ENOMEM);
		goto out_unlock;
	}
	s->net = net;
	err = open_sock(s);
	if (err) {
		kfree(s);
		s = ERR_PTR(err);
		goto out_unlock;
	}
	pernet->sock = s;
out:
	s->users++;
out_unlock:
	mutex_unlock(&socks_lock);
	return s;
}

void rove_sock_put(struct rove_sock *s)
{
	struct pernet *pernet;

	mutex_lock(&socks_lock);
	if (--s->users) {
		mutex_unlock(&socks_lock);
		return;
	}
	if (s->net) {
		pernet = net_generic(s->net, pernet_id);
		pernet->sock = NULL;
		close_sock(s);
	}
	mutex_unlock(&socks_lock);
	kfree(s);
}

/*
 * Links and GIDs hold their netdevs, which are gone by now. Should a listener be
 * left all the same, then it does not outlive the namespace; its users may.
 */
static void __net_exit exit_net(struct net *net)
{
	struct pernet *pernet = net_generic(net, pernet_id);

	mutex_lock(&socks_lock);
	if (WARN_ON_ONCE(pernet->sock)) {
		close_sock(pernet->sock);
		pernet->sock->net = NULL;
		pernet->sock = NULL;
	}
	mutex_unlock(&socks_lock);
}

static struct pernet_operations pernet_ops = {
	.exit = exit_net,
	.id = &pernet_id,
	.size = sizeof(struct pernet),
};

int rove_sock_init(void (*rx)(struct sk_buff *skb, enum rove_drop why))
{
	rx_fn = rx;
	return register_pernet_subsys(&pernet_ops);
}

void rove_sock_exit(void)
{
	unregister_pernet_subsys(&pernet_ops);
}
