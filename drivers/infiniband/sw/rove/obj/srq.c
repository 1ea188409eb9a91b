// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/rove-abi.h>
#include "area.h"
#include "cq.h"
#include "dev.h"
#include "qp.h"
#include "srq.h"

static_assert(sizeof(struct rove_srq_hdr) == ROVE_SRQ_WQES);

/* SRQs of XRC domains, by number; readers under RCU. */
static DEFINE_XARRAY_ALLOC(srqs);
static u32 next_srqn;

#define SRQN_LIMIT	XA_LIMIT(1, 0xffffff)

struct rove_srq *rove_srq_find(struct ib_xrcd *xrcd, u32 srqn)
{
	struct rove_srq *srq = xa_load(&srqs, srqn);

	return srq && srq->xrcd == xrcd ? srq : NULL;
}

static struct rove_area *alloc_ring(u32 entries, u32 stride)
{
	return rove_area_alloc(ROVE_SRQ_WQES + entries * stride);
}

static void init_ring(struct rove_ring *ring, struct rove_area *mem, u32 entries, u32 stride)
{
	struct rove_srq_hdr *hdr = mem->addr;

	rove_ring_init(ring, &hdr->prod, &hdr->cons, mem->addr + ROVE_SRQ_WQES, entries, stride);
}

static void tell_limit(struct tasklet_struct *tasklet)
{
	struct rove_srq *srq = container_of(tasklet, struct rove_srq, tasklet);
	struct ib_event ev = {
		.device = &srq->dev->ib,
		.element.srq = srq->ib,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ib->event_handler)
		srq->ib->event_handler(&ev, srq->ib->srq_context);
}

struct rove_srq *rove_srq_create(struct rove_dev *dev, struct ib_pd *pd, struct ib_srq *ib,
				 struct ib_srq_init_attr *init, bool user)
{
	struct ib_srq_attr *attr = &init->attr;
	struct rove_srq *srq;
	int err;

	if (!attr->max_wr || attr->max_wr > ROVE_MAX_WR || attr->max_sge > ROVE_MAX_SGE)
		return ERR_PTR(-EINVAL);

	srq = kzalloc_obj(*srq, GFP_KERNEL_ACCOUNT);
	if (!srq)
		return ERR_PTR(-ENOMEM);

	srq->dev = dev;
	srq->pd = pd;
	srq->ib = ib;
	srq->user = user;
	srq->max_sge = max(attr->max_sge, 1U);
	srq->stride = rove_wqe_rq_stride(srq->max_sge);
	srq->entries = roundup_pow_of_two(attr->max_wr);
	srq->mem = alloc_ring(srq->entries, srq->stride);
	if (!srq->mem) {
		err = -ENOMEM;
		goto err_free;
	}

	mutex_init(&srq->mutex);
	spin_lock_init(&srq->lock);
	spin_lock_init(&srq->post_lock);
	tasklet_setup(&srq->tasklet, tell_limit);
	init_ring(&srq->ring, srq->mem, srq->entries, srq->stride);
	srq->prod = srq->ring;

	if (init->srq_type == IB_SRQT_XRC) {
		srq->xrcd = init->ext.xrc.xrcd;
		srq->cq = rove_cq_of(init->ext.cq);
		err = xa_alloc_cyclic(&srqs, &srq->srqn, srq, SRQN_LIMIT, &next_srqn, GFP_KERNEL);
		if (err < 0)
			goto err_ring;
		rove_cq_get(srq->cq);
	}
	attr->max_wr = srq->entries;
	attr->max_sge = srq->max_sge;
	return srq;

err_ring:
	rove_area_put(srq->mem);
err_free:
	kfree(srq);
	return ERR_PTR(err == -EBUSY ? -ENOMEM : err);
}

