/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The right of a process to map an area, under an offset that it was told. */
#ifndef ROVE_VERBS_MMAP_H
#define ROVE_VERBS_MMAP_H

#include <linux/types.h>

struct ib_ucontext;
struct rdma_user_mmap_entry;
struct rove_area;
struct vm_area_struct;

/*
 * @area may be mapped from here on; the entry has a reference to it. Sleeps.
 * Return: the entry, to be given to rdma_user_mmap_entry_remove(), or an ERR_PTR
 * (-ENOMEM); the offset for mmap() in *@offset.
 */
struct rdma_user_mmap_entry *rove_mmap_insert(struct ib_ucontext *ctx, struct rove_area *area,
					      u64 *offset);

/* ib_device_ops */
int rove_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma);
void rove_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* ROVE_VERBS_MMAP_H */
