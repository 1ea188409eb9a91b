// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <asm/processor.h>
#include "memwr.h"

#define VARIANT		0xffU
#define ACCESS_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define ACCESS_FAST	(IB_ACCESS_LOCAL_WRITE | ACCESS_REMOTE | IB_ACCESS_OPTIONAL)
/* Local write is the region's affair; programs name it, and adapters take it. */
#define ACCESS_WINDOW	(ACCESS_REMOTE | IB_ACCESS_LOCAL_WRITE | IB_ZERO_BASED | IB_ACCESS_OPTIONAL)
#define ACCESS_WRITES	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* ---- valid or not ---------------------------------------------------------- */

/*
 * Not valid any more, and not in use. Who has a reference is in the middle of a copy
 * on another CPU, with BH off.
 */
static void end_use(struct rove_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	if (!mr->valid)
		return;
	WRITE_ONCE(mr->valid, false);
	/* Pairs with rove_mr_find(): see there. */
	smp_mb();
	while (refcount_read(&mr->refs) > 1)
		cpu_relax();
	/* What they read is written after this. */
	smp_acquire__after_ctrl_dep();
}

static void begin_use(struct rove_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	/* Pairs with rove_mr_find(): what it compares is written before. */
	smp_store_release(&mr->valid, true);
}

static void unbind(struct rove_mr *window)
{
	end_use(window);
	if (window->base)
		atomic_dec(&window->base->windows);
	window->base = NULL;
	window->blocks = NULL;
	window->odp = NULL;
	window->qpn = 0;
}

/* ---- fast registration ------------------------------------------------------ */

int rove_memwr_alloc(struct rove_mr *mr, u32 pages)
{
	mr->blocks = kvcalloc(pages, sizeof(*mr->blocks), GFP_KERNEL_ACCOUNT);
	mr->next = kvcalloc(pages, sizeof(*mr->next), GFP_KERNEL_ACCOUNT);
	if (!mr->blocks || !mr->next) {
		rove_memwr_free(mr);
		return -ENOMEM;
	}
	mr->max_blocks = pages;
	return 0;
}

void rove_memwr_free(struct rove_mr *mr)
{
	kvfree(mr->blocks);
	kvfree(mr->next);
	mr->blocks = NULL;
	mr->next = NULL;
}

/* There is no device that addresses are mapped for: they are the kernel's own. */
static int add_page(struct ib_mr *ib, u64 addr)
{
	struct rove_mr *mr = container_of(ib, struct rove_mr, ib);

	if (mr->next_num == mr->max_blocks)
		return -ENOMEM;
	mr->next[mr->next_num++] = addr;
	return 0;
}

int rove_memwr_map_sg(struct rove_mr *mr, struct scatterlist *sg, int num, unsigned int *off)
{
	if (!is_power_of_2(mr->ib.page_size) || mr->ib.page_size < SZ_4K)
		return -EINVAL;
	mr->next_num = 0;
	return ib_sg_to_pages(&mr->ib, sg, num, off, add_page);
}

/* Do the pages that were mapped hold that range? */
static bool covers(const struct rove_mr *mr, u64 iova, u64 length)
{
	u64 room = (u64)mr->next_num * mr->ib.page_size;
	u64 off = iova & (mr->ib.page_size - 1);

	return length && off < room && length <= room - off && iova + length > iova;
}

enum rove_fault rove_memwr_register(struct rove_mr_table *t, const struct ib_pd *pd,
				    const struct rove_sqe *sqe)
{
	enum rove_fault fault = ROVE_FAULT_MEMORY_OP;
	u64 iova = sqe->reg.iova, length = sqe->reg.length;
	struct rove_mr *mr;
	int access = sqe->reg.access;

	rcu_read_lock();
	mr = rove_mr_peek(t, sqe->reg.key);
	if (!mr || mr->kind != ROVE_MR_FAST)
		goto out;
	if ((access & ~ACCESS_FAST) ||
	    ((access & ACCESS_WRITES) && !(access & IB_ACCESS_LOCAL_WRITE)))
		goto out;

	spin_lock(&mr->lock);
	if (!mr->dead && !mr->valid && mr->pd == pd && covers(mr, iova, length)) {
		/* Readers of the former life are gone: end_use() waited for them. */
		swap(mr->blocks, mr->next);
		mr->next_num = 0;
		mr->shift = ilog2(mr->ib.page_size);
		mr->offset = iova & (mr->ib.page_size - 1);
		mr->iova = iova;
		mr->length = length;
		mr->access = access;
		mr->key = sqe->reg.key;
		begin_use(mr);
		fault = ROVE_FAULT_NONE;
	}
	spin_unlock(&mr->lock);
out:
	rcu_read_unlock();
	return fault;
}

/* ---- windows ---------------------------------------------------------------- */

