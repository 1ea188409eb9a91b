/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_MW_H
#define ROVE_VERBS_MW_H

#include <rdma/ib_verbs.h>

struct rove_mr;

/* What the core sees; it frees this right after dealloc_mw. */
struct rove_ibmw {
	struct ib_mw ib;
	struct rove_mr *window;
};

/* ib_device_ops */
int rove_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int rove_dealloc_mw(struct ib_mw *ib);

#endif /* ROVE_VERBS_MW_H */
