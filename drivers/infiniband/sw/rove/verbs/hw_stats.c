// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* `rdma statistic show link` and the files in hw_counters. */
#include <linux/mutex.h>
#include "../obj/dev.h"
#include "../stats.h"
#include "hw_stats.h"

/* The same for all links: each writes what is there already. */
static struct rdma_stat_desc descs[ROVE_STATS];
static DEFINE_MUTEX(descs_lock);

struct rdma_hw_stats *rove_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	unsigned int i;

	mutex_lock(&descs_lock);
	for (i = 0; i < ROVE_STATS; i++)
		WRITE_ONCE(descs[i].name, rove_stat_name(i));
	mutex_unlock(&descs_lock);
	return rdma_alloc_hw_stats_struct(descs, ROVE_STATS, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int rove_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port, int index)
{
	struct rove_dev *dev = rove_dev_of(ib);
	unsigned int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < ROVE_STATS; i++)
		stats->value[i] = rove_stat_sum(dev->stats, i);
	return ROVE_STATS;
}
