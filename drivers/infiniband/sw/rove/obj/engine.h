/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The thread of a link that watches the doorbell pages of its users. */
#ifndef ROVE_OBJ_ENGINE_H
#define ROVE_OBJ_ENGINE_H

#include <linux/types.h>

struct cpumask;
struct rove_dev;
struct rove_engine;
struct rove_uctx;

/* Starts the thread: 0 or an errno. */
int rove_engine_start(struct rove_dev *dev);
void rove_engine_stop(struct rove_dev *dev);

/* Who sees what programs post. */
enum rove_doorbell_mode {
	ROVE_DOORBELL_AUTO,	/* the engine while there is a CPU for it, or their system calls */
	ROVE_DOORBELL_INLINE,	/* their system calls, one for each post */
	ROVE_DOORBELL_POLL,	/* the engine, which takes a CPU all the time */
};

#define ROVE_SPIN_MAX_US	1000000

/* Settings of a link, at any time; sleep. */
void rove_engine_set_mode(struct rove_engine *e, enum rove_doorbell_mode mode);
enum rove_doorbell_mode rove_engine_mode(const struct rove_engine *e);
/* How long it spins without work, up to ROVE_SPIN_MAX_US; 0: as it sees fit. */
void rove_engine_set_spin(struct rove_engine *e, u32 us);
u32 rove_engine_spin(const struct rove_engine *e);
/* Where it may run: 0, or -EINVAL when none of @cpus is active. */
int rove_engine_set_cpus(struct rove_engine *e, const struct cpumask *cpus);
void rove_engine_cpus(struct rove_engine *e, struct cpumask *cpus);

/* From here on, and until rove_engine_remove() comes back, @u is watched. Sleep. */
void rove_engine_add(struct rove_engine *e, struct rove_uctx *u);
void rove_engine_remove(struct rove_engine *e, struct rove_uctx *u);

/*
 * A user had to make a system call. If that happens often, the thread is woken,
 * to see whether there is a CPU for it. Any context.
 */
void rove_engine_kicked(struct rove_engine *e);
/* The same at once, but for the time that it is left alone. Any context. */
void rove_engine_try(struct rove_engine *e);
/* Posters have been told to call. A hint: it may change at any time. */
bool rove_engine_is_asleep(const struct rove_engine *e);
/* ...and somebody else may spare them the calls. */
bool rove_engine_is_missing(const struct rove_engine *e);

#endif /* ROVE_OBJ_ENGINE_H */
