/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Several packets at once between two QPs of this host, from memory to memory. By the owner
 * of the requester's half and of the responder's, BH off.
 */
#ifndef ROVE_OBJ_STRETCH_H
#define ROVE_OBJ_STRETCH_H

#include <linux/types.h>

struct rove_qp;
struct rove_span;

/*
 * What rove_span_request() has found at @qp goes to @peer. False: nothing was done, and it is
 * a matter of single packets.
 */
bool rove_stretch_request(struct rove_qp *qp, struct rove_qp *peer, const struct rove_span *s,
			  u64 now);

/* What rove_span_answer() has found at @peer goes to @qp. */
bool rove_stretch_answer(struct rove_qp *qp, struct rove_qp *peer, const struct rove_span *s,
			 u64 now);

#endif /* ROVE_OBJ_STRETCH_H */