/* The part of @base that is meant; it was checked and counted. */
static void show_part(struct rove_mr *window, struct rove_mr *base, const struct rove_sqe *sqe)
{
	lockdep_assert_held(&window->lock);
	window->base = base;
	window->blocks = base->blocks;
	window->odp = base->odp;
	window->shift = base->shift;
	window->offset = base->offset + (sqe->bind.addr - base->iova);
	window->iova = sqe->bind.access & IB_ZERO_BASED ? 0 : sqe->bind.addr;
	window->length = sqe->bind.length;
	window->access = sqe->bind.access & ACCESS_REMOTE;
}

/* May the part be shown through @window? If so, it is counted. */
static bool may_show(const struct rove_mr *window, struct rove_mr *base, const struct rove_sqe *sqe)
{
	u64 off = sqe->bind.addr - base->iova;

	if ((base->kind != ROVE_MR_USER && base->kind != ROVE_MR_ODP) ||
	    base->key != sqe->bind.lkey || base->pd != window->pd ||
	    !(base->access & IB_ACCESS_MW_BIND))
		return false;
	if ((sqe->bind.access & ACCESS_WRITES) && !(base->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	if (sqe->bind.addr < base->iova || off > base->length ||
	    sqe->bind.length > base->length - off)
		return false;
	return atomic_inc_unless_negative(&base->windows);
}

static bool may_bind(struct rove_mr *window, struct rove_mr *base, const struct rove_sqe *sqe)
{
	if (window->dead || (sqe->bind.access & ~ACCESS_WINDOW))
		return false;
	if (window->window_type == IB_MW_TYPE_2) {
		/* One that is bound has to be invalidated first. */
		if (window->valid || !sqe->bind.length)
			return false;
	} else if (sqe->bind.access & IB_ZERO_BASED) {
		/* Addresses of type 1 are those of the region (IBTA vol. 1, 10.6.7.2.6). */
		return false;
	}
	return !sqe->bind.length || (base && may_show(window, base, sqe));
}

enum rove_fault rove_memwr_bind(struct rove_mr_table *t, const struct ib_pd *pd, u32 qpn,
				const struct rove_sqe *sqe)
{
	enum rove_fault fault = ROVE_FAULT_MEMORY_OP;
	struct rove_mr *window, *base;

	rcu_read_lock();
	window = rove_mr_peek(t, sqe->bind.mw_rkey);
	base = rove_mr_peek(t, sqe->bind.lkey);
	if (!window || window->kind != ROVE_MR_WINDOW || window->pd != pd)
		goto out;

	spin_lock(&window->lock);
	if (may_bind(window, base, sqe)) {
		unbind(window);
		window->key = (window->key & ~VARIANT) | (sqe->bind.new_rkey & VARIANT);
		if (sqe->bind.length) {
			show_part(window, base, sqe);
			window->qpn = window->window_type == IB_MW_TYPE_2 ? qpn : 0;
			begin_use(window);
		}
		fault = ROVE_FAULT_NONE;
	}
	spin_unlock(&window->lock);
out:
	rcu_read_unlock();
	return fault;
}

void rove_memwr_end(struct rove_mr *window)
{
	spin_lock_bh(&window->lock);
	window->dead = true;
	unbind(window);
	spin_unlock_bh(&window->lock);
}

/* ---- invalidation ----------------------------------------------------------- */

static bool may_invalidate(const struct rove_mr *mr, u32 key, const struct ib_pd *pd, u32 qpn,
			   bool remote)
{
	lockdep_assert_held(&mr->lock);
	if (mr->key != key || mr->pd != pd || mr->dead)
		return false;
	if (mr->kind == ROVE_MR_WINDOW)
		return mr->valid && mr->window_type == IB_MW_TYPE_2 && mr->qpn == qpn;
	/* Its owner may not know whether the peer has done it already. */
	return !remote || (mr->valid && (mr->access & ACCESS_REMOTE));
}

enum rove_fault rove_memwr_invalidate(struct rove_mr_table *t, const struct ib_pd *pd, u32 qpn,
				      u32 key, bool remote)
{
	enum rove_fault fault = remote ? ROVE_FAULT_REQ_ACCESS : ROVE_FAULT_MEMORY_OP;
	struct rove_mr *mr;

	rcu_read_lock();
	mr = rove_mr_peek(t, key);
	if (mr && mr->kind >= ROVE_MR_FAST) {
		spin_lock(&mr->lock);
		if (may_invalidate(mr, key, pd, qpn, remote)) {
			if (mr->kind == ROVE_MR_WINDOW)
				unbind(mr);
			else
				end_use(mr);
			fault = ROVE_FAULT_NONE;
		}
		spin_unlock(&mr->lock);
	}
	rcu_read_unlock();
	return fault;
}
