// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of verbs. What differs between kernels in it cannot be hidden by a
 * header; it is here and nowhere else outside compat/.
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/rove-abi.h>
#include "../obj/ah.h"
#include "../obj/cq.h"
#include "../obj/dev.h"
#include "../obj/qp.h"
#include "../obj/srq.h"
#include "../obj/uctx.h"
#include "hw_stats.h"
#include "mmap.h"
#include "ops.h"
#include "pkeys.h"
#include "post.h"
#include "query.h"
#include "restrack.h"
#include "settings.h"
#include "v_ah.h"
#include "v_counter.h"
#include "v_cq.h"
#include "v_ctx.h"
#include "v_mcast.h"
#include "v_mr.h"
#include "v_mw.h"
#include "v_qp.h"
#include "v_srq.h"

/* Since 6.17 reg_user_mr() gets steering tags, for devices that write by PCI. */
#ifdef ROVE_HAVE_DMAH
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				 struct ib_dmah *dmah, struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return rove_reg_user_mr(pd, start, length, iova, access, udata);
}

static struct ib_mr *reg_dmabuf_mr(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				   int access, struct ib_dmah *dmah,
				   struct uverbs_attr_bundle *attrs)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return rove_reg_dmabuf_mr(pd, offset, length, iova, fd, access, attrs);
}

#define REG_USER_MR	reg_user_mr
#define REG_DMABUF_MR	reg_dmabuf_mr
#else
#define REG_USER_MR	rove_reg_user_mr
#define REG_DMABUF_MR	rove_reg_dmabuf_mr
#endif

/* 7.x: under another name, and for processes only. */
#ifdef ROVE_HAVE_RESIZE_USER_CQ
#define RESIZE_CQ	.resize_user_cq = rove_resize_cq
#else
static int resize_cq(struct ib_cq *ib, int cqe, struct ib_udata *udata)
{
	return rove_resize_cq(ib, cqe, udata);
}

#define RESIZE_CQ	.resize_cq = resize_cq
#endif

/* 7.x: the port is told, and how large the core's object is. */
#ifdef ROVE_HAVE_COUNTER_INIT
static int counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ib, u32 port)
{
	return rove_counter_bind_qp(counter, ib);
}

static int counter_unbind_qp(struct ib_qp *ib, u32 port)
{
	return rove_counter_unbind_qp(ib);
}

#define COUNTER_OPS	.counter_bind_qp = counter_bind_qp,		\
			.counter_init = rove_counter_init,		\
			.counter_unbind_qp = counter_unbind_qp,		\
			INIT_RDMA_OBJ_SIZE(rdma_counter, rove_counter, ib)
#else
#define COUNTER_OPS	.counter_bind_qp = rove_counter_bind_qp,	\
			.counter_unbind_qp = rove_counter_unbind_qp
#endif

static const struct attribute_group *port_groups[] = {
	&rove_pkeys_group,
	&rove_settings_group,
	NULL,
};

const struct ib_device_ops rove_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = ROVE_DRIVER_ID,
	.uverbs_abi_ver = ROVE_ABI_VERSION,
#ifdef ROVE_HAVE_ROBUST_UDATA
	.uverbs_robust_udata = true,
#endif

	.advise_mr = rove_advise_mr,
	.alloc_hw_port_stats = rove_alloc_hw_port_stats,
	.alloc_mr = rove_alloc_mr,
	.alloc_mw = rove_alloc_mw,
	.alloc_pd = rove_alloc_pd,
	.alloc_ucontext = rove_alloc_ucontext,
	.alloc_xrcd = rove_alloc_xrcd,
	.attach_mcast = rove_attach_mcast,
	COUNTER_OPS,
	.counter_alloc_stats = rove_counter_alloc_stats,
	.counter_dealloc = rove_counter_dealloc,
	.counter_update_stats = rove_counter_update_stats,
	.create_ah = rove_create_ah,
	.create_cq = rove_create_cq,
	.create_qp = rove_create_qp,
	.create_srq = rove_create_srq,
	.create_user_ah = rove_create_ah,
	.dealloc_mw = rove_dealloc_mw,
	.dealloc_pd = rove_dealloc_pd,
	.dealloc_ucontext = rove_dealloc_ucontext,
	.dealloc_xrcd = rove_dealloc_xrcd,
	.dereg_mr = rove_dereg_mr,
	.destroy_ah = rove_destroy_ah,
	.detach_mcast = rove_detach_mcast,
	.destroy_cq = rove_destroy_cq,
	.destroy_qp = rove_destroy_qp,
	.destroy_srq = rove_destroy_srq,
	.disassociate_ucontext = rove_disassociate_ucontext,
	.fill_res_cq_entry = rove_fill_res_cq,
	.fill_res_mr_entry = rove_fill_res_mr,
	.fill_res_qp_entry = rove_fill_res_qp,
	.get_dev_fw_str = rove_get_dev_fw_str,
	.get_dma_mr = rove_get_dma_mr,
	.get_hw_stats = rove_get_hw_stats,
	.get_link_layer = rove_get_link_layer,
	.get_port_immutable = rove_get_port_immutable,
	.map_mr_sg = rove_map_mr_sg,
	.mmap = rove_mmap,
	.mmap_free = rove_mmap_free,
	.modify_cq = rove_modify_cq,
	.modify_qp = rove_modify_qp,
	.modify_srq = rove_modify_srq,
	.poll_cq = rove_poll_cq,
	.port_groups = port_groups,
	.post_recv = rove_post_recv,
	.post_send = rove_post_send,
	.post_srq_recv = rove_post_srq_recv,
	.query_ah = rove_query_ah,
	.query_device = rove_query_device,
	.query_pkey = rove_query_pkey,
	.query_qp = rove_query_qp,
	.query_srq = rove_query_srq,
	.query_ucontext = rove_query_ucontext,
	.reg_user_mr = REG_USER_MR,
	.reg_user_mr_dmabuf = REG_DMABUF_MR,
	.req_notify_cq = rove_req_notify_cq,
	.rereg_user_mr = rove_rereg_user_mr,
	RESIZE_CQ,

	INIT_RDMA_OBJ_SIZE(ib_ah, rove_ibah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, rove_ibcq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, rove_ibmw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, rove_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, rove_ibqp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, rove_ibsrq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rove_uctx, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, rove_xrcd, ib),
};
