/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands that carry a part of our own, as rdma-core wants them declared:
 * its structure first, ours from <rdma/rove-abi.h> right behind it.
 */
#ifndef ROVE_PROVIDER_ABI_H
#define ROVE_PROVIDER_ABI_H

#include <stddef.h>

#include <infiniband/kern-abi.h>
#include <rdma/rove-abi.h>
#include <kernel-abi/rove-abi.h>

DECLARE_DRV_CMD(urove_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		rove_uctx_req, rove_uctx_resp);
DECLARE_DRV_CMD(urove_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		rove_create_cq_req, rove_create_cq_resp);
DECLARE_DRV_CMD(urove_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		rove_resize_cq_req, rove_resize_cq_resp);
DECLARE_DRV_CMD(urove_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		rove_create_qp_req, rove_create_qp_resp);
DECLARE_DRV_CMD(urove_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		rove_create_srq_req, rove_create_srq_resp);
DECLARE_DRV_CMD(urove_create_xsrq, IB_USER_VERBS_CMD_CREATE_XSRQ,
		rove_create_srq_req, rove_create_srq_resp);
DECLARE_DRV_CMD(urove_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		rove_modify_srq_req, empty);
DECLARE_DRV_CMD(urove_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, rove_create_ah_resp);

/* The module asserts the same. */
static_assert(sizeof(struct rove_uctx_req) == 16, "request of a context");
static_assert(sizeof(struct rove_uctx_resp) == 40, "context");
static_assert(sizeof(struct rove_create_cq_resp) == 32, "CQ");
static_assert(sizeof(struct rove_resize_cq_req) == 16, "resize of a CQ");
static_assert(sizeof(struct rove_resize_cq_resp) == 24, "resize of a CQ");
static_assert(sizeof(struct rove_create_qp_resp) == 56, "QP");
static_assert(sizeof(struct rove_create_srq_resp) == 32, "SRQ");
static_assert(sizeof(struct rove_modify_srq_req) == 16, "change of an SRQ");
static_assert(sizeof(struct rove_create_ah_resp) == 8, "AH");
static_assert(sizeof(struct rove_db_page) == 4096, "doorbell page");
static_assert(offsetof(struct rove_db_page, summary) == 32, "doorbell page");
static_assert(sizeof(struct rove_qp_hdr) == ROVE_QP_WQES, "QP header");
static_assert(offsetof(struct rove_qp_hdr, sq_cons) == 64, "QP header");
static_assert(sizeof(struct rove_srq_hdr) == ROVE_SRQ_WQES, "SRQ header");
static_assert(offsetof(struct rove_srq_hdr, cons) == 64, "SRQ header");
static_assert(sizeof(struct rove_cq_hdr) == ROVE_CQ_ENTRIES, "CQ header");
static_assert(offsetof(struct rove_cq_hdr, prod) == 64, "CQ header");
static_assert(sizeof(struct rove_cqe) == 64, "completion");
static_assert(offsetof(struct rove_cqe, seq) == 60, "completion");
static_assert(sizeof(struct rove_sqe) == 48, "send WQE");
static_assert(offsetof(struct rove_sqe, rdma) == 16, "send WQE");
static_assert(sizeof(struct rove_rqe) == 16, "receive WQE");
static_assert(sizeof(struct rove_sge) == 16, "SGE");

#endif /* ROVE_PROVIDER_ABI_H */
