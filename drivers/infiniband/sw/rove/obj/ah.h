/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address handles: where a datagram goes. */
#ifndef ROVE_OBJ_AH_H
#define ROVE_OBJ_AH_H

#include <linux/refcount.h>
#include <rdma/ib_verbs.h>
#include "../ip/path.h"

struct rove_dev;

/* Found by handle under RCU; the core's ib_ah is only a shell. */
struct rove_ah {
	struct rove_dev *dev;
	const struct ib_pd *pd;
	struct rdma_ah_attr attr;	/* for query_ah; without sgid_attr */
	struct rove_path path;
	u32 handle;			/* in rove_dev.ahs, 1 and up */
	spinlock_t lock;		/* BH off: route */
	struct rove_route route;	/* for whoever sends next */
	refcount_t refs;		/* creator, who found it */
	struct rcu_head rcu;
};

struct rove_ibah {
	struct ib_ah ib;
	struct rove_ah *ah;
};

static inline struct rove_ah *rove_ah_of(struct ib_ah *ib)
{
	return container_of(ib, struct rove_ibah, ib)->ah;
}

/**
 * rove_ah_create() - the kernel's and users' alike
 * @attr: with a GRH whose sgid_attr the caller holds
 * @gfp:  GFP_ATOMIC where create_ah may not sleep
 *
 * Any context. Return: ERR_PTR -EINVAL (no RoCE address), -ENODEV, -ENOMEM.
 */
struct rove_ah *rove_ah_create(struct rove_dev *dev, const struct ib_pd *pd,
			       const struct rdma_ah_attr *attr, gfp_t gfp);
/* Its handle is unknown from here on. Any context. */
void rove_ah_destroy(struct rove_ah *ah);

/* Reference by handle if it is of @pd, or NULL. Any context, as for the put. */
struct rove_ah *rove_ah_find(struct rove_dev *dev, u32 handle, const struct ib_pd *pd);
void rove_ah_put(struct rove_ah *ah);

/*
 * The route that was used last, if nobody else has it just now; it is the caller's
 * alone until it gives it back. BH off.
 */
void rove_ah_take_route(struct rove_ah *ah, struct rove_route *route);
void rove_ah_give_route(struct rove_ah *ah, struct rove_route *route);

#endif /* ROVE_OBJ_AH_H */
