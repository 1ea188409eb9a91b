/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_SRQ_H
#define ROVE_VERBS_SRQ_H

#include <rdma/ib_verbs.h>

/* ib_device_ops */
int rove_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata);
int rove_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata);
int rove_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int rove_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);

#endif /* ROVE_VERBS_SRQ_H */
