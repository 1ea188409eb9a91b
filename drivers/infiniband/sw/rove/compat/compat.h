/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The only place that knows kernel versions. Sources are written for 7.3; what an
 * older kernel lacks, or names otherwise, is made here. Included by the compiler's
 * command line. On 7.3 nothing is left of it.
 */
#ifndef ROVE_COMPAT_H
#define ROVE_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "rove needs Linux 6.12 or later"
#endif

/* 6.12: nothing like it; drivers send port events themselves. */
#ifndef ROVE_HAVE_PORT_STATE_EVENT
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

static inline enum ib_port_state rove_compat_port_state(struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
}

/* Unlike the real one it does not know whether the state is news. */
static inline void rove_compat_port_event(struct ib_device *ib, struct net_device *ndev)
{
	struct ib_event ev = {
		.device = ib,
		.element.port_num = 1,
		.event = rove_compat_port_state(ndev) == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
									  IB_EVENT_PORT_ERR,
	};

	ib_dispatch_event(&ev);
}

#define ib_get_curr_port_state		rove_compat_port_state
#define ib_dispatch_port_state_event	rove_compat_port_event
#endif

/* 6.12: these take a struct socket. */
#ifndef ROVE_HAVE_UDP_TUNNEL_SOCK
#include <net/udp_tunnel.h>

#define setup_udp_tunnel_sock(net, sk, cfg)	setup_udp_tunnel_sock(net, (sk)->sk_socket, cfg)
#define udp_tunnel_sock_release(sk)		udp_tunnel_sock_release((sk)->sk_socket)
#endif

/* 6.12: hrtimer_init(), and the function is set by hand. */
#ifndef ROVE_HAVE_HRTIMER_SETUP
#include <linux/hrtimer.h>

static inline void rove_compat_hrtimer_setup(struct hrtimer *timer,
					     enum hrtimer_restart (*fn)(struct hrtimer *),
					     clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}

#define hrtimer_setup	rove_compat_hrtimer_setup
#endif

/*
 * 6.12: devices are always made in the first namespace, where in exclusive mode
 * nobody in the netdev's own could see them.
 */
#ifndef ROVE_HAVE_ALLOC_DEVICE_NET
#include <rdma/ib_verbs.h>

#define ib_alloc_device_with_net(drv_struct, member, net)			\
({										\
	struct drv_struct *compat_dev = ib_alloc_device(drv_struct, member);	\
										\
	if (compat_dev && !rdma_dev_access_netns(&compat_dev->member, net))	\
		write_pnet(&compat_dev->member.coredev.rdma_net, net);		\
	compat_dev;								\
})
#endif

#endif /* ROVE_COMPAT_H */

