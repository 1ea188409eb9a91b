// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP counts into the statistics that it points to: those of its link, or those of the
 * counter that it is bound to. The core adds the counters to what it shows of the link.
 */
#include <linux/rcupdate.h>
#include "../obj/dev.h"
#include "../obj/qp.h"
#include "hw_stats.h"
#include "v_counter.h"

void rove_counter_init(struct rdma_counter *counter)
{
}

struct rdma_hw_stats *rove_counter_alloc_stats(struct rdma_counter *counter)
{
	return rove_alloc_hw_port_stats(counter->device, counter->port);
}

/* The first QP brings the statistics; counter->id is what they are found by. */
static int bring_stats(struct rove_dev *dev, struct rdma_counter *counter)
{
	struct rove_stats __percpu *stats;
	int err;

	stats = alloc_percpu_gfp(struct rove_stats, GFP_KERNEL_ACCOUNT);
	if (!stats)
		return -ENOMEM;
	/*
	 * As a plain pointer: an xarray does not know of CPUs.  By way of a number, since per-CPU
	 * memory is an address space of its own to the compiler too.
	 */
	err = xa_alloc(&dev->counters, &counter->id, (void *)(uintptr_t __force)stats,
		       xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (err)
		free_percpu(stats);
	return err;
}

static struct rove_stats __percpu *stats_of(struct rdma_counter *counter)
{
	return (struct rove_stats __percpu __force *)(uintptr_t)
		xa_load(&rove_dev_of(counter->device)->counters, counter->id);
}

/* The core calls one of these at a time for each counter, and for each QP. */
int rove_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ib)
{
	int err;

	if (!counter->id) {
		err = bring_stats(rove_dev_of(counter->device), counter);
		if (err)
			return err;
	}
	WRITE_ONCE(rove_qp_of(ib)->stats, stats_of(counter));
	ib->counter = counter;
	return 0;
}

int rove_counter_unbind_qp(struct ib_qp *ib)
{
	struct rove_qp *qp = rove_qp_of(ib);

	WRITE_ONCE(qp->stats, qp->dev->stats);
	ib->counter = NULL;
	/* Who has seen the old ones is done with them, and they can be summed up. */
	synchronize_rcu();
	return 0;
}

int rove_counter_dealloc(struct rdma_counter *counter)
{
	if (!counter->id)
		return 0;
	free_percpu(stats_of(counter));
	xa_erase(&rove_dev_of(counter->device)->counters, counter->id);
	counter->id = 0;
	return 0;
}

int rove_counter_update_stats(struct rdma_counter *counter)
{
	unsigned int i;

	if (!counter->id)
		return 0;
	for (i = 0; i < ROVE_STATS; i++)
		counter->stats->value[i] = rove_stat_sum(stats_of(counter), i);
	return 0;
}
