// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include "../ip/train.h"
#include "round.h"

/* Half of what the receive side takes in one turn (net.core.dev_weight: 64). */
#define ROUND_SKBS	32

struct round {
	u32 begin;			/* skbs that were sent before it */
	const struct rove_qp *first;	/* whose tasklet begins the next one; not followed */
	unsigned long since;		/* jiffies; when that was set */
};

static DEFINE_PER_CPU(struct round, rounds);

static void begin(struct round *r)
{
	r->begin = rove_train_sent();
	r->first = NULL;
}

void rove_round_begin(void)
{
	begin(this_cpu_ptr(&rounds));
}

bool rove_round_is_over(void)
{
	return in_serving_softirq() &&
	       rove_train_sent() - this_cpu_ptr(&rounds)->begin >= ROUND_SKBS;
}

bool rove_round_takes(const struct rove_qp *qp)
{
	struct round *r = this_cpu_ptr(&rounds);

	if (!rove_round_is_over())
		return true;
	if (!r->first) {
		r->first = qp;
		r->since = jiffies;
		return false;
	}
	/* Where a CPU went offline another one runs its tasklets: not for ever. */
	if (r->first != qp && time_before(jiffies, r->since + 2))
		return false;
	begin(r);
	return true;
}
