/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions whose pages are not pinned. They are looked up when they
 * are used, and the memory manager of their process takes them away when it likes.
 *
 * A copy needs pages that are there and holds them for its length; what is not there
 * has to be fetched by a thread that may sleep. So such a copy can fail with
 * ROVE_FAULT_PAGE: nothing is wrong, it is to be tried again after rove_odp_fetch().
 */
#ifndef ROVE_MEM_ODP_H
#define ROVE_MEM_ODP_H

#include <linux/types.h>
#include "../proto/fault.h"
#include "../stats.h"

struct ib_sge;
struct rove_mr;
struct rove_odp;

/* Pages that a copy found missing. */
struct rove_absent {
	struct rove_mr *mr;	/* a reference of whoever has this; NULL: none missing */
	u32 key;		/* of mr */
	u64 start;		/* the process's address */
	u64 len;		/* from there: what the copy needs, at least 1, */
	u64 want;		/* and what follows soon, at least len */
	bool write;
};

/**
 * rove_odp_create() - make @mr a region of the current process
 * @start: address, any alignment
 * @iova:  what the region's first byte is called, any alignment
 *
 * All of the address space is a region, too: @start and @iova 0, @length U64_MAX.
 * Nothing need be mapped there yet. Process context.
 *
 * Return: 0, -EINVAL (empty, or past the end of 64 bits), -ENOMEM, or -EOPNOTSUPP: the
 * kernel has no on-demand paging.
 */
int rove_odp_create(struct rove_mr *mr, struct rove_stats __percpu *stats, u64 start,
		    u64 length, u64 iova, int access);
/* Nobody uses the region any more, or could find it. Process context. */
void rove_odp_destroy(struct rove_mr *mr);

/* May the region be given @access without being made anew? */
bool rove_odp_allows(const struct rove_mr *mr, int access);

/* The address that it was made for; false: by another process than the current one. */
bool rove_odp_start(const struct rove_mr *mr, u64 *start);

/*
 * Gets the pages of @a; they may be gone again when it returns. Process context, no
 * locks. 0, -EFAULT (not mapped, or not so), -EBUSY (the process changes them all the
 * time), -ENOMEM.
 */
int rove_odp_fetch(const struct rove_absent *a);

enum rove_odp_prefetch {
	ROVE_ODP_PRESENT,	/* take what is in memory, for reading */
	ROVE_ODP_READ,
	ROVE_ODP_WRITE,
};

/*
 * @len bytes from @va; they lie in the region. Process context. As rove_odp_fetch(), or
 * -EINTR: the thread is being killed.
 */
int rove_odp_prefetch(struct rove_mr *mr, u64 va, u64 len, enum rove_odp_prefetch how);

/* ---- for mem/mr.c only: BH off ---------------------------------------------- */

/*
 * Calls @fn with all pages of @len bytes at @pos of the region there, and staying there:
 * NONE; or PAGE, without calling it.
 */
enum rove_fault rove_odp_use(struct rove_odp *odp, u64 pos, u32 len, bool write,
			     void (*fn)(void *arg), void *arg);

/* In @fn: the kernel address of @pos; *room: bytes from there on in one piece. */
u8 *rove_odp_address(struct rove_odp *odp, u64 pos, u32 len, u32 *room);

/* Fills in all but len, want and write, and takes the reference. */
void rove_odp_note(struct rove_odp *odp, u64 pos, struct rove_absent *a);

#endif /* ROVE_MEM_ODP_H */
