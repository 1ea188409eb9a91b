// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The core pins the pages; here they are made into blocks as large as they can
 * be, so that a copy finds its address by a shift and one load.
 *
 * Blocks are cut at multiples of their size of the process's addresses. Where the
 * kernel addresses jump, there must be a cut; between jumps anything goes. So the
 * size is the largest power of two that divides the address of each jump, and a
 * region of one piece is one block.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include "mr.h"
#include "umem.h"

/* Pages lie in the kernel's linear map, all of them, always. */
static_assert(BITS_PER_LONG == 64);

/* One block holds any region then. */
#define WHOLE_SHIFT	62

static u8 block_shift(const struct ib_umem *umem)
{
	unsigned long va = umem->address & PAGE_MASK, jumps = 0, addr, next = 0;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i) {
		addr = (unsigned long)sg_virt(sg);
		if (i && addr != next)
			jumps |= va;
		next = addr + sg->length;
		va += sg->length;
	}
	return jumps ? __ffs(jumps) : WHOLE_SHIFT;
}

static void fill_blocks(struct rove_mr *mr, const struct ib_umem *umem)
{
	unsigned long size = BIT(mr->shift), base = umem->address & ~(size - 1);
	unsigned long va = umem->address & PAGE_MASK, end, at;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i) {
		end = va + sg->length;
		/*
		 * The first block may begin before the region: that part of it is
		 * an address and no more. Where this sets a block that the entry
		 * before has set, the two are one piece and the value is the same.
		 */
		for (at = va & ~(size - 1); at < end; at += size)
			mr->blocks[(at - base) >> mr->shift] =
				(unsigned long)sg_virt(sg) + (at - va);
		va = end;
		if (i % 1024 == 1023)
			cond_resched();
	}
}

int rove_umem_pin(struct rove_mr *mr, struct ib_device *ib, u64 start, u64 length, u64 iova,
		  int access)
{
	struct ib_umem *umem;
	u64 end, num;

	if (!length || check_add_overflow(iova, length, &end) ||
	    check_add_overflow(start, length, &end))
		return -EINVAL;

	umem = ib_umem_get_va(ib, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);

	mr->shift = block_shift(umem);
	mr->offset = umem->address & (BIT(mr->shift) - 1);
	num = ((mr->offset + length - 1) >> mr->shift) + 1;
	mr->blocks = kvmalloc_array(num, sizeof(*mr->blocks), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->blocks) {
		ib_umem_release(umem);
		return -ENOMEM;
	}
	mr->umem = umem;
	fill_blocks(mr, umem);
	mr->iova = iova;
	mr->length = length;
	return 0;
}

void rove_umem_unpin(struct rove_mr *mr)
{
	kvfree(mr->blocks);
	mr->blocks = NULL;
	ib_umem_release(mr->umem);
	mr->umem = NULL;
}

bool rove_umem_allows(const struct rove_mr *mr, int access)
{
	return mr->umem->writable || !ib_access_writable(access);
}

bool rove_umem_start(const struct rove_mr *mr, u64 *start)
{
	*start = mr->umem->address;
	return mr->umem->owning_mm == current->mm;
}
