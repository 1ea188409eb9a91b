/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Contexts of processes, and protection domains. */
#ifndef ROVE_VERBS_CTX_H
#define ROVE_VERBS_CTX_H

#include <rdma/ib_verbs.h>

/* A domain is compared by address; it has nothing else. */
struct rove_pd {
	struct ib_pd ib;
};

/* The same; the core keeps its target QPs. */
struct rove_xrcd {
	struct ib_xrcd ib;
};

/* ib_device_ops */
int rove_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata);
int rove_query_ucontext(struct ib_ucontext *ctx, struct uverbs_attr_bundle *attrs);
void rove_dealloc_ucontext(struct ib_ucontext *ctx);
void rove_disassociate_ucontext(struct ib_ucontext *ctx);
int rove_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int rove_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int rove_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);
int rove_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);

#endif /* ROVE_VERBS_CTX_H */
