/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory shared with a process: rings, doorbell pages. The object that uses it
 * and the process's right to map it (verbs/mmap) each hold a reference, so that
 * neither has to wait for the other. A mapping keeps the pages themselves, and
 * outlives both.
 */
#ifndef ROVE_OBJ_AREA_H
#define ROVE_OBJ_AREA_H

#include <linux/refcount.h>
#include <linux/types.h>

struct rove_area {
	void *addr;		/* vmalloc'ed in single pages, zeroed */
	u32 len;		/* whole pages */
	refcount_t refs;
};

/* @len is rounded up to pages. Sleeps. NULL when there is no memory. */
struct rove_area *rove_area_alloc(u32 len);
void rove_area_get(struct rove_area *area);
/* NULL is fine. Any context but NMI. */
void rove_area_put(struct rove_area *area);

#endif /* ROVE_OBJ_AREA_H */
