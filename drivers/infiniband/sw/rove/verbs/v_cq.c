// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/etherdevice.h>
#include <linux/rcupdate.h>
#include <rdma/rove-abi.h>
#include <rdma/uverbs_ioctl.h>
#include "../obj/area.h"
#include "../obj/cq.h"
#include "../obj/dev.h"
#include "../obj/qp.h"
#include "../obj/uctx.h"
#include "mmap.h"
#include "v_cq.h"

static_assert(sizeof(struct rove_create_cq_req) == 16);
static_assert(sizeof(struct rove_create_cq_resp) == 32);
static_assert(sizeof(struct rove_resize_cq_req) == 16);
static_assert(sizeof(struct rove_resize_cq_resp) == 24);

/* ---- life ------------------------------------------------------------------ */

static int check_request(struct ib_udata *udata)
{
	struct rove_create_cq_req req;
	int err;

	err = ib_copy_validate_udata_in_cm(udata, req, reserved_40, 0);
	if (err)
		return err;
	return req.reserved_40 ? -EOPNOTSUPP : 0;
}

/* Tells the process where its ring is. */
static int respond(struct rove_ibcq *shell, struct ib_udata *udata)
{
	struct rove_uctx *u = rdma_udata_to_drv_context(udata, struct rove_uctx, ib);
	struct rove_create_cq_resp resp = {};
	struct rove_cq *cq = shell->cq;
	int err;

	shell->uctx = u;
	shell->mmap = rove_mmap_insert(&u->ib, cq->mem, &resp.offset);
	if (IS_ERR(shell->mmap))
		return PTR_ERR(shell->mmap);

	resp.length = cq->mem->len;
	resp.entries = cq->entries;
	resp.cqn = cq->cqn;
	err = ib_respond_udata(udata, resp);
	if (err)
		rdma_user_mmap_entry_remove(shell->mmap);
	return err;
}

int rove_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct rove_ibcq *shell = container_of(ib, struct rove_ibcq, ib);
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	int err;

	if (attr->flags & ~(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
			    IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN))
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > ROVE_MAX_CQE)
		return -EINVAL;
	if (udata) {
		err = check_request(udata);
		if (err)
			return err;
	}

	shell->cq = rove_cq_create(rove_dev_of(ib->device), ib, attr->cqe,
				   attr->comp_vector % nr_cpu_ids, udata);
	if (IS_ERR(shell->cq))
		return PTR_ERR(shell->cq);
	/* As if it had been told: what does not fit is lost, and that is all. */
	shell->cq->overflow_told = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	ib->cqe = shell->cq->entries;

	if (udata) {
		err = respond(shell, udata);
		if (err) {
			rove_cq_destroy(shell->cq);
			return err;
		}
	}
	return 0;
}

int rove_modify_cq(struct ib_cq *ib, u16 count, u16 period)
{
	rove_cq_moderate(rove_cq_of(ib), count, period);
	return 0;
}

static void forget_next(struct rove_ibcq *shell)
{
	rdma_user_mmap_entry_remove(shell->next_mmap);
	shell->next_mmap = NULL;
}

/* A new area, which the process is to map. */
static int prepare_resize(struct rove_ibcq *shell, u32 cqe, struct ib_udata *udata)
{
	struct rove_uctx *u = rdma_udata_to_drv_context(udata, struct rove_uctx, ib);
	struct rove_resize_cq_resp resp = {};
	struct rdma_user_mmap_entry *mmap;
	struct rove_cq *cq = shell->cq;
	int err;

	err = rove_cq_prepare(cq, cqe);
	if (err)
		return err;
	forget_next(shell);
	mmap = rove_mmap_insert(&u->ib, cq->next_mem, &resp.offset);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	shell->next_mmap = mmap;
	resp.length = cq->next_mem->len;
	resp.entries = cq->next_entries;
	return ib_respond_udata(udata, resp);
}

static int commit_resize(struct rove_ibcq *shell, u32 cqe, struct ib_udata *udata)
{
	struct rove_resize_cq_resp resp = {};
	struct rove_cq *cq = shell->cq;
	int err;

	if (!shell->next_mmap || cq->next_entries < cqe)
		return -EINVAL;
	err = rove_cq_commit(cq);
	if (!err) {
		swap(shell->mmap, shell->next_mmap);
		shell->ib.cqe = cq->entries;
	}
	forget_next(shell);
	resp.entries = cq->entries;
	return err ?: ib_respond_udata(udata, resp);
}

