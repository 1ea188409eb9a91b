/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_HW_STATS_H
#define ROVE_VERBS_HW_STATS_H

#include <rdma/ib_verbs.h>

/* ib_device_ops */
struct rdma_hw_stats *rove_alloc_hw_port_stats(struct ib_device *ib, u32 port);
int rove_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port, int index);

#endif /* ROVE_VERBS_HW_STATS_H */
