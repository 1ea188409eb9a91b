/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Buffers of other drivers (dma-buf).
 *
 * There is no device here that could attach to one and be told to let go of it: the
 * exporter maps the buffer into the kernel's address space, for as long as the
 * region lives, and has to keep it in place. One that cannot is refused.
 */
#ifndef ROVE_MEM_DMABUF_H
#define ROVE_MEM_DMABUF_H

#include <linux/types.h>

struct rove_mr;

/**
 * rove_dmabuf_map() - fill in the memory and the range of a region
 * @offset: of its first byte, in the buffer
 * @iova:   what that byte is called
 *
 * Process context. Return: 0, -EBADF or -EINVAL (no dma-buf), -EINVAL (empty, or not
 * in the buffer), -EACCES (to be written, and may only be read), -EOPNOTSUPP (not
 * memory that the CPU can use in place), -ENOMEM, or whatever the exporter says.
 */
int rove_dmabuf_map(struct rove_mr *mr, int fd, u64 offset, u64 length, u64 iova, int access);
/* Nobody uses the region any more, or could find it. Process context. */
void rove_dmabuf_unmap(struct rove_mr *mr);

#endif /* ROVE_MEM_DMABUF_H */
