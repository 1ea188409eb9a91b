/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requests that came before one that is missing, in the order of their PSNs, so that only
 * that one has to come again. By the owner of the responder half, BH off.
 */
#ifndef ROVE_OBJ_KEEP_H
#define ROVE_OBJ_KEEP_H

#include <linux/types.h>

struct rove_qp;
struct rove_rxpkt;
struct sk_buff;

/* The current packet of @rx. False: there is no room, or it came by no skb. */
bool rove_keep(struct rove_qp *qp, const struct rove_rxpkt *rx);

/**
 * rove_keep_take() - what is to be given to the machine now, a part of a train
 * @rx: at its first packet, whose headers were read
 *
 * Return: its skb, to be freed or put back; NULL: nothing is due.
 */
struct sk_buff *rove_keep_take(struct rove_qp *qp, struct rove_rxpkt *rx);

/* @skb, which was taken last, stays from the current packet of @rx on. */
void rove_keep_rest(struct rove_qp *qp, struct sk_buff *skb, const struct rove_rxpkt *rx);

void rove_keep_forget(struct rove_qp *qp);

#endif /* ROVE_OBJ_KEEP_H */
