/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel module and libibverbs, as far as the provider needs them, in one
 * process: commands are functions, mapped areas come from a memfd, and what the
 * module does with the rings is done by calls from the test.
 */
#ifndef ROVE_TESTS_PROVIDER_FAKE_H
#define ROVE_TESTS_PROVIDER_FAKE_H

#include "rove.h"
#include "ring/wqe.h"

#define FAKE_MAX_INLINE	200
#define FAKE_MAX_SGE	6

/* The module's side of a QP, on the areas as the provider has mapped them. */
struct fake_qp {
	struct ibv_qp *qp;
	struct rove_qp_hdr *hdr;
	struct rove_ring sq;		/* consumers */
	struct rove_ring rq;
	struct rove_wqe_limits lim;
	uint32_t completed;		/* SQ index */
};

struct fake {
	struct verbs_context_ops ops;	/* the provider's */
	int kicks;			/* system calls made to ring */
	int kick_err;			/* what they return */
	void (*on_kick)(struct ibv_qp *qp);
	int polls;			/* system calls made by who polls */
	int poll_err;			/* what they set errno to; 0: they succeed */
	void (*on_poll)(void);
	int context_err;		/* of the get-context command */
	uint32_t abi;			/* that the module answers with */
	int modify_err;
	int create_err;
	uint32_t next_qpn;
	uint32_t next_slot;		/* in the doorbell page */
	uint32_t stride_extra;		/* bytes that slots are longer than needed */
	uint32_t bad_offset;		/* added to sq_offset: a module gone wrong */
	int areas;			/* objects that the module holds */
	struct rove_resize_cq_resp cq_next;	/* prepared by a resize */
	struct rove_create_srq_resp srq_next;	/* prepared by a resize */
	uint32_t srq_steps;		/* of calls to modify an SRQ, 4 bits each */
};

extern struct fake fake;

/* A context like one of ibv_open_device(); NULL and errno. Resets fake. */
struct ibv_context *fake_open(void);
void fake_close(struct ibv_context *ctx);
struct rove_db_page *fake_db(struct ibv_context *ctx);

struct ibv_cq *fake_create_cq(struct ibv_context *ctx, int cqe);
struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *ctx, int cqe, uint64_t wc_flags,
				    uint32_t flags);
/* The producer's view of a CQ; head is where the module's writing would begin. */
struct rove_cq_ring fake_cq_ring(struct ibv_cq *cq);

/* @ex: with ibv_wr_*(), all operations of the type. */
struct ibv_qp *fake_create_qp(struct ibv_context *ctx, enum ibv_qp_type type, struct ibv_cq *scq,
			      struct ibv_cq *rcq, uint32_t wrs, bool ex);
int fake_modify_qp(struct ibv_qp *qp, enum ibv_qp_state state);
struct fake_qp fake_qp(struct ibv_qp *qp);

/* Takes one WQE from the ring; @wqe: a buffer of FAKE_WQE_SIZE. False: none there. */
#define FAKE_WQE_SIZE	(sizeof(struct rove_swqe) + 256)
bool fake_take_send(struct fake_qp *fq, struct rove_swqe *wqe, enum rove_fault *fault);
bool fake_take_recv(struct fake_qp *fq, struct rove_rwqe *wqe);

#endif /* ROVE_TESTS_PROVIDER_FAKE_H */
