// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What `rdma -d resource show` adds for this driver. Snapshots, without locks. */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include "../mem/mr.h"
#include "../obj/cq.h"
#include "../obj/qp.h"
#include "restrack.h"

struct field {
	const char *name;
	u32 value;
};

static int put_fields(struct sk_buff *msg, const struct field *f, unsigned int num)
{
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	for (; num; num--, f++) {
		if (rdma_nl_put_driver_u32(msg, f->name, f->value)) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, table);
	return 0;
}

int rove_fill_res_qp(struct sk_buff *msg, struct ib_qp *ib)
{
	const struct rove_qp *qp = rove_qp_of(ib);
	const struct field f[] = {
		{ "sq_entries", qp->sq_entries },
		/* taken from the ring; not sent, not acknowledged, not reaped */
		{ "sq_taken", READ_ONCE(qp->sq.head) },
		{ "sq_unsent", READ_ONCE(qp->req.post) - READ_ONCE(qp->req.send) },
		{ "sq_outstanding", READ_ONCE(qp->req.post) - READ_ONCE(qp->req.reaped) },
		{ "rq_entries", qp->rq_entries },
		{ "rq_taken", READ_ONCE(qp->rq.head) },
		{ "sq_next_psn", READ_ONCE(qp->req.psn) },
		{ "sq_una_psn", READ_ONCE(qp->req.una) },
		{ "rq_expected_psn", READ_ONCE(qp->resp.epsn) },
		{ "retries", READ_ONCE(qp->req.retries) },
	};

	return put_fields(msg, f, ARRAY_SIZE(f));
}

int rove_fill_res_cq(struct sk_buff *msg, struct ib_cq *ib)
{
	const struct rove_cq *cq = rove_cq_of(ib);
	const struct field f[] = {
		{ "cqn", cq->cqn },
		{ "produced", READ_ONCE(cq->ring.head) },
		{ "overflow", READ_ONCE(cq->overflow) },
	};

	return put_fields(msg, f, ARRAY_SIZE(f));
}

int rove_fill_res_mr(struct sk_buff *msg, struct ib_mr *ib)
{
	const struct rove_mr *mr = container_of(ib, struct rove_mr, ib);
	const struct field f[] = {
		{ "access", READ_ONCE(mr->access) },
		{ "block_shift", mr->shift },
	};

	return put_fields(msg, f, ARRAY_SIZE(f));
}