int rove_resize_cq(struct ib_cq *ib, unsigned int cqe, struct ib_udata *udata)
{
	struct rove_ibcq *shell = container_of(ib, struct rove_ibcq, ib);
	struct rove_resize_cq_req req;
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = ib_copy_validate_udata_in_cm(udata, req, reserved_60, 0);
	if (err)
		return err;
	if (req.reserved_60)
		return -EOPNOTSUPP;
	if (!cqe || cqe > ROVE_MAX_CQE)
		return -EINVAL;

	mutex_lock(&shell->cq->mutex);
	switch (req.step) {
	case ROVE_RESIZE_PREPARE:
		err = prepare_resize(shell, cqe, udata);
		break;
	case ROVE_RESIZE_COMMIT:
		err = commit_resize(shell, cqe, udata);
		break;
	default:
		err = -EOPNOTSUPP;
	}
	mutex_unlock(&shell->cq->mutex);
	return err;
}

int rove_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct rove_ibcq *shell = container_of(ib, struct rove_ibcq, ib);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;
	forget_next(shell);
	rdma_user_mmap_entry_remove(shell->mmap);
	rove_cq_destroy(shell->cq);
	return 0;
}

/* ---- completions for the kernel -------------------------------------------- */

static enum ib_wc_opcode send_opcode(u8 op)
{
	switch (op) {
	case ROVE_WR_WRITE:
	case ROVE_WR_WRITE_IMM:
		return IB_WC_RDMA_WRITE;
	case ROVE_WR_READ:
		return IB_WC_RDMA_READ;
	case ROVE_WR_CMP_SWP:
		return IB_WC_COMP_SWAP;
	case ROVE_WR_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case ROVE_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case ROVE_WR_REG_MR:
		return IB_WC_REG_MR;
	case ROVE_WR_ATOMIC_WRITE:
		return IB_WC_ATOMIC_WRITE;
	case ROVE_WR_FLUSH:
		return IB_WC_FLUSH;
	default:
		return IB_WC_SEND;
	}
}

static void fill_recv(struct ib_wc *wc, const struct rove_cqe *cqe)
{
	wc->opcode = cqe->opcode == ROVE_RECV_WRITE_IMM ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV;
	if (cqe->flags & ROVE_CQE_IMM) {
		wc->ex.imm_data = (__force __be32)cqe->imm;
		wc->wc_flags |= IB_WC_WITH_IMM;
	}
	if (cqe->flags & ROVE_CQE_INV) {
		wc->ex.invalidate_rkey = cqe->imm;
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
	}
	if (!(cqe->flags & ROVE_CQE_GRH))
		return;

	/* Datagrams: where the answer goes. */
	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = cqe->flags & ROVE_CQE_IPV4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	if (cqe->flags & ROVE_CQE_VLAN) {
		wc->vlan_id = cqe->vlan;
		wc->wc_flags |= IB_WC_WITH_VLAN;
	}
	if (is_valid_ether_addr(cqe->smac)) {
		ether_addr_copy(wc->smac, cqe->smac);
		wc->wc_flags |= IB_WC_WITH_SMAC;
	}
}

static void fill_wc(struct ib_wc *wc, const struct rove_cqe *cqe, struct ib_qp *qp)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->qp = qp;
	wc->byte_len = cqe->byte_len;
	wc->src_qp = cqe->src_qp;
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	wc->port_num = 1;
	if (cqe->flags & ROVE_CQE_RECV)
		fill_recv(wc, cqe);
	else
		wc->opcode = send_opcode(cqe->opcode);
}

/* The core's QP of a completion, or NULL when it was destroyed. RCU held. */
static struct ib_qp *find_qp(struct rove_dev *dev, u32 qpn)
{
	struct rove_qp *qp = qpn == 1 ? rcu_dereference(dev->gsi) : rove_qp_find(qpn);

	return qp ? qp->ib : NULL;
}

int rove_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct rove_uctx *u = container_of(ib, struct rove_ibcq, ib)->uctx;
	struct rove_cq *cq = rove_cq_of(ib);
	struct rove_cqe cqe;
	struct ib_qp *qp;
	int n = 0;

	/* A process polls in its own memory: it found nothing there, and lends its CPU. */
	if (u)
		return rove_watch_polled(u) ? 0 : -EAGAIN;

	rcu_read_lock();
	while (n < num && rove_cq_poll(cq, &cqe)) {
		/* What a destroyed QP left behind concerns nobody. */
		qp = find_qp(cq->dev, cqe.qpn);
		if (qp)
			fill_wc(&wc[n++], &cqe, qp);
	}
	rcu_read_unlock();
	return n;
}

int rove_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct rove_cq *cq = rove_cq_of(ib);

	return cq->user ? -EOPNOTSUPP : rove_cq_arm(cq, flags);
}
