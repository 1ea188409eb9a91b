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

/* 6.12: no such macros, but in later stable releases. */
#include <linux/slab.h>
#ifndef kzalloc_obj
#define rove_compat_gfp(gfp, ...)	gfp
#define kzalloc_obj(obj, ...)		\
	((typeof(obj) *)kzalloc(sizeof(obj), rove_compat_gfp(__VA_ARGS__ __VA_OPT__(,) GFP_KERNEL)))
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

/* 6.12: programs are not told, but they ask with the same bits. */
#ifndef ROVE_HAVE_ODP_FLUSH
#define IB_ODP_SUPPORT_FLUSH		BIT(6)
#define IB_ODP_SUPPORT_ATOMIC_WRITE	BIT(7)
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

#ifndef ROVE_HAVE_US_TO_KTIME
#include <linux/ktime.h>

static inline ktime_t us_to_ktime(u64 us)
{
	return us * NSEC_PER_USEC;
}
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

/* 6.12, but for its latest: no allocation by type. GFP_KERNEL if nothing is said. */
#ifndef ROVE_HAVE_KZALLOC_OBJ
#include <linux/slab.h>

#define rove_compat_gfp(none, gfp, ...)	gfp
#define kzalloc_obj(obj, ...)						\
	((typeof(obj) *)kzalloc(sizeof(obj), rove_compat_gfp(, ##__VA_ARGS__, GFP_KERNEL)))
#endif

/* 6.12: the same under another name. */
#ifndef ROVE_HAVE_UMEM_GET_VA
#define ib_umem_get_va	ib_umem_get
#endif

/*
 * 6.12: no helpers for what a driver and its provider tell each other. A request may
 * be longer than is known here if the rest is zero; a response is cut or padded.
 */
#ifndef ROVE_HAVE_RESPOND_UDATA
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

static inline int rove_compat_udata_in(struct ib_udata *udata, void *req, size_t size,
				       size_t min_size)
{
	int err;

	if (udata->inlen < min_size)
		return -EINVAL;
	err = copy_struct_from_user(req, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

static inline int rove_compat_udata_out(struct ib_udata *udata, const void *resp, size_t size)
{
	size_t len = min(size, udata->outlen);

	if (copy_to_user(udata->outbuf, resp, len) ||
	    clear_user(udata->outbuf + len, udata->outlen - len))
		return -EFAULT;
	return 0;
}

static inline int rove_compat_udata_in_empty(struct ib_udata *udata)
{
	return udata && udata->inlen ? rove_compat_udata_in(udata, NULL, 0, 0) : 0;
}

static inline int rove_compat_no_udata_io(struct ib_udata *udata)
{
	int err = rove_compat_udata_in_empty(udata);

	if (!err && udata)
		err = rove_compat_udata_out(udata, NULL, 0);
	return err;
}

#define ib_copy_validate_udata_in(udata, req, end_member)		\
	rove_compat_udata_in(udata, &(req), sizeof(req), offsetofend(typeof(req), end_member))
#define ib_copy_validate_udata_in_cm(udata, req, end_member, valid_cm)	\
({									\
	int compat_err = ib_copy_validate_udata_in(udata, req, end_member);	\
									\
	if (!compat_err && ((req).comp_mask & ~(u64)(valid_cm)))	\
		compat_err = -EOPNOTSUPP;				\
	compat_err;							\
})
#define ib_respond_udata(udata, resp)	rove_compat_udata_out(udata, &(resp), sizeof(resp))
#define ib_is_udata_in_empty		rove_compat_udata_in_empty
#define ib_no_udata_io			rove_compat_no_udata_io
#endif

/*
 * 6.12: on x86 crc32_le() goes by tables whatever the CPU can do, but crypto has one that
 * does not. Where it is faster it takes the place of the library's (compat/crc32.c).
 */
#ifdef ROVE_COMPAT_CRC32
u32 rove_compat_crc32_le(u32 crc, const void *p, size_t len);

#define rove_crc32_le	rove_compat_crc32_le

void rove_compat_init(void);
void rove_compat_exit(void);
#else
static inline void rove_compat_init(void)
{
}

static inline void rove_compat_exit(void)
{
}
#endif

#endif /* ROVE_COMPAT_H */

