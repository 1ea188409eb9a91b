// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>
#include "../obj/area.h"
#include "mmap.h"

struct mmap_entry {
	struct rdma_user_mmap_entry rdma;
	struct rove_area *area;
};

struct rdma_user_mmap_entry *rove_mmap_insert(struct ib_ucontext *ctx, struct rove_area *area,
					      u64 *offset)
{
	struct mmap_entry *e;
	int err;

	e = kzalloc_obj(*e, GFP_KERNEL_ACCOUNT);
	if (!e)
		return ERR_PTR(-ENOMEM);

	e->area = area;
	rove_area_get(area);
	err = rdma_user_mmap_entry_insert(ctx, &e->rdma, area->len);
	if (err) {
		rove_area_put(area);
		kfree(e);
		return ERR_PTR(err);
	}
	*offset = rdma_user_mmap_get_offset(&e->rdma);
	return &e->rdma;
}

/* The last reference is gone. Mappings hold the pages themselves, not the entry. */
void rove_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct mmap_entry *e = container_of(entry, struct mmap_entry, rdma);

	rove_area_put(e->area);
	kfree(e);
}

static int insert_pages(struct vm_area_struct *vma, const struct rove_area *area)
{
	unsigned long off;
	int err;

	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	for (off = 0; off < area->len; off += PAGE_SIZE) {
		err = vm_insert_page(vma, vma->vm_start + off, vmalloc_to_page(area->addr + off));
		if (err)
			return err;
	}
	return 0;
}

int rove_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct mmap_entry *e;
	int err;

	/* Whole areas only, and shared. */
	entry = rdma_user_mmap_entry_get(ctx, vma);
	if (!entry)
		return -EINVAL;

	e = container_of(entry, struct mmap_entry, rdma);
	err = insert_pages(vma, e->area);
	rdma_user_mmap_entry_put(entry);
	return err;
}
