/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two connected QPs of this module in one namespace: packets go from one to the other by
 * function call, and their payload from page to page.
 */
#ifndef ROVE_OBJ_SAMEHOST_H
#define ROVE_OBJ_SAMEHOST_H

#include "../base.h"

struct rove_qp;

/**
 * rove_samehost_peer() - whom @qp's requester, owned by the caller, can call
 *
 * Its address must be one of this namespace, reached by the loopback device, and the QP
 * there must have its path to here: who has not yet gets packets as anybody else does,
 * and does not count them. BH off, RCU held.
 *
 * Return: the QP, valid until RCU is let go, or NULL.
 */
struct rove_qp *rove_samehost_peer(struct rove_qp *qp);

enum rove_samehost {
	ROVE_SAMEHOST_DONE,
	ROVE_SAMEHOST_MORE,	/* the budget of a batch ran out */
	ROVE_SAMEHOST_BUSY,	/* the peer calls when it is free, unless it is going away */
};

/* Sends what @qp has to send to @peer, and takes the answers. As above. */
enum rove_samehost rove_samehost_run(struct rove_qp *qp, struct rove_qp *peer, u64 now);

/* @qp has answers, or is free to take requests: its peer's requester comes. BH off. */
void rove_samehost_call(struct rove_qp *qp);

#endif /* ROVE_OBJ_SAMEHOST_H */
