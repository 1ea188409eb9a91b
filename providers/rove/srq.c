// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues. A slot comes back as soon as a queue pair has taken the
 * work request in it, so that there is nothing to account when completions are
 * polled, and no need to ring: queue pairs look when a message comes in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rove-abi.h"
#include "rove.h"

struct area {
	void *addr;
	u32 length;
	u32 entries;
	u32 stride;
};

static bool area_ok(const struct area *a)
{
	return a->entries && !(a->entries & (a->entries - 1)) && a->stride % sizeof(u64) == 0 &&
	       ROVE_SRQ_WQES + (u64)a->entries * a->stride <= a->length;
}

/* At @offset: what the module has made. */
static int map_area(struct ibv_context *ctx, struct area *a, u64 offset)
{
	if (!area_ok(a)) {
		verbs_err(&to_rove_ctx(ctx)->vctx, "the module describes an SRQ that cannot be\n");
		return EPROTO;
	}
	a->addr = rove_map(ctx, offset, a->length);
	return a->addr ? 0 : errno;
}

/* The ring goes on at @head. */
static void use_area(struct rove_srq *srq, const struct area *a, u32 head)
{
	srq->hdr = a->addr;
	srq->length = a->length;
	rove_ring_init(&srq->ring, &srq->hdr->prod, &srq->hdr->cons, a->addr + ROVE_SRQ_WQES,
		       a->entries, a->stride);
	srq->ring.head = head;
}

/* It exists in the module, which described it. */
static int init_srq(struct ibv_context *ctx, struct rove_srq *srq,
		    const struct rove_create_srq_resp *resp)
{
	struct area a = {
		.length = resp->length,
		.entries = resp->entries,
		.stride = resp->stride,
	};
	int err;

	err = map_area(ctx, &a, resp->offset);
	if (err) {
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
		return err;
	}
	use_area(srq, &a, 0);
	srq->max_sge = resp->max_sge;
	pthread_spin_init(&srq->lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&srq->resize_mutex, NULL);
	return 0;
}

struct ibv_srq *rove_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct urove_create_srq_resp resp = {};
	struct urove_create_srq cmd = {};
	struct rove_srq *srq;
	int err;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	err = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd.ibv_cmd, sizeof(cmd),
				 &resp.ibv_resp, sizeof(resp));
	if (!err)
		err = init_srq(pd->context, srq, &resp.drv_payload);
	if (err) {
		free(srq);
		errno = err;
		return NULL;
	}
	return &srq->vsrq.srq;
}

struct ibv_srq *rove_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	struct urove_create_xsrq_resp resp = {};
	struct urove_create_xsrq cmd = {};
	struct rove_srq *srq;
	int err;

	if (!check_comp_mask(attr->comp_mask, IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
					      IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ) ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC &&
	     attr->srq_type != IBV_SRQT_XRC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	/* Its handle would name another one in the kernel than the one that is marked here. */
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq && attr->cq->context != ctx) {
		errno = EINVAL;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	err = ibv_cmd_create_srq_ex(ctx, &srq->vsrq, attr, &cmd.ibv_cmd, sizeof(cmd),
				    &resp.ibv_resp, sizeof(resp));
	if (!err)
		err = init_srq(ctx, srq, &resp.drv_payload);
	if (!err && attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq)
		rove_cq_serve_xrc(to_rove_cq(attr->cq));
	if (err) {
		free(srq);
		errno = err;
		return NULL;
	}
	return &srq->vsrq.srq;
}

int rove_get_srq_num(struct ibv_srq *ibsrq, u32 *num)
{
	struct rove_srq *srq = to_rove_srq(ibsrq);

	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	*num = srq->vsrq.srq_num;
	return 0;
}

static int modify(struct rove_srq *srq, struct ibv_srq_attr *attr, int mask, u32 step)
{
	struct urove_modify_srq cmd = { .step = step };

	return ibv_cmd_modify_srq(&srq->vsrq.srq, attr, mask, &cmd.ibv_cmd, sizeof(cmd));
}

/*
 * The new area is there and mapped before anything changes; what is posted moves
 * while nobody posts.
 */
static int resize(struct rove_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct rove_srq_hdr *hdr = srq->hdr;
	u32 length = srq->length;
	struct area a = {};
	int err;

	err = modify(srq, attr, IBV_SRQ_MAX_WR, ROVE_RESIZE_PREPARE);
	if (err)
		return err;
	a.length = READ_ONCE(hdr->next_length);
	a.entries = READ_ONCE(hdr->next_entries);
	a.stride = srq->ring.stride;
	err = map_area(srq->vsrq.srq.context, &a, READ_ONCE(hdr->next_offset));
	if (err)
		return err;

	pthread_spin_lock(&srq->lock);
	err = modify(srq, attr, mask, ROVE_RESIZE_COMMIT);
	if (!err)
		use_area(srq, &a, srq->ring.head);
	pthread_spin_unlock(&srq->lock);

	if (err)
		munmap(a.addr, a.length);
	else
		munmap(hdr, length);
	return err;
}

int rove_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct rove_srq *srq = to_rove_srq(ibsrq);
	int err;

	if (!(mask & IBV_SRQ_MAX_WR))
		return modify(srq, attr, mask, 0);
	pthread_mutex_lock(&srq->resize_mutex);
	err = resize(srq, attr, mask);
	pthread_mutex_unlock(&srq->resize_mutex);
	return err;
}

int rove_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int rove_destroy_srq(struct ibv_srq *ibsrq)
{
	struct rove_srq *srq = to_rove_srq(ibsrq);
	int err;

	err = ibv_cmd_destroy_srq(ibsrq);
	if (err)
		return err;

	munmap(srq->hdr, srq->length);
	pthread_mutex_destroy(&srq->resize_mutex);
	pthread_spin_destroy(&srq->lock);
	free(srq);
	return 0;
}

int rove_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct rove_srq *srq = to_rove_srq(ibsrq);
	struct rove_ring *ring = &srq->ring;
	int err = 0;

	pthread_spin_lock(&srq->lock);
	for (; wr; wr = wr->next) {
		err = rove_ring_space(ring) ? rove_post_fill_recv(ring, srq->max_sge, wr) : ENOMEM;
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	rove_ring_submit(ring);
	pthread_spin_unlock(&srq->lock);
	return err;
}
