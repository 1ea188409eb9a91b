/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The provider's objects. Locks are said at the members they protect; the order
 * is: SQ, RQ, CQ, QP table. That of an SRQ stands alone.
 */
#ifndef ROVE_H
#define ROVE_H

#include <pthread.h>
#include <stddef.h>

#include <infiniband/driver.h>
#include <rdma/rove-abi.h>

#include "ring/cqe.h"
#include "ring/ring.h"

/* QP numbers have 24 bits; they are found by two steps of 12. */
#define ROVE_QP_TABLE_BITS	12
#define ROVE_QP_TABLE_SIZE	(1U << ROVE_QP_TABLE_BITS)
#define ROVE_QP_TABLE_MASK	(ROVE_QP_TABLE_SIZE - 1)

struct rove_qp;

struct rove_device {
	struct verbs_device vdev;
};

struct rove_qp_leaf {
	u32 users;
	struct rove_qp *qp[ROVE_QP_TABLE_SIZE];
};

struct rove_context {
	struct verbs_context vctx;
	struct rove_db_page *db;
	size_t db_length;
	u32 db_slots;
	pthread_mutex_t qp_mutex;	/* for changes of what follows */
	struct rove_qp_leaf *qp_dir[ROVE_QP_TABLE_SIZE];
};

struct rove_cq {
	struct verbs_cq vcq;
	bool single_threaded;		/* the user promised: no locks */
	bool of_xrc;			/* an SRQ's: completions may be of others' QPs */
	pthread_spinlock_t lock;	/* what follows, up to arm_lock */
	struct rove_cq_ring ring;
	u32 published;			/* consumer index that the module knows */
	struct rove_qp *last_qp;	/* of the last completion, or NULL */
	struct rove_cqe cqe;		/* what ibv_wc_read_*() read */
	u32 vain;			/* polls since there was a completion, or a call */
	u32 patience;			/* so many before a call; a hint, without the lock */
	pthread_spinlock_t arm_lock;	/* arm_ring */
	struct rove_cq_ring arm_ring;	/* the same ring, for arming: head is not used */
	size_t length;			/* of the mapped area */
	pthread_mutex_t resize_mutex;	/* one resize at a time; outside the locks */
	atomic_uint refs;		/* the user's, and each QP's whose completions it takes */
};

struct rove_wq {
	pthread_spinlock_t lock;	/* ring.head, limit */
	struct rove_ring ring;
	u32 max_sge;
	u32 limit;			/* what is before may be written */
	u8 pad[64];			/* another thread writes what follows */
	/*
	 * WRs known to be completed, running freely. A slot comes back as soon
	 * as the module has copied it, but a WR that it still works on counts
	 * against the queue's depth too. Written under the lock of the CQ.
	 */
	u32 completed;
};

struct rove_qp {
	struct verbs_qp vqp;
	struct rove_wq sq;
	struct rove_wq rq;
	struct rove_qp_hdr *hdr;	/* NULL: XRC target, which has no queues */
	size_t length;			/* of the mapped area */
	u32 db_slot;
	u32 max_inline;
	u32 ops;			/* bit for each allowed enum rove_wr_op */
	bool sq_sig_all;
	/* ibv_wr_start() to ibv_wr_complete(); under sq.lock: */
	u32 wr_start;			/* sq.ring.head then */
	int wr_err;			/* first error since */
	struct rove_sqe *wr_sqe;	/* WR that setters may still change */
	bool wr_addressed;		/* UD: it has an address; XRC: an SRQ */
};

struct rove_srq {
	struct verbs_srq vsrq;
	pthread_spinlock_t lock;	/* ring, hdr, length */
	struct rove_ring ring;
	struct rove_srq_hdr *hdr;
	u32 length;			/* of the mapped area */
	u32 max_sge;
	pthread_mutex_t resize_mutex;	/* one resize at a time; outside lock */
};

struct rove_ah {
	struct ibv_ah ibv_ah;
	u32 ah;				/* handle for struct rove_sqe */
};

static inline struct rove_context *to_rove_ctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct rove_context, vctx.context);
}

