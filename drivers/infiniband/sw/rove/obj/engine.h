/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The thread of a link that watches the doorbell pages of its users. */
#ifndef ROVE_OBJ_ENGINE_H
#define ROVE_OBJ_ENGINE_H

#include <linux/types.h>

struct rove_dev;
struct rove_engine;
struct rove_uctx;

/* Starts the thread: 0 or an errno. */
int rove_engine_start(struct rove_dev *dev);
void rove_engine_stop(struct rove_dev *dev);

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

#endif /* ROVE_OBJ_ENGINE_H */
