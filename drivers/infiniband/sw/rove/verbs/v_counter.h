/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Counters of single QPs, or of kinds of QPs: `rdma statistic qp`. */
#ifndef ROVE_VERBS_COUNTER_H
#define ROVE_VERBS_COUNTER_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

/* What the core allocates; where it lets drivers say how large it is. */
struct rove_counter {
	struct rdma_counter ib;
};

/* ib_device_ops; some lack an argument that not all kernels have. */
void rove_counter_init(struct rdma_counter *counter);
int rove_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ib);
int rove_counter_unbind_qp(struct ib_qp *ib);
int rove_counter_dealloc(struct rdma_counter *counter);
struct rdma_hw_stats *rove_counter_alloc_stats(struct rdma_counter *counter);
int rove_counter_update_stats(struct rdma_counter *counter);

#endif /* ROVE_VERBS_COUNTER_H */
