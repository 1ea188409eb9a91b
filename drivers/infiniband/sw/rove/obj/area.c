// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "area.h"

struct rove_area *rove_area_alloc(u32 len)
{
	struct rove_area *area;

	area = kzalloc_obj(*area, GFP_KERNEL_ACCOUNT);
	if (!area)
		return NULL;
	area->len = PAGE_ALIGN(len);
	/* Charged to who makes it: a process may ask for many. */
	area->addr = __vmalloc(area->len, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!area->addr) {
		kfree(area);
		return NULL;
	}
	refcount_set(&area->refs, 1);
	return area;
}

void rove_area_get(struct rove_area *area)
{
	refcount_inc(&area->refs);
}

void rove_area_put(struct rove_area *area)
{
	if (!area || !refcount_dec_and_test(&area->refs))
		return;
	vfree(area->addr);
	kfree(area);
}
