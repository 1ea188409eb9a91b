/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Posting by the kernel, and the system call by which a process kicks its QP. */
#ifndef ROVE_VERBS_POST_H
#define ROVE_VERBS_POST_H

#include <rdma/ib_verbs.h>

/* ib_device_ops; any context. */
int rove_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr);
int rove_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr);
int rove_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

#endif /* ROVE_VERBS_POST_H */
