// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include "../ip/train.h"
#include "round.h"

/* Half of what the receive side takes in one turn (net.core.dev_weight: 64). */
#define ROUND_SKBS	32

struct round {
	u32 begin;			/* skbs that were sent before it */
	bool next;			/* the next one is on its way */
	struct tasklet_struct tasklet;	/* begins it: before the QPs' that come behind */
};

static DEFINE_PER_CPU(struct round, rounds);

/* Where a CPU went offline another one runs this, and the count is of no use: it is over. */
static void begin_next(struct tasklet_struct *tasklet)
{
	struct round *r = container_of(tasklet, struct round, tasklet);

	r->begin = rove_train_sent();
	r->next = false;
}

void rove_round_begin(void)
{
	this_cpu_ptr(&rounds)->begin = rove_train_sent();
}

bool rove_round_is_over(void)
{
	return in_serving_softirq() &&
	       rove_train_sent() - this_cpu_ptr(&rounds)->begin >= ROUND_SKBS;
}

bool rove_round_takes(void)
{
	struct round *r = this_cpu_ptr(&rounds);

	if (!rove_round_is_over())
		return true;
	if (!r->next) {
		r->next = true;
		tasklet_schedule(&r->tasklet);
	}
	return false;
}

void rove_round_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_setup(&per_cpu(rounds, cpu).tasklet, begin_next);
}

void rove_round_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu(rounds, cpu).tasklet);
}
