/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What differs between the private interfaces of rdma-core's releases. A
 * provider is built from the source of the very release that it is to run with;
 * IBVERBS_PABI_VERSION tells them apart:
 *
 *   34  v34 to v56    57  v57, v58    59  v59 to v63    64  v64
 *
 * No other file of the provider looks at it.
 */
#ifndef ROVE_COMPAT_H
#define ROVE_COMPAT_H

#include <infiniband/driver.h>

#if IBVERBS_PABI_VERSION < 34
#error rdma-core is too old: version 34 or later is needed
#endif

/* 57: ibv_cmd_get_context() takes file descriptors opened by somebody else. */
#if IBVERBS_PABI_VERSION >= 57
#define rove_cmd_get_context(ctx, cmd, cmd_size, resp, resp_size) \
	ibv_cmd_get_context(ctx, cmd, cmd_size, NULL, resp, resp_size)
#else
#define rove_cmd_get_context	ibv_cmd_get_context
#endif

/* 59: ibv_cmd_create_cq_ex() takes memory for the queue. */
#if IBVERBS_PABI_VERSION >= 59
#define rove_cmd_create_cq(ctx, attr, cq, cmd, cmd_size, resp, resp_size) \
	ibv_cmd_create_cq_ex(ctx, attr, NULL, cq, cmd, cmd_size, resp, resp_size, 0)
#else
#define rove_cmd_create_cq(ctx, attr, cq, cmd, cmd_size, resp, resp_size) \
	ibv_cmd_create_cq_ex(ctx, attr, cq, cmd, cmd_size, resp, resp_size, 0)
#endif

/* 64: ibv_cmd_create_qp_ex2() takes attributes of the driver's own. */
#if IBVERBS_PABI_VERSION >= 64
#define rove_cmd_create_qp(ctx, qp, attr, cmd, cmd_size, resp, resp_size) \
	ibv_cmd_create_qp_ex2(ctx, qp, attr, cmd, cmd_size, resp, resp_size, NULL)
#else
#define rove_cmd_create_qp	ibv_cmd_create_qp_ex2
#endif

#endif /* ROVE_COMPAT_H */
