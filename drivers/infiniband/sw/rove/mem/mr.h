/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions: keys, checks, and access to their pages.
 *
 * A region is found by key under RCU and used under a reference for one copy.
 * rove_mr_remove() makes the key unknown and waits until nobody uses the region
 * any more; only then may its pages be unpinned.
 */
#ifndef ROVE_MEM_MR_H
#define ROVE_MEM_MR_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "../proto/fault.h"

struct ib_umem;

/* Keys of a device: upper 24 bits the index, lower 8 the variant. */
struct rove_mr_table {
	struct xarray xa;	/* by key >> 8; readers under RCU */
	u32 next;		/* cyclic allocation; under xa_lock */
};

enum rove_mr_kind {
	ROVE_MR_DMA,		/* all kernel memory, iova is the address */
	ROVE_MR_USER,		/* pinned pages of a process */
};

/*
 * What rove_mr_find() and the copies read does not change while the region can be
 * found. A user's region is cut into blocks of 2^shift bytes, each contiguous in
 * the kernel's linear map: the byte at iova + n is byte (offset + n) & (2^shift - 1)
 * of block (offset + n) >> shift.
 */
struct rove_mr {
	struct ib_mr ib;
	struct rove_mr_table *table;
	const struct ib_pd *pd;
	u8 kind;		/* enum rove_mr_kind */
	u8 shift;		/* log2 of the block size */
	int access;		/* IB_ACCESS_*; local read is always allowed */
	u32 key;
	u64 iova;
	u64 length;
	u64 offset;		/* of iova in the first block */
	unsigned long *blocks;	/* kernel addresses; kvmalloc'ed */
	struct ib_umem *umem;
	refcount_t refs;
	struct completion unused;
	struct rcu_head rcu;
};

void rove_mr_table_init(struct rove_mr_table *t);
void rove_mr_table_exit(struct rove_mr_table *t);

/* Gives @mr a key and makes it findable; it must be complete. Sleeps. 0 or -ENOMEM. */
int rove_mr_insert(struct rove_mr_table *t, struct rove_mr *mr);

/*
 * Sleeps until the last user is gone. Its pages may be unpinned then; itself it
 * must be freed by kfree_rcu().
 */
void rove_mr_remove(struct rove_mr *mr);

/*
 * Changes rights and domain, keeping the key. While this sleeps until the last
 * user is gone, the key is unknown. The caller sees to it that there is one such
 * call at a time, and no rove_mr_remove().
 */
void rove_mr_change(struct rove_mr *mr, const struct ib_pd *pd, int access);

/**
 * rove_mr_find() - the region of @key if @pd may do this with it
 * @access: IB_ACCESS_* bits that must all be set; 0: local read
 *
 * va + len is checked for overflow and against the region. Any context.
 *
 * Return: a region to be given back by rove_mr_put(), or NULL.
 */
struct rove_mr *rove_mr_find(struct rove_mr_table *t, u32 key, const struct ib_pd *pd,
			     int access, u64 va, u64 len);
/* Any context. */
void rove_mr_put(struct rove_mr *mr);

/*
 * The range must lie in what rove_mr_find() checked. Bytes become visible in
 * ascending order, the last aligned cache line last; aligned words of 8 bytes at
 * the end are stored whole.
 */
void rove_mr_write(struct rove_mr *mr, u64 va, const void *src, u32 len);
void rove_mr_read(struct rove_mr *mr, u64 va, void *dst, u32 len);

/*
 * Atomic against all CPUs and QPs. @op: ROVE_OP_CMP_SWP or ROVE_OP_FETCH_ADD;
 * @va: a multiple of 8, checked by the caller. Return: what was there before.
 */
u64 rove_mr_atomic(struct rove_mr *mr, u64 va, u8 op, u64 swap_add, u64 compare);

#endif /* ROVE_MEM_MR_H */
