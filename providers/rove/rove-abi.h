/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands that carry a part of our own, as rdma-core wants them declared:
 * its structure first, ours from <rdma/rove-abi.h> right behind it.
 */
#ifndef ROVE_PROVIDER_ABI_H
#define ROVE_PROVIDER_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/rove-abi.h>
#include <kernel-abi/rove-abi.h>

DECLARE_DRV_CMD(urove_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		rove_uctx_req, rove_uctx_resp);
DECLARE_DRV_CMD(urove_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		rove_create_cq_req, rove_create_cq_resp);
DECLARE_DRV_CMD(urove_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		rove_create_qp_req, rove_create_qp_resp);
DECLARE_DRV_CMD(urove_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, rove_create_ah_resp);

#endif /* ROVE_PROVIDER_ABI_H */
