/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Turns of sending and receiving on one CPU.
 *
 * What goes to another namespace over a device without queues waits for the receive side
 * of the same CPU, in a queue that is short. A thread that sends lets softirqs run after
 * each batch. In softirqs many QPs may go on one after the other: as tasklets, and as
 * answers come in. They send so much in one round; the rest is left to tasklets, which run
 * in the order in which they were scheduled, and behind the receive side each time.
 */
#ifndef ROVE_OBJ_ROUND_H
#define ROVE_OBJ_ROUND_H

#include <linux/types.h>

/* The receive side has its turn before anything else is sent. BH off. */
void rove_round_begin(void);

/* In a softirq: enough was sent, and what follows is left to the tasklet. BH off. */
bool rove_round_is_over(void);

/* False: this tasklet is to be scheduled again, for the next round. Tasklets only. */
bool rove_round_takes(void);

/* Module init and exit; no QP is left. */
void rove_round_init(void);
void rove_round_exit(void);

#endif /* ROVE_OBJ_ROUND_H */
