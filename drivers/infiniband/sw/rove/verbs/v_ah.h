/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_AH_H
#define ROVE_VERBS_AH_H

#include <rdma/ib_verbs.h>

/* ib_device_ops; any context. */
int rove_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int rove_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr);
int rove_destroy_ah(struct ib_ah *ib, u32 flags);

#endif /* ROVE_VERBS_AH_H */
