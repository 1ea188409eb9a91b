/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queue pairs: life, attributes, states. obj/run.c runs them. */
#ifndef ROVE_OBJ_QP_H
#define ROVE_OBJ_QP_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/smp.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include "../ip/path.h"
#include "../mem/mr.h"
#include "../mem/odp.h"
#include "../proto/req.h"
#include "../proto/prompt.h"
#include "../proto/resp.h"
#include "../ring/ring.h"
#include "../ring/wqe.h"

struct rove_area;
struct rove_cq;
struct rove_dev;
struct rove_srq;
struct rove_uctx;

/* Work that waits for the owner of a half. */
enum rove_half_work {
	ROVE_WORK_POST,		/* look at the send ring */
	ROVE_WORK_TIMER,	/* look at the deadline */
	ROVE_WORK_MORE,		/* a budget ran out */
	ROVE_WORK_FLUSH,	/* the QP is in error: complete what is posted */
	ROVE_WORK_PAGES,	/* fetching pages has come to its end */
	ROVE_WORK_PEER,		/* responder: the peer's requester waits (samehost) */
};

/*
 * Requester or responder side of a QP. Whoever sets OWNED in word has it alone,
 * with BH off; who finds it set leaves work and sets MISSED, and the owner looks
 * again before it lets go.
 */
struct rove_half {
	atomic_t word;
	unsigned long work;		/* bits of enum rove_half_work */
	struct sk_buff_head packets;	/* for the owner, by its own lock */
	struct rove_route route;	/* owner's */
	struct rove_mr_view mrs;	/* owner's; nothing is kept when there is none */

	/* on-demand paging: obj/absent.c */
	struct rove_qp *qp;
	bool paused;			/* owner's: nothing is done until pages are there */
	bool fetching;			/* owner's: absent is being fetched */
	struct rove_absent absent;	/* while fetching the thread's, else the owner's */
	struct rove_absent refused;	/* owner's: could not be had; key 0: nothing. mr is void */
	int fetch_err;			/* as absent */
	struct work_struct fetch;
};

struct rove_qp {
	/* constant after creation */
	struct rove_dev *dev;
	struct ib_pd *pd;
	struct ib_qp *ib;		/* shell; valid until destroy has begun */
	struct rove_uctx *uctx;		/* NULL: the kernel's own */
	struct rove_cq *send_cq;
	struct rove_cq *recv_cq;
	struct rove_srq *srq;		/* NULL: a receive queue of its own */
	enum ib_qp_type type;		/* RC, UC, UD, GSI, XRC_INI, XRC_TGT */
	u8 transport;			/* enum rove_transport */
	struct ib_xrcd *xrcd;		/* XRC_TGT */
	u32 qpn;
	u32 db_slot;
	bool sig_all;
	struct rove_stats __percpu *stats;	/* of dev, or a counter of its own: under RCU */
	u32 max_recv_sge;
	struct rove_wqe_limits limits;
	struct rove_area *mem;		/* rove_qp_hdr, SQ, RQ */
	struct rove_qp_hdr *hdr;	/* mem->addr */
	u32 sq_offset, rq_offset;	/* of the slots, in mem */
	u32 sq_entries, sq_stride;
	u32 rq_entries, rq_stride;

	/* requester half */
	struct rove_half req_half ____cacheline_aligned;
	struct rove_req req;
	struct rove_ring sq;		/* consumer side */
	struct hrtimer timer;
	u64 timer_armed;		/* ns; 0: not armed */
	bool waits;			/* hdr->sq_waits */

	struct task_struct *here;	/* thread in run_here(); a hint, never followed */
	int tx_cpu;			/* what is in flight was sent from there, */
	u64 tx_time;			/* ns; the last of it. The responder half looks, too */
	call_single_data_t hand_over;	/* to tx_cpu */
	bool handed;			/* and that is on its way */

