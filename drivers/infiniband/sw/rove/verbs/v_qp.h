/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_QP_H
#define ROVE_VERBS_QP_H

#include <rdma/ib_verbs.h>

/* ib_device_ops */
int rove_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata);
int rove_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int rove_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int rove_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);

#endif /* ROVE_VERBS_QP_H */