void rove_srq_destroy(struct rove_srq *srq)
{
	if (srq->xrcd)
		xa_erase(&srqs, srq->srqn);
	spin_lock_bh(&srq->lock);
	srq->dead = true;
	spin_unlock_bh(&srq->lock);
	tasklet_kill(&srq->tasklet);
	rove_area_put(srq->next_mem);
	rove_area_put(srq->mem);
	if (srq->xrcd)
		rove_cq_put(srq->cq);
	kfree_rcu(srq, rcu);
}

enum rove_fault rove_srq_take(struct rove_srq *srq, struct rove_rwqe *wqe, bool *empty)
{
	enum rove_fault fault = ROVE_FAULT_NONE;
	u32 left;

	spin_lock(&srq->lock);
	left = srq->dead ? 0 : rove_ring_pending(&srq->ring);
	if (left) {
		fault = rove_wqe_read_recv(wqe, rove_ring_slot(&srq->ring, srq->ring.head),
					   srq->max_sge);
		rove_ring_release(&srq->ring);
		left--;
	} else {
		*empty = true;
	}
	/*
	 * Also when there was none: it may have been armed after the last one was
	 * taken, and nobody would ever be told.
	 */
	if (unlikely(left < srq->limit && !srq->dead)) {
		srq->limit = 0;
		tasklet_schedule(&srq->tasklet);
	}
	spin_unlock(&srq->lock);
	return fault;
}

int rove_srq_set_limit(struct rove_srq *srq, u32 limit)
{
	lockdep_assert_held(&srq->mutex);
	if (limit > srq->entries)
		return -EINVAL;
	spin_lock_bh(&srq->lock);
	srq->limit = limit;
	spin_unlock_bh(&srq->lock);
	return 0;
}

int rove_srq_prepare(struct rove_srq *srq, u32 max_wr)
{
	struct rove_area *mem;
	u32 entries;

	lockdep_assert_held(&srq->mutex);
	if (!max_wr || max_wr > ROVE_MAX_WR)
		return -EINVAL;
	entries = roundup_pow_of_two(max_wr);
	if (entries < READ_ONCE(srq->limit) || entries < rove_ring_pending(&srq->ring))
		return -EINVAL;
	mem = alloc_ring(entries, srq->stride);
	if (!mem)
		return -ENOMEM;
	rove_area_put(srq->next_mem);
	srq->next_mem = mem;
	srq->next_entries = entries;
	return 0;
}

/* Both sides of the old ring stand still. Indices run on. */
static bool move(struct rove_srq *srq)
{
	struct rove_ring *old = &srq->ring, new;
	u32 pending = rove_ring_pending(old), i;

	if (pending > srq->next_entries || srq->limit > srq->next_entries)
		return false;
	init_ring(&new, srq->next_mem, srq->next_entries, srq->stride);
	new.head = old->head;
	for (i = new.head; i != new.head + pending; i++)
		memcpy(rove_ring_slot(&new, i), rove_ring_slot(old, i), srq->stride);
	WRITE_ONCE(*new.prod, new.head + pending);
	WRITE_ONCE(*new.cons, new.head);
	*old = new;
	new.head += pending;
	srq->prod = new;
	return true;
}

int rove_srq_commit(struct rove_srq *srq)
{
	struct rove_area *unused = srq->next_mem;
	unsigned long flags;
	bool moved;

	lockdep_assert_held(&srq->mutex);
	if (!srq->next_mem)
		return -EINVAL;

	spin_lock_bh(&srq->lock);
	spin_lock_irqsave(&srq->post_lock, flags);
	moved = move(srq);
	spin_unlock_irqrestore(&srq->post_lock, flags);
	spin_unlock_bh(&srq->lock);

	srq->next_mem = NULL;
	if (moved) {
		swap(srq->mem, unused);
		srq->entries = srq->next_entries;
	}
	rove_area_put(unused);
	return moved ? 0 : -EINVAL;
}

int rove_srq_init(void)
{
	next_srqn = get_random_u32_inclusive(1, 0xffffff);
	return 0;
}

void rove_srq_exit(void)
{
	WARN_ON(!xa_empty(&srqs));
	xa_destroy(&srqs);
}