	/* responder half */
	struct rove_half resp_half ____cacheline_aligned;
	struct rove_resp resp;
	struct rove_ring rq;		/* consumer side */
	struct rove_rwqe *rwqe;		/* held receive WQE */
	bool called;			/* the last request came by samehost */
	struct rove_prompt prompt;	/* an ACK that waits for the requester half; */
	struct timer_list ack_timer;	/* not for ever. It is on: */
	u32 ack_timed;
	struct sk_buff_head kept;	/* requests that came too early: obj/keep.c */
	u32 kept_bytes;			/* of memory */
	struct ib_pd *recv_pd;		/* what its SGEs are checked against, */
	struct ib_pd *remote_pd;	/* and R_Keys of requests */
	struct rove_srq *xsrq;		/* XRC_TGT: what the packet in hand names, or NULL */
	bool last_wqe_told;		/* since it went to ERR; with an SRQ */

	/* producer side of a kernel QP; irqsave */
	spinlock_t post_lock ____cacheline_aligned;
	struct rove_ring sq_prod;
	struct rove_ring rq_prod;

	/* state and attributes: changed under mutex with both halves owned */
	struct mutex mutex;
	enum ib_qp_state state;
	enum ib_mig_state mig_state;
	struct ib_qp_attr attr;		/* as set so far, for query_qp */
	struct rove_path path;
	bool path_set;
	bool sqd_notify;		/* SQ_DRAINED was asked for */

	struct tasklet_struct tasklet;	/* runs what could not run in place */
	atomic_t events;		/* enum rove_qp_event, for the tasklet */
	bool dead;			/* destroy has begun */
	struct rcu_head rcu;
};

/* What the core sees; it frees this right after destroy_qp. */
struct rove_ibqp {
	struct ib_qp ib;
	struct rove_qp *qp;
	struct rdma_user_mmap_entry *mmap;	/* verbs/ */
};

static inline struct rove_qp *rove_qp_of(struct ib_qp *ib)
{
	return container_of(ib, struct rove_ibqp, ib)->qp;
}

static inline bool rove_qp_is_xrc(const struct rove_qp *qp)
{
	return qp->type == IB_QPT_XRC_INI || qp->type == IB_QPT_XRC_TGT;
}

/* Limits of one QP; the device attributes are made of them. */
#define ROVE_MAX_WR		32768U
#define ROVE_MAX_SGE		32U
#define ROVE_MAX_INLINE		1024U
#define ROVE_MAX_RD_ATOMIC	128U

/**
 * rove_qp_create() - a QP in RESET, with its rings and number
 * @ib:   the shell, filled in by the core so far as it does
 * @init: cap is updated to what was made
 * @uctx: NULL for the kernel
 *
 * Sleeps. Return: ERR_PTR -EOPNOTSUPP (type), -EINVAL (caps out of range),
 * -ENOMEM, -EBUSY (GSI exists).
 */
struct rove_qp *rove_qp_create(struct rove_dev *dev, struct ib_pd *pd, struct ib_qp *ib,
			       struct ib_qp_init_attr *init, struct rove_uctx *uctx);

/* All attributes are checked before anything changes. Sleeps. */
int rove_qp_modify(struct rove_qp *qp, struct ib_qp_attr *attr, int mask);
void rove_qp_query(struct rove_qp *qp, struct ib_qp_attr *attr, struct ib_qp_init_attr *init);

/* Nothing of it runs, and no completion of it is written, after this. Sleeps. */
void rove_qp_destroy(struct rove_qp *qp);

/* By number, under rcu_read_lock(), valid until rcu_read_unlock(). */
struct rove_qp *rove_qp_find(u32 qpn);

/*
 * The QP goes to ERR (UC and UD, if only the send side failed: SQE). The caller owns a
 * half; what is posted is flushed a little later.
 */
void rove_qp_fail(struct rove_qp *qp, bool send_only);

/*
 * More private send WQEs, if the send queue holds more and there is memory. The caller
 * owns the requester half.
 */
bool rove_qp_grow(struct rove_qp *qp);

int rove_qp_init(void);
void rove_qp_exit(void);

#endif /* ROVE_OBJ_QP_H */
