// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains and what is built on them: thread domains, parent domains,
 * domains and regions of a context that another process has made.
 *
 * A parent domain is its protection domain under another name. That a thread domain
 * is used by one thread at a time is a promise that nobody here relies on: queues
 * take their locks all the same, which cost nothing when they are free.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "rove-abi.h"
#include "rove.h"

struct rove_td {
	struct ibv_td td;
	atomic_uint users;		/* parent domains */
};

struct rove_pd {
	struct ibv_pd pd;
	atomic_uint users;		/* parent domains */
	struct rove_pd *protection;	/* of a parent domain, else NULL */
	struct rove_td *td;		/* of a parent domain, or NULL */
};

static struct rove_pd *to_rove_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct rove_pd, pd);
}

static struct rove_td *to_rove_td(struct ibv_td *td)
{
	return container_of(td, struct rove_td, td);
}

struct ibv_pd *rove_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct rove_pd *pd;
	int err;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	err = ibv_cmd_alloc_pd(ctx, &pd->pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(pd);
		errno = err;
		return NULL;
	}
	return &pd->pd;
}

int rove_dealloc_pd(struct ibv_pd *ibpd)
{
	struct rove_pd *pd = to_rove_pd(ibpd);
	int err;

	if (atomic_load(&pd->users))
		return EBUSY;
	if (pd->protection) {
		atomic_fetch_sub(&pd->protection->users, 1);
		if (pd->td)
			atomic_fetch_sub(&pd->td->users, 1);
	} else {
		err = ibv_cmd_dealloc_pd(ibpd);
		if (err)
			return err;
	}
	free(pd);
	return 0;
}

struct ibv_td *rove_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr)
{
	struct rove_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = ctx;
	return &td->td;
}

int rove_dealloc_td(struct ibv_td *ibtd)
{
	struct rove_td *td = to_rove_td(ibtd);

	if (atomic_load(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

struct ibv_pd *rove_alloc_parent_domain(struct ibv_context *ctx,
					struct ibv_parent_domain_init_attr *attr)
{
	struct rove_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	/* Allocators are asked for nothing: memory for queues comes from the kernel. */
	if (!check_comp_mask(attr->comp_mask, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
					      IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ibv_initialize_parent_domain(&pd->pd, attr->pd);
	pd->protection = to_rove_pd(attr->pd);
	atomic_fetch_add(&pd->protection->users, 1);
	if (attr->td) {
		pd->td = to_rove_td(attr->td);
		atomic_fetch_add(&pd->td->users, 1);
	}
	return &pd->pd;
}

/* ---- of another process ------------------------------------------------------------ */

struct ibv_pd *rove_import_pd(struct ibv_context *ctx, u32 handle)
{
	struct rove_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->pd.context = ctx;
	pd->pd.handle = handle;
	return &pd->pd;
}

void rove_unimport_pd(struct ibv_pd *pd)
{
	free(to_rove_pd(pd));
}

struct ibv_mr *rove_import_mr(struct ibv_pd *pd, u32 handle)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = ibv_cmd_query_mr(pd, mr, handle);
	if (err) {
		free(mr);
		errno = err;
		return NULL;
	}
	return &mr->ibv_mr;
}

void rove_unimport_mr(struct ibv_mr *mr)
{
	free(container_of(mr, struct verbs_mr, ibv_mr));
}
