/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_CQ_H
#define ROVE_VERBS_CQ_H

#include <rdma/ib_verbs.h>

#define ROVE_MAX_CQE	BIT(22)

/* ib_device_ops; @attrs is NULL for the kernel's own. */
int rove_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int rove_modify_cq(struct ib_cq *ib, u16 count, u16 period);
int rove_resize_cq(struct ib_cq *ib, unsigned int cqe, struct ib_udata *udata);
int rove_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
/* Any context. */
int rove_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc);
int rove_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);

#endif /* ROVE_VERBS_CQ_H */
