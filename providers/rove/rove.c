// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The provider's entry points: matching, contexts, and the table of verbs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "compat.h"
#include "rove-abi.h"
#include "rove.h"

/* What this provider speaks; the module picks one out of the range. */
#define ABI_MIN		ROVE_ABI_VERSION
#define ABI_MAX		ROVE_ABI_VERSION

void *rove_map(struct ibv_context *ctx, u64 offset, size_t length)
{
	void *area = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd, offset);

	return area == MAP_FAILED ? NULL : area;
}

static void rove_free_context(struct ibv_context *ibctx)
{
	struct rove_context *ctx = to_rove_ctx(ibctx);
	u32 i;

	for (i = 0; i < ROVE_QP_TABLE_SIZE; i++)
		free(ctx->qp_dir[i]);
	pthread_mutex_destroy(&ctx->qp_mutex);
	munmap(ctx->db, ctx->db_length);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

/* Keep sorted. */
static const struct verbs_context_ops rove_ops = {
	.alloc_mw = rove_alloc_mw,
	.alloc_null_mr = rove_alloc_null_mr,
	.advise_mr = rove_advise_mr,
	.alloc_parent_domain = rove_alloc_parent_domain,
	.alloc_pd = rove_alloc_pd,
	.alloc_td = rove_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = rove_bind_mw,
	.close_xrcd = rove_close_xrcd,
	.create_ah = rove_create_ah,
	.create_cq = rove_create_cq,
	.create_cq_ex = rove_create_cq_ex,
	.create_qp = rove_create_qp,
	.create_qp_ex = rove_create_qp_ex,
	.create_srq = rove_create_srq,
	.create_srq_ex = rove_create_srq_ex,
	.dealloc_mw = rove_dealloc_mw,
	.dealloc_pd = rove_dealloc_pd,
	.dealloc_td = rove_dealloc_td,
	.dereg_mr = rove_dereg_mr,
	.destroy_ah = rove_destroy_ah,
	.destroy_cq = rove_destroy_cq,
	.destroy_qp = rove_destroy_qp,
	.destroy_srq = rove_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = rove_free_context,
	.get_srq_num = rove_get_srq_num,
	.import_mr = rove_import_mr,
	.import_pd = rove_import_pd,
	.modify_cq = rove_modify_cq,
	.modify_qp = rove_modify_qp,
	.modify_srq = rove_modify_srq,
	.open_qp = rove_open_qp,
	.open_xrcd = rove_open_xrcd,
	.poll_cq = rove_poll_cq,
	.post_recv = rove_post_recv,
	.post_send = rove_post_send,
	.post_srq_recv = rove_post_srq_recv,
	.query_device_ex = rove_query_device_ex,
	.query_port = rove_query_port,
	.query_qp = rove_query_qp,
	.query_rt_values = rove_query_rt_values,
	.query_srq = rove_query_srq,
	.reg_dmabuf_mr = rove_reg_dmabuf_mr,
	.reg_mr = rove_reg_mr,
	.req_notify_cq = rove_req_notify_cq,
	.rereg_mr = rove_rereg_mr,
	.resize_cq = rove_resize_cq,
	.unimport_mr = rove_unimport_mr,
	.unimport_pd = rove_unimport_pd,
};

/*
 * Said on stderr, as libibverbs itself warns of devices that it cannot drive:
 * verbs_err() is silent unless asked for, and "cannot open device" helps nobody.
 */
static void warn_mismatch(const struct ibv_device *dev, const char *what)
{
	fprintf(stderr,
		"librove: %s: %s (this provider speaks ABI %u to %u); install the module and the provider from the same release\n",
		dev->name, what, ABI_MIN, ABI_MAX);
}

static int get_context(struct rove_context *ctx, struct ibv_device *dev,
		       struct urove_get_context_resp *resp)
{
	struct urove_get_context cmd = {
		.abi_min = ABI_MIN,
		.abi_max = ABI_MAX,
	};
	int err;

	err = rove_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd),
				   &resp->ibv_resp, sizeof(*resp));
	if (err == EPROTONOSUPPORT)
		warn_mismatch(dev, "the kernel module speaks another ABI");
	if (err)
		return err;

	if (resp->abi < ABI_MIN || resp->abi > ABI_MAX ||
	    resp->db_length < sizeof(struct rove_db_page) || resp->db_slots > ROVE_DB_SLOTS) {
		warn_mismatch(dev, "the kernel module's answer makes no sense");
		return EPROTO;
	}
	return 0;
}

/* What both kinds of contexts need. Then ctx is whole, or errno says why not. */
static bool map_doorbells(struct rove_context *ctx, u64 offset, size_t length, u32 slots)
{
	ctx->db = rove_map(&ctx->vctx.context, offset, length);
	if (!ctx->db) {
		verbs_err(&ctx->vctx, "cannot map the doorbell page\n");
		return false;
	}
	ctx->db_length = length;
	ctx->db_slots = slots;
	pthread_mutex_init(&ctx->qp_mutex, NULL);
	verbs_set_ops(&ctx->vctx, &rove_ops);
	return true;
}

static struct verbs_context *rove_alloc_context(struct ibv_device *dev, int cmd_fd,
						void *private_data)
{
	struct urove_get_context_resp resp = {};
	struct rove_context *ctx;
	int err;

	ctx = verbs_init_and_alloc_context(dev, cmd_fd, ctx, vctx, ROVE_DRIVER_ID);
	if (!ctx)
		return NULL;

	err = get_context(ctx, dev, &resp);
	if (err)
		goto err_uninit;

	if (!map_doorbells(ctx, resp.db_offset, resp.db_length, resp.db_slots)) {
		err = errno;
		goto err_uninit;
	}
	return &ctx->vctx;

err_uninit:
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	errno = err;
	return NULL;
}

/* Of another process, which negotiated the ABI: the same page is mapped again. */
static struct verbs_context *rove_import_context(struct ibv_device *dev, int cmd_fd)
{
	struct rove_context *ctx;
	int err;

	ctx = verbs_init_and_alloc_context(dev, cmd_fd, ctx, vctx, ROVE_DRIVER_ID);
	if (!ctx)
		return NULL;

	err = ibv_cmd_query_context(&ctx->vctx.context, NULL);
	if (!err && map_doorbells(ctx, ROVE_DB_OFFSET, sizeof(struct rove_db_page), ROVE_DB_SLOTS))
		return &ctx->vctx;
	if (!err)
		err = errno;
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	errno = err;
	return NULL;
}

static struct verbs_device *rove_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	struct rove_device *dev = calloc(1, sizeof(*dev));

	return dev ? &dev->vdev : NULL;
}

static void rove_uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct rove_device, vdev));
}

static const struct verbs_match_ent rove_match_table[] = {
	VERBS_DRIVER_ID(ROVE_DRIVER_ID),
	{},
};

static const struct verbs_device_ops rove_dev_ops = {
	.name = "rove",
	.match_min_abi_version = ABI_MIN,
	.match_max_abi_version = ABI_MAX,
	.match_table = rove_match_table,
	.alloc_device = rove_alloc_device,
	.uninit_device = rove_uninit_device,
	.alloc_context = rove_alloc_context,
	.import_context = rove_import_context,
};
PROVIDER_DRIVER(rove, rove_dev_ops);
