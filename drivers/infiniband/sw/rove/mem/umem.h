/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pages of processes, pinned for as long as a region lives. */
#ifndef ROVE_MEM_UMEM_H
#define ROVE_MEM_UMEM_H

#include <linux/types.h>

struct ib_device;
struct rove_mr;

/**
 * rove_umem_pin() - fill in the pages and the range of a user's region
 * @start: address in the current process, any alignment
 * @iova:  what the region's first byte is called, any alignment
 *
 * The pages count against RLIMIT_MEMLOCK. Process context.
 *
 * Return: 0, -EINVAL (empty, or past the end of 64 bits), -ENOMEM, -EFAULT,
 * -EPERM, or whatever else pinning says.
 */
int rove_umem_pin(struct rove_mr *mr, struct ib_device *ib, u64 start, u64 length, u64 iova,
		  int access);
/* Nobody uses the region any more, or could find it. Process context. */
void rove_umem_unpin(struct rove_mr *mr);

/* May the region be given @access without pinning its pages anew? */
bool rove_umem_allows(const struct rove_mr *mr, int access);

/*
 * For pinning the region's pages anew: the address that it was registered with.
 * False when the current process is not the one that did it.
 */
bool rove_umem_start(const struct rove_mr *mr, u64 *start);

#endif /* ROVE_MEM_UMEM_H */
