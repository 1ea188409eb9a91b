/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions: keys, checks, and access to their pages.
 *
 * A region is found by key under RCU and used under a reference for one copy.
 * rove_mr_remove() makes the key unknown and waits until nobody uses the region
 * any more; only then may its pages be unpinned.
 *
 * Regions for fast registration and memory windows have a key all their life, but
 * can be used only while they are valid, which work requests change: mem/memwr.
 */
#ifndef ROVE_MEM_MR_H
#define ROVE_MEM_MR_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "../proto/fault.h"
#include "../wire/piece.h"

struct ib_umem;
struct rove_absent;
struct rove_dmabuf;
struct rove_odp;

/* Keys of a device: upper 24 bits the index, lower 8 the variant. */
struct rove_mr_table {
	struct xarray xa;	/* by key >> 8; readers under RCU */
	u32 next;		/* cyclic allocation; under xa_lock */
};

/*
 * The table as the owner of a half of a QP sees it: what one packet used the next one
 * mostly uses too, and the reference is kept meanwhile. Windows and regions for fast
 * registration are not kept, since who invalidates them waits with BH off.
 */
struct rove_mr_view {
	struct rove_mr_table *table;
	struct rove_mr *last;	/* or NULL */
};

enum rove_mr_kind {
	ROVE_MR_DMA,		/* all kernel memory, iova is the address */
	ROVE_MR_USER,		/* pinned pages of a process */
	ROVE_MR_DMABUF,		/* a buffer of another driver */
	ROVE_MR_ODP,		/* pages of a process, looked up when they are used */
	/* usable while valid is set */
	ROVE_MR_FAST,		/* pages that a kernel user registers by work request */
	ROVE_MR_WINDOW,		/* a part of another region, for peers */
};

/*
 * What rove_mr_find() and the copies read does not change while the region can be
 * found; of one with the member valid, not while that is set or somebody has a
 * reference. A user's region is cut into blocks of 2^shift bytes, each contiguous in
 * the kernel's linear map: the byte at iova + n is byte (offset + n) & (2^shift - 1)
 * of block (offset + n) >> shift.
 */
struct rove_mr {
	struct ib_mr ib;		/* not used by windows */
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
	struct rove_dmabuf *dmabuf;
	struct rove_odp *odp;	/* instead of blocks; of a window: its region's */

	/* FAST and WINDOW; written under lock */
	bool valid;
	u8 window_type;		/* enum ib_mw_type */
	bool dead;		/* goes away: never valid again */
	u32 qpn;		/* window of type 2: of the only QP that may use it */
	struct rove_mr *base;	/* window: the region, counted in its windows */
	spinlock_t lock;	/* BH off; nothing is taken inside */
	u32 max_blocks;		/* FAST: room in blocks and in next */
	u32 next_num;		/* set by the verb map_mr_sg, used by the registration */
	unsigned long *next;

	atomic_t windows;	/* bound to it; -1: none can be any more */
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

/* No window can be bound to it from now on. False: some are. Process context. */
bool rove_mr_close_to_windows(struct rove_mr *mr);
/* Takes that back. */
void rove_mr_open_to_windows(struct rove_mr *mr);

/*
 * Changes rights and domain, keeping the key. While this sleeps until the last
 * user is gone, the key is unknown. The caller sees to it that there is one such
 * call at a time, and no rove_mr_remove().
 */
void rove_mr_change(struct rove_mr *mr, const struct ib_pd *pd, int access);

/**
 * rove_mr_find() - the region of @key if @pd may do this with it
 * @qpn:    who asks on behalf of its peer; 0: it is for the QP's own SGE
 * @access: IB_ACCESS_* bits that must all be set; 0: local read
 *
 * va + len is checked for overflow and against the region. BH off, even if the key turns
 * out to be of no use: who invalidates a window waits for all that have found it, and may
 * have interrupted one of them. Other kinds of regions may be kept longer.
 *
 * Return: a region to be given back by rove_mr_put(), or NULL.
 */
struct rove_mr *rove_mr_find(struct rove_mr_table *t, u32 key, const struct ib_pd *pd,
			     u32 qpn, int access, u64 va, u64 len);
/* Any context. */
void rove_mr_put(struct rove_mr *mr);

/* The same, by way of what was used last; to be given back by rove_mr_leave(). */
struct rove_mr *rove_mr_use(struct rove_mr_view *view, u32 key, const struct ib_pd *pd, u32 qpn,
			    int access, u64 va, u64 len);
static inline void rove_mr_leave(const struct rove_mr_view *view, struct rove_mr *mr)
{
	if (unlikely(mr != view->last))
		rove_mr_put(mr);
}

/* Before the half is let go. */
static inline void rove_mr_forget(struct rove_mr_view *view)
{
	if (view->last)
		rove_mr_put(view->last);
	view->last = NULL;
}

/* The same for no range of it but all; @access is not 0. */
struct rove_mr *rove_mr_find_whole(struct rove_mr_table *t, u32 key, const struct ib_pd *pd,
				   u32 qpn, int access);

/*
 * The region or window whose key has the index of @key, with whatever variant, or
 * NULL. Under rcu_read_lock(), valid until rcu_read_unlock().
 */
struct rove_mr *rove_mr_peek(struct rove_mr_table *t, u32 key);

/*
 * The range must lie in what rove_mr_find() checked. Bytes become visible in
 * ascending order, the last aligned cache line last; aligned words of 8 bytes at
 * the end are stored whole. BH off.
 *
 * Return: NONE, or PAGE: nothing was copied, since a page is not there (mem/odp.h).
 */
enum rove_fault rove_mr_write(struct rove_mr *mr, u64 va, const void *src, u32 len);
enum rove_fault rove_mr_read(struct rove_mr *mr, u64 va, void *dst, u32 len);

/**
 * rove_mr_pieces() - where a range lies that rove_mr_find() checked
 * @pieces: room for @max
 *
 * Readable as long as the reference to the region is held.
 *
 * Return: how many pieces it has; 0: more than @max, or it is not always there.
 */
u32 rove_mr_pieces(const struct rove_mr *mr, u64 va, u32 len, struct rove_piece *pieces, u32 max);

/*
 * From one region to another, ranges that rove_mr_find() checked; visible in the order that
 * rove_mr_write() has. False: nothing was copied, since either has pages that may be absent.
 */
bool rove_mr_copy(const struct rove_mr *to, u64 to_va, const struct rove_mr *from, u64 va, u32 len);

/*
 * Atomic against all CPUs and QPs. @op: ROVE_OP_CMP_SWP or ROVE_OP_FETCH_ADD. *@value:
 * what was there before. NONE or PAGE, as above, or REQ_INVALID: the word is not aligned
 * where it lies, which of a window whose addresses begin at 0 @va does not tell.
 */
enum rove_fault rove_mr_atomic(struct rove_mr *mr, u64 va, u8 op, u64 swap_add, u64 compare,
			       u64 *value);

/*
 * What to fetch after PAGE: the @len bytes at @va, and as many of the @want there as
 * lie in the region. @a gets a reference.
 */
void rove_mr_absent(struct rove_mr *mr, u64 va, u32 len, u64 want, bool write,
		    struct rove_absent *a);

#endif /* ROVE_MEM_MR_H */
