/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_RESTRACK_H
#define ROVE_VERBS_RESTRACK_H

#include <rdma/ib_verbs.h>

/* ib_device_ops; the core keeps the object meanwhile. */
int rove_fill_res_qp(struct sk_buff *msg, struct ib_qp *ib);
int rove_fill_res_cq(struct sk_buff *msg, struct ib_cq *ib);
int rove_fill_res_mr(struct sk_buff *msg, struct ib_mr *ib);

#endif /* ROVE_VERBS_RESTRACK_H */
