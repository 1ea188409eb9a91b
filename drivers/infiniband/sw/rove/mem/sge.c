// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sge.h"

enum rove_fault rove_sge_check(struct rove_mr_table *t, const struct ib_pd *pd,
			       const struct rove_sge *sge, u32 num, int access)
{
	struct rove_mr *mr;

	for (; num; num--, sge++) {
		/* An empty SGE refers to no memory: its key says nothing. */
		if (!sge->length || sge->lkey == ROVE_LKEY_NULL)
			continue;
		mr = rove_mr_find(t, sge->lkey, pd, 0, access, sge->addr, sge->length);
		if (!mr)
			return ROVE_FAULT_LOCAL_PROT;
		rove_mr_put(mr);
	}
	return ROVE_FAULT_NONE;
}

/* Goes to byte *off of the list: the SGE, and in *off the byte of it. */
static const struct rove_sge *seek(const struct rove_sge *sge, const struct rove_sge *end, u32 *off)
{
	while (sge < end && *off >= sge->length) {
		*off -= sge->length;
		sge++;
	}
	return sge;
}

enum rove_fault rove_sge_gather(struct rove_mr_view *view, const struct ib_pd *pd,
				const struct rove_sge *sge, u32 num, u32 off, void *dst, u32 len,
				struct rove_absent *absent)
{
	const struct rove_sge *end = sge + num;
	enum rove_fault fault;
	struct rove_mr *mr;
	u8 *to = dst;
	u32 n;

	if (!len)
		return ROVE_FAULT_NONE;
	for (sge = seek(sge, end, &off); sge < end; sge++, off = 0) {
		n = min(len, sge->length - off);
		if (!n)
			continue;
		if (unlikely(sge->lkey == ROVE_LKEY_NULL)) {
			memset(to, 0, n);
		} else {
			mr = rove_mr_use(view, sge->lkey, pd, 0, 0, sge->addr + off, n);
			if (!mr)
				return ROVE_FAULT_LOCAL_PROT;
			fault = rove_mr_read(mr, sge->addr + off, to, n);
			if (unlikely(fault))
				rove_mr_absent(mr, sge->addr + off, n, sge->length - off, false,
					       absent);
			rove_mr_leave(view, mr);
			if (unlikely(fault))
				return fault;
		}
		to += n;
		len -= n;
		if (!len)
			return ROVE_FAULT_NONE;
	}
	return ROVE_FAULT_LOCAL_PROT;
}

enum rove_fault rove_sge_scatter(struct rove_mr_view *view, const struct ib_pd *pd,
				 const struct rove_sge *sge, u32 num, u32 off,
				 const void *src, u32 len, struct rove_absent *absent)
{
	const struct rove_sge *end = sge + num;
	enum rove_fault fault;
	const u8 *from = src;
	struct rove_mr *mr;
	u32 n;

	if (!len)
		return ROVE_FAULT_NONE;
	for (sge = seek(sge, end, &off); sge < end; sge++, off = 0) {
		n = min(len, sge->length - off);
		if (!n)
			continue;
		if (likely(sge->lkey != ROVE_LKEY_NULL)) {
			mr = rove_mr_use(view, sge->lkey, pd, 0, IB_ACCESS_LOCAL_WRITE,
					 sge->addr + off, n);
			if (!mr)
				return ROVE_FAULT_LOCAL_PROT;
			fault = rove_mr_write(mr, sge->addr + off, from, n);
			if (unlikely(fault))
				rove_mr_absent(mr, sge->addr + off, n, sge->length - off, true,
					       absent);
			rove_mr_leave(view, mr);
			if (unlikely(fault))
				return fault;
		}
		from += n;
		len -= n;
		if (!len)
			return ROVE_FAULT_NONE;
	}
	return ROVE_FAULT_LOCAL_PROT;
}