static inline struct rove_cq *to_rove_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct rove_cq, vcq.cq);
}

static inline struct rove_cq *to_rove_cq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct rove_cq, vcq.cq_ex);
}

static inline struct rove_qp *to_rove_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct rove_qp, vqp.qp);
}

static inline struct rove_qp *to_rove_qp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct rove_qp, vqp.qp_ex);
}

static inline struct rove_srq *to_rove_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct rove_srq, vsrq.srq);
}

static inline struct rove_ah *to_rove_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct rove_ah, ibv_ah);
}

/* rove.c: an area of the module's, or NULL and errno. */
void *rove_map(struct ibv_context *ctx, u64 offset, size_t length);

/* verbs.c */
int rove_query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size);
int rove_query_port(struct ibv_context *ctx, u8 port, struct ibv_port_attr *attr);
int rove_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values);
struct ibv_mr *rove_reg_mr(struct ibv_pd *pd, void *addr, size_t length, u64 iova,
			   int access);
struct ibv_mr *rove_reg_dmabuf_mr(struct ibv_pd *pd, u64 offset, size_t length, u64 iova, int fd,
				  int access);
struct ibv_mr *rove_alloc_null_mr(struct ibv_pd *pd);
int rove_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		  int access);
int rove_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, u32 flags,
		   struct ibv_sge *sg_list, u32 num_sge);
int rove_dereg_mr(struct verbs_mr *mr);
struct ibv_mw *rove_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int rove_dealloc_mw(struct ibv_mw *mw);
struct ibv_xrcd *rove_open_xrcd(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr);
int rove_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_ah *rove_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int rove_destroy_ah(struct ibv_ah *ah);

/* domain.c */
struct ibv_pd *rove_alloc_pd(struct ibv_context *ctx);
int rove_dealloc_pd(struct ibv_pd *pd);
struct ibv_td *rove_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr);
int rove_dealloc_td(struct ibv_td *td);
struct ibv_pd *rove_alloc_parent_domain(struct ibv_context *ctx,
					struct ibv_parent_domain_init_attr *attr);
struct ibv_pd *rove_import_pd(struct ibv_context *ctx, u32 handle);
void rove_unimport_pd(struct ibv_pd *pd);
struct ibv_mr *rove_import_mr(struct ibv_pd *pd, u32 handle);
void rove_unimport_mr(struct ibv_mr *mr);

/* qp.c */
struct ibv_qp *rove_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *rove_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *rove_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr);
int rove_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int rove_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		  struct ibv_qp_init_attr *init_attr);
int rove_destroy_qp(struct ibv_qp *qp);
/* @any: @qpn may be a QP's of which nothing is known here. */
struct rove_qp *rove_qp_find(struct rove_context *ctx, u32 qpn, bool any);

/* post.c */
int rove_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int rove_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* The WR into the slot at head, which is free; head moves on. EINVAL: too many SGEs. */
int rove_post_fill_recv(struct rove_ring *ring, u32 max_sge, const struct ibv_recv_wr *wr);
int rove_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
u32 rove_post_ops(enum ibv_qp_type type);
u64 rove_post_ex_flags(u32 ops);
void rove_post_init_ex(struct rove_qp *qp, u64 flags);

/* srq.c */
struct ibv_srq *rove_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *rove_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr);
int rove_get_srq_num(struct ibv_srq *srq, u32 *num);
int rove_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int rove_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int rove_destroy_srq(struct ibv_srq *srq);
int rove_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* cq.c */
struct ibv_cq *rove_create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel,
			      int vector);
struct ibv_cq_ex *rove_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr);
int rove_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int rove_resize_cq(struct ibv_cq *cq, int cqe);
int rove_destroy_cq(struct ibv_cq *cq);
int rove_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int rove_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* An SRQ of XRC is going to use it. */
void rove_cq_serve_xrc(struct rove_cq *cq);
void rove_cq_clean(struct rove_cq *cq, u32 qpn);
void rove_cq_get(struct rove_cq *cq);
void rove_cq_put(struct rove_cq *cq);

#endif /* ROVE_H */
