/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Scatter-gather lists of checked work requests. Any context. */
#ifndef ROVE_MEM_SGE_H
#define ROVE_MEM_SGE_H

#include <rdma/rove-abi.h>
#include "mr.h"
#include "odp.h"

/* Are all SGEs usable for @access by @pd? NONE or LOCAL_PROT. */
enum rove_fault rove_sge_check(struct rove_mr_table *t, const struct ib_pd *pd,
			       const struct rove_sge *sge, u32 num, int access);

/*
 * @len bytes from @off of the list to @dst: NONE, LOCAL_PROT (also: list too short), or
 * PAGE with @absent filled in, where some bytes may have been copied.
 */
enum rove_fault rove_sge_gather(struct rove_mr_view *view, const struct ib_pd *pd,
				const struct rove_sge *sge, u32 num, u32 off, void *dst, u32 len,
				struct rove_absent *absent);

/* @len bytes from @src to @off of the list; needs local write. As above. */
enum rove_fault rove_sge_scatter(struct rove_mr_view *view, const struct ib_pd *pd,
				 const struct rove_sge *sge, u32 num, u32 off,
				 const void *src, u32 len, struct rove_absent *absent);

#endif /* ROVE_MEM_SGE_H */
