/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A process's context: its doorbell page. */
#ifndef ROVE_OBJ_UCTX_H
#define ROVE_OBJ_UCTX_H

#include <linux/list.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rove-abi.h>
#include "watch.h"

struct rove_area;
struct rove_dev;
struct rove_qp;

struct rove_uctx {
	struct ib_ucontext ib;		/* first; freed by the core */
	struct rove_dev *dev;
	struct rove_area *mem;		/* struct rove_db_page */
	struct rove_db_page *db;	/* mem->addr */
	struct xarray slots;		/* doorbell slot -> QP; engine under RCU */
	struct list_head engine_node;	/* engine's list; under its mutex */
	unsigned int look_at;		/* slot that comes first; the engine's, under its mutex */
	struct rove_watch watch;
	struct rdma_user_mmap_entry *mmap;	/* verbs/ */
};

static inline struct rove_uctx *rove_uctx_of(struct ib_ucontext *ib)
{
	return container_of(ib, struct rove_uctx, ib);
}

/* Allocates the page and shows it to the engine: 0 or -ENOMEM. */
int rove_uctx_init(struct rove_uctx *u, struct rove_dev *dev);
/* All its QPs are gone. Waits until the engine does not look at it. */
void rove_uctx_exit(struct rove_uctx *u);

enum rove_rung {
	ROVE_RUNG_DONE,		/* it was run, or is not there */
	ROVE_RUNG_AGAIN,	/* it was run, and stays rung */
	ROVE_RUNG_STOP,		/* it was not: it stays rung, as do those that follow */
};

/* Nobody else needs to look at the QP of @slot, which is in the page. Any context. */
void rove_uctx_unring(struct rove_uctx *u, u32 slot);

/**
 * rove_uctx_rung() - visit the QPs whose doorbells are rung
 * @at: slot that comes first; the one that was not run, after ROVE_RUNG_STOP
 * @visit: under RCU; a QP, or NULL: what is in the page is the user's
 *
 * What is visited is not rung meanwhile, so that nobody else finds it.
 *
 * Return: true if some of it was rung again: somebody has to look.
 */
bool rove_uctx_rung(struct rove_uctx *u, unsigned int *at,
		    enum rove_rung (*visit)(struct rove_qp *qp, void *arg), void *arg);

#endif /* ROVE_OBJ_UCTX_H */
