/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests that change what a key stands for: fast registration, binding of
 * windows, invalidation.
 *
 * A region or window for which that is possible (ROVE_MR_FAST, ROVE_MR_WINDOW) can
 * be used while it is valid. To take that away is to wait for those that have found
 * it, which is for the length of a copy on another CPU: when an invalidation is done
 * nobody reads or writes the memory by that key any more.
 */
#ifndef ROVE_MEM_MEMWR_H
#define ROVE_MEM_MEMWR_H

#include <rdma/rove-abi.h>
#include "mr.h"

struct scatterlist;

/* Largest number of pages in a fast registration. */
#define ROVE_FAST_PAGES		2048

/* Room for @pages pages. Process context. 0 or -ENOMEM. */
int rove_memwr_alloc(struct rove_mr *mr, u32 pages);
/* Nobody uses it any more, or could find it. */
void rove_memwr_free(struct rove_mr *mr);

/*
 * The verb map_mr_sg: notes the pages that the next registration makes valid. What
 * is valid until then stays in use. Any context.
 */
int rove_memwr_map_sg(struct rove_mr *mr, struct scatterlist *sg, int num, unsigned int *off);

/*
 * The acts. With BH off, by the owner of a half of QP @qpn in domain @pd. Return:
 * NONE or, if it cannot be done, MEMORY_OP; what was valid stays so.
 */
enum rove_fault rove_memwr_register(struct rove_mr_table *t, const struct ib_pd *pd,
				    const struct rove_sqe *sqe);
enum rove_fault rove_memwr_bind(struct rove_mr_table *t, const struct ib_pd *pd, u32 qpn,
				const struct rove_sqe *sqe);
/* @remote: the peer asks for it; REQ_ACCESS instead of MEMORY_OP. */
enum rove_fault rove_memwr_invalidate(struct rove_mr_table *t, const struct ib_pd *pd, u32 qpn,
				      u32 key, bool remote);

/* A window goes: it is valid for nobody any more. Before rove_mr_remove(). Process context. */
void rove_memwr_end(struct rove_mr *window);

#endif /* ROVE_MEM_MEMWR_H */
