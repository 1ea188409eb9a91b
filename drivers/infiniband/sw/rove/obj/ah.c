// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/jhash.h>
#include <linux/slab.h>
#include "ah.h"
#include "dev.h"

/* create_ah and destroy_ah may be called with interrupts off: so is the lock. */
static int insert(struct rove_dev *dev, struct rove_ah *ah, gfp_t gfp)
{
	unsigned long flags;
	int err;

	xa_lock_irqsave(&dev->ahs, flags);
	err = __xa_alloc_cyclic(&dev->ahs, &ah->handle, ah, xa_limit_32b, &dev->ah_next, gfp);
	xa_unlock_irqrestore(&dev->ahs, flags);
	return err < 0 ? -ENOMEM : 0;
}

struct rove_ah *rove_ah_create(struct rove_dev *dev, const struct ib_pd *pd,
			       const struct rdma_ah_attr *attr, gfp_t gfp)
{
	struct rove_ah *ah;
	int err;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || rdma_ah_get_port_num(attr) != 1)
		return ERR_PTR(-EINVAL);

	ah = kzalloc_obj(*ah, gfp);
	if (!ah)
		return ERR_PTR(-ENOMEM);

	ah->dev = dev;
	ah->pd = pd;
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;
	refcount_set(&ah->refs, 1);
	spin_lock_init(&ah->lock);

	/* Datagrams to one destination take one way, and stay in order. */
	err = rove_path_init(&ah->path, attr, jhash(rdma_ah_read_grh(attr)->dgid.raw,
						    sizeof(union ib_gid), 0));
	if (err)
		goto err_free;
	err = insert(dev, ah, gfp);
	if (err)
		goto err_path;
	return ah;

err_path:
	rove_path_release(&ah->path);
err_free:
	kfree(ah);
	return ERR_PTR(err);
}

void rove_ah_destroy(struct rove_ah *ah)
{
	unsigned long flags;

	xa_lock_irqsave(&ah->dev->ahs, flags);
	__xa_erase(&ah->dev->ahs, ah->handle);
	xa_unlock_irqrestore(&ah->dev->ahs, flags);
	rove_ah_put(ah);
}

struct rove_ah *rove_ah_find(struct rove_dev *dev, u32 handle, const struct ib_pd *pd)
{
	struct rove_ah *ah;

	rcu_read_lock();
	ah = xa_load(&dev->ahs, handle);
	if (ah && (ah->pd != pd || !refcount_inc_not_zero(&ah->refs)))
		ah = NULL;
	rcu_read_unlock();
	return ah;
}

void rove_ah_put(struct rove_ah *ah)
{
	if (!refcount_dec_and_test(&ah->refs))
		return;
	rove_route_drop(&ah->route);
	rove_path_release(&ah->path);
	kfree_rcu(ah, rcu);
}

void rove_ah_take_route(struct rove_ah *ah, struct rove_route *route)
{
	lockdep_assert_in_softirq();
	spin_lock(&ah->lock);
	*route = ah->route;
	ah->route = (struct rove_route){};
	spin_unlock(&ah->lock);
}

void rove_ah_give_route(struct rove_ah *ah, struct rove_route *route)
{
	lockdep_assert_in_softirq();
	spin_lock(&ah->lock);
	swap(ah->route, *route);
	spin_unlock(&ah->lock);
	rove_route_drop(route);
}
