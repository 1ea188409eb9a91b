/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Statistics of a link: per-CPU counters, shown by `rdma statistic show`. */
#ifndef ROVE_STATS_H
#define ROVE_STATS_H

#include <linux/percpu.h>
#include "proto/tally.h"
#include "wire/parse.h"

enum rove_stat {
	ROVE_STAT_TX_PACKETS,
	ROVE_STAT_TX_BYTES,		/* BTH to ICRC */
	ROVE_STAT_TX_TRAINS,		/* skbs */
	ROVE_STAT_TX_DROPPED,		/* packets that the stack did not take */
	ROVE_STAT_RX_PACKETS,
	ROVE_STAT_RX_BYTES,
	ROVE_STAT_RX_TRAINS,
	ROVE_STAT_DOORBELLS,		/* found rung by the engine, or in its place */
	ROVE_STAT_KICKS,		/* system calls by posters, */
	ROVE_STAT_POLLS,		/* by who polls in vain */
	ROVE_STAT_WAKEUPS,		/* of the engine */
	ROVE_STAT_WATCHES,		/* a timer found work in its place */
	ROVE_STAT_CQ_OVERFLOW,
	ROVE_STAT_ACKS_ALONG,		/* in a train of the other half, */
	ROVE_STAT_ACKS_LATE,		/* after they waited for one in vain */
	ROVE_STAT_PAGE_FAULTS,		/* of regions with on-demand paging: fetched, */
	ROVE_STAT_PAGE_INVALIDATIONS,	/* taken away by the memory manager, */
	ROVE_STAT_PAGE_PREFETCHES,	/* asked for by the user */
	ROVE_STAT_TALLY,		/* enum rove_tally_index from here on */
	ROVE_STAT_DROP = ROVE_STAT_TALLY + ROVE_TALLIES,	/* enum rove_drop */
	ROVE_STATS = ROVE_STAT_DROP + ROVE_DROP_REASONS
};

struct rove_stats {
	u64 n[ROVE_STATS];
};

/* BH off; nothing counts from interrupts. */
static inline void rove_stat_add(struct rove_stats __percpu *s, unsigned int i, u64 n)
{
	__this_cpu_add(s->n[i], n);
}

/* Process context, too. Where an architecture has no such instruction it is far slower. */
static inline void rove_stat_add_any(struct rove_stats __percpu *s, unsigned int i, u64 n)
{
	this_cpu_add(s->n[i], n);
}

static inline void rove_stat_drop(struct rove_stats __percpu *s, enum rove_drop why)
{
	rove_stat_add(s, ROVE_STAT_DROP + why, 1);
}

/* Over all CPUs. Any context. */
u64 rove_stat_sum(struct rove_stats __percpu *s, unsigned int i);

/* For the users' eyes. @i: below ROVE_STATS. */
const char *rove_stat_name(unsigned int i);

#endif /* ROVE_STATS_H */
