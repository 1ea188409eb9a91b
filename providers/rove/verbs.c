// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Verbs that are one system call: queries, memory, XRC domains, addresses. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rove-abi.h"
#include "rove.h"

int rove_query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	u64 fw_ver;
	int err;

	err = ibv_cmd_query_device_any(ctx, input, attr, attr_size, &resp, &resp_size);
	if (err)
		return err;

	fw_ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u",
		 (unsigned int)(fw_ver >> 32), (unsigned int)(fw_ver >> 16 & 0xffff),
		 (unsigned int)(fw_ver & 0xffff));
	return 0;
}

int rove_query_port(struct ibv_context *ctx, u8 port, struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

/* The clock of the completions' timestamps, which counts nanoseconds. */
int rove_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	u32 known = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;

	if (values->comp_mask != known)
		return EINVAL;
	if (known && clock_gettime(CLOCK_MONOTONIC, &values->raw_clock))
		return errno;
	return 0;
}

struct ibv_mr *rove_reg_mr(struct ibv_pd *pd, void *addr, size_t length, u64 iova,
			   int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *mr;
	int err;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;

	err = ibv_cmd_reg_mr(pd, addr, length, iova, access, mr, &cmd, sizeof(cmd),
			     &resp, sizeof(resp));
	if (err) {
		free(mr);
		errno = err;
		return NULL;
	}
	return &mr->ibv_mr;
}

struct ibv_mr *rove_reg_dmabuf_mr(struct ibv_pd *pd, u64 offset, size_t length, u64 iova, int fd,
				  int access)
{
	struct verbs_mr *mr;
	int err;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;

	err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr, NULL);
	if (err) {
		free(mr);
		errno = err;
		return NULL;
	}
	return &mr->ibv_mr;
}

/* Its key is known to the module: there is nothing to be made. */
struct ibv_mr *rove_alloc_null_mr(struct ibv_pd *pd)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	mr->mr_type = IBV_MR_TYPE_NULL_MR;
	mr->ibv_mr.context = pd->context;
	mr->ibv_mr.pd = pd;
	mr->ibv_mr.lkey = ROVE_LKEY_NULL;
	return &mr->ibv_mr;
}

int rove_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		  int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(mr, flags, addr, length, (uintptr_t)addr, access, pd,
				&cmd, sizeof(cmd), &resp, sizeof(resp));
}

int rove_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, u32 flags,
		   struct ibv_sge *sg_list, u32 num_sge)
{
	return ibv_cmd_advise_mr(pd, advice, flags, sg_list, num_sge);
}

int rove_dereg_mr(struct verbs_mr *mr)
{
	int err = 0;

	if (mr->mr_type != IBV_MR_TYPE_NULL_MR)
		err = ibv_cmd_dereg_mr(mr);
	if (!err)
		free(mr);
	return err;
}

struct ibv_mw *rove_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int err;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	err = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(mw);
		errno = err;
		return NULL;
	}
	return mw;
}

int rove_dealloc_mw(struct ibv_mw *mw)
{
	int err = ibv_cmd_dealloc_mw(mw);

	if (!err)
		free(mw);
	return err;
}

struct ibv_xrcd *rove_open_xrcd(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct verbs_xrcd *xrcd;
	int err;

	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;

	err = ibv_cmd_open_xrcd(ctx, xrcd, sizeof(*xrcd), attr, &cmd, sizeof(cmd),
				&resp, sizeof(resp));
	if (err) {
		free(xrcd);
		errno = err;
		return NULL;
	}
	return &xrcd->xrcd;
}

int rove_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = container_of(ibxrcd, struct verbs_xrcd, xrcd);
	int err = ibv_cmd_close_xrcd(xrcd);

	if (!err)
		free(xrcd);
	return err;
}

struct ibv_ah *rove_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct urove_create_ah_resp resp = {};
	struct rove_ah *ah;
	int err;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;

	err = ibv_cmd_create_ah(pd, &ah->ibv_ah, attr, &resp.ibv_resp, sizeof(resp));
	if (err) {
		free(ah);
		errno = err;
		return NULL;
	}
	ah->ah = resp.ah;
	return &ah->ibv_ah;
}

int rove_destroy_ah(struct ibv_ah *ibah)
{
	int err = ibv_cmd_destroy_ah(ibah);

	if (!err)
		free(to_rove_ah(ibah));
	return err;
}
