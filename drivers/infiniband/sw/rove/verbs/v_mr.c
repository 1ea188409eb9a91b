// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bottom_half.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include "../mem/dmabuf.h"
#include "../mem/memwr.h"
#include "../mem/mr.h"
#include "../mem/odp.h"
#include "../mem/umem.h"
#include "../obj/dev.h"
#include "v_mr.h"

/* Optional rights that are not known are no rights, and no error. */
#define ACCESS_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define ACCESS_KNOWN	(IB_ACCESS_LOCAL_WRITE | ACCESS_REMOTE | IB_ACCESS_MW_BIND | \
			 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL | \
			 IB_ACCESS_ON_DEMAND)

static struct rove_mr *mr_of(struct ib_mr *ib)
{
	return container_of(ib, struct rove_mr, ib);
}

static int check_access(int access)
{
	if (access & ~ACCESS_KNOWN)
		return -EOPNOTSUPP;
	/* Who lets a peer write must be allowed to write. */
	if ((access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

static struct rove_mr *new_mr(enum rove_mr_kind kind, struct ib_pd *pd, int access)
{
	struct rove_mr *mr;

	mr = kzalloc_obj(*mr, GFP_KERNEL_ACCOUNT);
	if (!mr)
		return NULL;
	mr->kind = kind;
	mr->pd = pd;
	mr->access = access;
	mr->ib.device = pd->device;
	mr->ib.pd = pd;
	return mr;
}

struct ib_mr *rove_get_dma_mr(struct ib_pd *pd, int access)
{
	struct rove_mr *mr;
	int err;

	err = check_access(access);
	if (err)
		return ERR_PTR(err);
	mr = new_mr(ROVE_MR_DMA, pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	mr->length = U64_MAX;
	err = rove_mr_insert(&rove_dev_of(pd->device)->mrs, mr);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	return &mr->ib;
}

static int get_pages(struct rove_mr *mr, u64 start, u64 length, u64 iova)
{
	struct ib_device *ib = mr->ib.device;

	if (mr->kind == ROVE_MR_ODP)
		return rove_odp_create(mr, rove_dev_of(ib)->stats, start, length, iova,
				       mr->access);
	return rove_umem_pin(mr, ib, start, length, iova, mr->access);
}

static void put_pages(struct rove_mr *mr)
{
	if (mr->kind == ROVE_MR_ODP)
		rove_odp_destroy(mr);
	else
		rove_umem_unpin(mr);
}

/* Rights were checked. */
static struct ib_mr *create_user(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access)
{
	struct rove_mr *mr;
	int err;

	mr = new_mr(access & IB_ACCESS_ON_DEMAND ? ROVE_MR_ODP : ROVE_MR_USER, pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	err = get_pages(mr, start, length, iova);
	if (err)
		goto err_free;
	mr->ib.iova = iova;
	mr->ib.length = length;
	err = rove_mr_insert(&rove_dev_of(pd->device)->mrs, mr);
	if (err)
		goto err_pages;
	return &mr->ib;

err_pages:
	put_pages(mr);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

struct ib_mr *rove_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata)
{
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return ERR_PTR(err);
	err = check_access(access);
	if (err)
		return ERR_PTR(err);
	return create_user(pd, start, length, iova, access);
}

struct ib_mr *rove_reg_dmabuf_mr(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				 int access, struct uverbs_attr_bundle *attrs)
{
	struct rove_mr *mr;
	int err;

	err = ib_no_udata_io(&attrs->driver_udata);
	if (err)
		return ERR_PTR(err);
	err = check_access(access);
	if (!err && (access & IB_ACCESS_ON_DEMAND))
		err = -EOPNOTSUPP;
	if (err)
		return ERR_PTR(err);
	mr = new_mr(ROVE_MR_DMABUF, pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	err = rove_dmabuf_map(mr, fd, offset, length, iova, access);
	if (err)
		goto err_free;
	mr->ib.iova = iova;
	mr->ib.length = length;
	err = rove_mr_insert(&rove_dev_of(pd->device)->mrs, mr);
	if (err)
		goto err_unmap;
	return &mr->ib;

err_unmap:
	rove_dmabuf_unmap(mr);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

/* May it have these rights with the pages that it has? */
static bool allows(const struct rove_mr *mr, int access)
{
	if ((access ^ mr->access) & IB_ACCESS_ON_DEMAND)
		return false;
	return mr->kind == ROVE_MR_ODP ? rove_odp_allows(mr, access) :
					 rove_umem_allows(mr, access);
}

static bool start_of(const struct rove_mr *mr, u64 *start)
{
	return mr->kind == ROVE_MR_ODP ? rove_odp_start(mr, start) : rove_umem_start(mr, start);
}

/*
 * The same region with other rights or another domain, if its pages allow that;
 * else a new one with another key. The core gives the old one back then, and
 * leaves it as it is if there is an error. It holds the object for writing.
 */
struct ib_mr *rove_rereg_user_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct rove_mr *mr = mr_of(ib);
	struct ib_mr *new;
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return ERR_PTR(err);
	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (mr->kind != ROVE_MR_USER && mr->kind != ROVE_MR_ODP)
		return ERR_PTR(-EOPNOTSUPP);

	if (!(flags & IB_MR_REREG_PD))
		pd = ib->pd;
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	err = check_access(access);
	if (err)
		return ERR_PTR(err);

	if (!rove_mr_close_to_windows(mr))
		return ERR_PTR(-EBUSY);
	if (!(flags & IB_MR_REREG_TRANS)) {
		if (allows(mr, access)) {
			rove_mr_change(mr, pd, access);
			rove_mr_open_to_windows(mr);
			return NULL;
		}
		/* Pages that were pinned for reading only, or are to be pinned now. */
		length = mr->length;
		iova = mr->iova;
		if (!start_of(mr, &start)) {
			rove_mr_open_to_windows(mr);
			return ERR_PTR(-EPERM);
		}
	}
	new = create_user(pd, start, length, iova, access);
	if (IS_ERR(new))
		rove_mr_open_to_windows(mr);
	return new;
}

static int advise_one(struct ib_pd *pd, const struct ib_sge *sge, enum rove_odp_prefetch how,
		      bool wait)
{
	int access = how == ROVE_ODP_WRITE ? IB_ACCESS_LOCAL_WRITE : 0;
	struct rove_mr *mr;
	int err = -EINVAL;

	local_bh_disable();
	mr = rove_mr_find(&rove_dev_of(pd->device)->mrs, sge->lkey, pd, 0, access, sge->addr,
			  sge->length);
	local_bh_enable();
	if (!mr)
		return -EFAULT;
	/* It is no window, nor for fast registration: those may not be held with BH on. */
	if (mr->kind == ROVE_MR_ODP) {
		err = rove_odp_prefetch(mr, sge->addr, sge->length, how);
		/* Who does not wait is not told either; it is only advice. */
		if (!wait)
			err = 0;
	}
	rove_mr_put(mr);
	return err;
}

int rove_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	enum rove_odp_prefetch how;
	int err = 0;

	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		how = ROVE_ODP_READ;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		how = ROVE_ODP_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		how = ROVE_ODP_PRESENT;
		break;
	default:
		return -EOPNOTSUPP;
	}
	for (; num_sge && !err; num_sge--, sg_list++)
		err = advise_one(pd, sg_list, how, flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	return err;
}

struct ib_mr *rove_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct rove_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > ROVE_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	mr = new_mr(ROVE_MR_FAST, pd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = rove_memwr_alloc(mr, max_sg);
	if (err)
		goto err_free;
	err = rove_mr_insert(&rove_dev_of(pd->device)->mrs, mr);
	if (err)
		goto err_pages;
	return &mr->ib;

err_pages:
	rove_memwr_free(mr);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

int rove_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int num, unsigned int *off)
{
	struct rove_mr *mr = mr_of(ib);

	return mr->kind == ROVE_MR_FAST ? rove_memwr_map_sg(mr, sg, num, off) : -EINVAL;
}

int rove_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct rove_mr *mr = mr_of(ib);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;

	if (!rove_mr_close_to_windows(mr))
		return -EBUSY;
	rove_mr_remove(mr);
	if (mr->kind == ROVE_MR_USER || mr->kind == ROVE_MR_ODP)
		put_pages(mr);
	else if (mr->kind == ROVE_MR_DMABUF)
		rove_dmabuf_unmap(mr);
	else if (mr->kind == ROVE_MR_FAST)
		rove_memwr_free(mr);
	kfree_rcu(mr, rcu);
	return 0;
}
