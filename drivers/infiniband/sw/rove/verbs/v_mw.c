// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include "../mem/memwr.h"
#include "../mem/mr.h"
#include "../obj/dev.h"
#include "v_mw.h"

int rove_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct rove_mr *window;
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;
	window = kzalloc_obj(*window, GFP_KERNEL_ACCOUNT);
	if (!window)
		return -ENOMEM;

	window->kind = ROVE_MR_WINDOW;
	window->window_type = ib->type;
	window->pd = ib->pd;
	err = rove_mr_insert(&rove_dev_of(ib->device)->mrs, window);
	if (err) {
		kfree(window);
		return err;
	}
	ib->rkey = window->key;
	container_of(ib, struct rove_ibmw, ib)->window = window;
	return 0;
}

int rove_dealloc_mw(struct ib_mw *ib)
{
	struct rove_mr *window = container_of(ib, struct rove_ibmw, ib)->window;

	rove_memwr_end(window);
	rove_mr_remove(window);
	kfree_rcu(window, rcu);
	return 0;
}
