// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The core's ib_umem_odp is not used: it has a table of all pages of a region, which
 * for large ones cannot be had, and guards it by a mutex, which a softirq cannot take.
 * Here are only the pages that were used, in an xarray, so that a region of all
 * addresses costs nothing but what is used of it.
 *
 *   copy (BH off)              memory manager             fetching thread
 *
 *   read_lock                  write_lock                 seq = read_begin
 *   pages there? copy          set_seq                    hmm_range_fault()
 *   read_unlock                forget pages               write_lock
 *                              write_unlock               read_retry(seq)? again
 *                              (pages go)                 remember pages
 *                                                         write_unlock
 *
 * No reference to a page is held: what is remembered is valid until the memory
 * manager's call has come back. Pages that may have been written are made dirty when they
 * are forgotten, be it because the region goes.
 */
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/overflow.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "mr.h"
#include "odp.h"

/* Pages that are fetched in one step. */
#define FETCH_PAGES	256U
/* Pages that are forgotten in one step: so long BH is off. */
#define FORGET_PAGES	64U

struct rove_odp {
	struct mmu_interval_notifier notifier;
	struct rove_mr *mr;		/* whose pages these are; windows show them, too */
	struct rove_stats __percpu *stats;
	u64 start;			/* the process's address of pos 0 */
	bool writable;
	/* Its owner keeps the memory manager waiting, and pages where they are. Nothing is
	 * allocated under it; outside of lock.
	 */
	struct rw_semaphore stay;
	rwlock_t lock;			/* BH off; what is remembered is valid under it */
	/* By address >> PAGE_SHIFT: a page's number << 1, bit 0: may be written. Changed
	 * under lock, but for empty places, which anybody reserves. Its own lock, inside the
	 * other, is taken with BH off everywhere: a softirq takes the other one.
	 */
	struct xarray pages;
};

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)

static void *page_entry(struct page *page, bool write)
{
	return xa_mk_value(page_to_pfn(page) << 1 | write);
}

static struct page *entry_page(const void *entry)
{
	return pfn_to_page(xa_to_value(entry) >> 1);
}

static bool entry_writable(const void *entry)
{
	return xa_to_value(entry) & 1;
}

/* Forgets the pages from *@first to @last, or some; those written are left in @dirty. */
static unsigned int forget_some(struct rove_odp *odp, unsigned long *first, unsigned long last,
				struct page **dirty, unsigned int *num_dirty)
{
	unsigned long index;
	unsigned int n = 0;
	void *entry;

	*num_dirty = 0;
	xa_for_each_range(&odp->pages, index, entry, *first, last) {
		if (entry_writable(entry))
			dirty[(*num_dirty)++] = entry_page(entry);
		xa_erase(&odp->pages, index);
		*first = index + 1;
		if (++n == FORGET_PAGES)
			break;
	}
	return n;
}

static void forget(struct rove_odp *odp, unsigned long first, unsigned long last)
{
	struct page *dirty[FORGET_PAGES];
	unsigned int n, num_dirty, i;

	lockdep_assert_held(&odp->stay);
	do {
		write_lock_bh(&odp->lock);
		n = forget_some(odp, &first, last, dirty, &num_dirty);
		write_unlock_bh(&odp->lock);
		/* The memory manager waits for us: they are still there. */
		for (i = 0; i < num_dirty; i++)
			folio_mark_dirty(page_folio(dirty[i]));
	} while (n == FORGET_PAGES && first && first <= last);
}

/* Called by the memory manager; false: would have to sleep, and may not. */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range, unsigned long seq)
{
	struct rove_odp *odp = container_of(notifier, struct rove_odp, notifier);

	if (mmu_notifier_range_blockable(range))
		down_read(&odp->stay);
	else if (!down_read_trylock(&odp->stay))
		return false;
	write_lock_bh(&odp->lock);
	mmu_interval_set_seq(notifier, seq);
	write_unlock_bh(&odp->lock);
	forget(odp, range->start >> PAGE_SHIFT, (range->end - 1) >> PAGE_SHIFT);
	up_read(&odp->stay);
	rove_stat_add_any(odp->stats, ROVE_STAT_PAGE_INVALIDATIONS, 1);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

int rove_odp_create(struct rove_mr *mr, struct rove_stats __percpu *stats, u64 start,
		    u64 length, u64 iova, int access)
{
	bool all = !start && !iova && length == U64_MAX;
	struct rove_odp *odp;
	u64 end;
	int err;

	if (!length || (!all && (check_add_overflow(iova, length, &end) ||
				 check_add_overflow(start, length, &end))))
		return -EINVAL;
	odp = kzalloc_obj(*odp, GFP_KERNEL_ACCOUNT);
	if (!odp)
		return -ENOMEM;
	odp->mr = mr;
	odp->stats = stats;
	odp->start = start;
	odp->writable = ib_access_writable(access);
	init_rwsem(&odp->stay);
	rwlock_init(&odp->lock);
	xa_init_flags(&odp->pages, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	err = mmu_interval_notifier_insert(&odp->notifier, current->mm, start, length,
					   &notifier_ops);
	if (err) {
		kfree(odp);
		return err;
	}
	mr->odp = odp;
	mr->iova = iova;
	mr->length = length;
	mr->offset = 0;
	return 0;
}

void rove_odp_destroy(struct rove_mr *mr)
{
	struct rove_odp *odp = mr->odp;

	down_write(&odp->stay);
	forget(odp, 0, ULONG_MAX);
	up_write(&odp->stay);
	mmu_interval_notifier_remove(&odp->notifier);
	xa_destroy(&odp->pages);
	kfree(odp);
	mr->odp = NULL;
}

bool rove_odp_allows(const struct rove_mr *mr, int access)
{
	return mr->odp->writable || !ib_access_writable(access);
}

bool rove_odp_start(const struct rove_mr *mr, u64 *start)
{
	*start = mr->odp->start;
	return mr->odp->notifier.mm == current->mm;
}

/* ---- fetching --------------------------------------------------------------- */

/* A process can have memory that the kernel does not map (memfd_secret()). */
static bool is_mapped(struct page *page)
{
	u8 byte;

	return !IS_ENABLED(CONFIG_ARCH_HAS_SET_DIRECT_MAP) ||
	       !get_kernel_nofault(byte, (u8 *)page_address(page));
}

/*
 * Remembers @num pages from @first on. 0, -EBUSY: they changed meanwhile, -ENOMEM,
 * -EFAULT: one that was asked for is not for us.
 */
static int remember(struct rove_odp *odp, const struct hmm_range *range, unsigned long first,
		    unsigned int num)
{
	struct page *page;
	unsigned long pfn;
	unsigned int i;
	int err = 0;

	for (i = 0; i < num && !err; i++)
		if (range->hmm_pfns[i] & HMM_PFN_VALID)
			err = xa_reserve_bh(&odp->pages, first + i, GFP_KERNEL_ACCOUNT);
	if (err)
		return err;

	write_lock_bh(&odp->lock);
	if (mmu_interval_read_retry(&odp->notifier, range->notifier_seq))
		err = -EBUSY;
	for (i = 0; i < num && !err; i++) {
		pfn = range->hmm_pfns[i];
		if (!(pfn & HMM_PFN_VALID))
			continue;
		page = hmm_pfn_to_page(pfn);
		if (!is_mapped(page)) {
			if (range->default_flags)
				err = -EFAULT;
			continue;
		}
		/* The place may have been forgotten since it was reserved. */
		err = xa_err(xa_store(&odp->pages, first + i,
				      page_entry(page, pfn & HMM_PFN_WRITE), GFP_ATOMIC));
	}
	write_unlock_bh(&odp->lock);
	return err;
}

/* One step; @flags: what is asked of each page (HMM_PFN_REQ_*), or 0: to be there. */
static int fetch_some(struct rove_odp *odp, unsigned long first, unsigned int num,
		      unsigned long flags, unsigned long *pfns)
{
	unsigned long give_up = jiffies + msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	struct hmm_range range = {
		.notifier = &odp->notifier,
		.start = first << PAGE_SHIFT,
		.end = (first + num) << PAGE_SHIFT,
		.hmm_pfns = pfns,
		.default_flags = flags,
	};
	int err;

	do {
		memset(pfns, 0, num * sizeof(*pfns));
		range.notifier_seq = mmu_interval_read_begin(&odp->notifier);
		mmap_read_lock(odp->notifier.mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(odp->notifier.mm);
		if (!err)
			err = remember(odp, &range, first, num);
	} while (err == -EBUSY && time_before(jiffies, give_up));
	return err;
}

static int fetch(struct rove_odp *odp, u64 start, u64 len, unsigned long flags)
{
	unsigned long first = start >> PAGE_SHIFT, end = ((start + len - 1) >> PAGE_SHIFT) + 1;
	unsigned long *pfns;
	unsigned int num;
	int err = 0;

	/* The rest is no address of a process. */
	if (end > TASK_SIZE >> PAGE_SHIFT || end <= first)
		return -EFAULT;
	pfns = kvmalloc_array(min_t(unsigned long, end - first, FETCH_PAGES), sizeof(*pfns),
			      GFP_KERNEL_ACCOUNT);
	if (!pfns)
		return -ENOMEM;
	for (; first < end && !err; first += num) {
		num = min_t(unsigned long, end - first, FETCH_PAGES);
		err = fatal_signal_pending(current) ? -EINTR :
						      fetch_some(odp, first, num, flags, pfns);
		cond_resched();
	}
	kvfree(pfns);
	return err;
}

int rove_odp_fetch(const struct rove_absent *a)
{
	unsigned long flags = HMM_PFN_REQ_FAULT | (a->write ? HMM_PFN_REQ_WRITE : 0);
	struct rove_odp *odp = a->mr->odp;
	struct mm_struct *mm = odp->notifier.mm;
	int err;

	if (a->write && !odp->writable)
		return -EFAULT;
	if (!mmget_not_zero(mm))
		return -EFAULT;
	rove_stat_add_any(odp->stats, ROVE_STAT_PAGE_FAULTS, 1);
	err = fetch(odp, a->start, a->want, flags);
	/* What is not needed yet need not be there. */
	if (err && a->want > a->len)
		err = fetch(odp, a->start, a->len, flags);
	mmput(mm);
	return err;
}

int rove_odp_prefetch(struct rove_mr *mr, u64 va, u64 len, enum rove_odp_prefetch how)
{
	static const unsigned long flags[] = {
		[ROVE_ODP_PRESENT] = 0,
		[ROVE_ODP_READ] = HMM_PFN_REQ_FAULT,
		[ROVE_ODP_WRITE] = HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE,
	};
	struct rove_odp *odp = mr->odp;
	struct mm_struct *mm = odp->notifier.mm;
	int err;

	if (!len)
		return 0;
	if (!mmget_not_zero(mm))
		return -EFAULT;
	rove_stat_add_any(odp->stats, ROVE_STAT_PAGE_PREFETCHES, 1);
	err = fetch(odp, odp->start + (va - mr->iova), len, flags[how]);
	mmput(mm);
	return err;
}

/* ---- copies ----------------------------------------------------------------- */

static bool are_there(struct rove_odp *odp, u64 start, u32 len, bool write)
{
	unsigned long index = start >> PAGE_SHIFT;
	unsigned long last = (start + max(len, 1U) - 1) >> PAGE_SHIFT;
	void *entry;

	for (; index <= last; index++) {
		entry = xa_load(&odp->pages, index);
		if (!entry || (write && !entry_writable(entry)))
			return false;
	}
	return true;
}

enum rove_fault rove_odp_use(struct rove_odp *odp, u64 pos, u32 len, bool write,
			     void (*fn)(void *arg), void *arg)
{
	enum rove_fault fault = ROVE_FAULT_NONE;

	read_lock(&odp->lock);
	if (are_there(odp, odp->start + pos, len, write))
		fn(arg);
	else
		fault = ROVE_FAULT_PAGE;
	read_unlock(&odp->lock);
	return fault;
}

u8 *rove_odp_address(struct rove_odp *odp, u64 pos, u32 len, u32 *room)
{
	u64 start = odp->start + pos;
	u32 off = offset_in_page(start);

	*room = min_t(u32, len, PAGE_SIZE - off);
	return (u8 *)page_address(entry_page(xa_load(&odp->pages, start >> PAGE_SHIFT))) + off;
}

void rove_odp_note(struct rove_odp *odp, u64 pos, struct rove_absent *a)
{
	/* The region cannot be on its way out: somebody uses it, or a window of it. */
	refcount_inc(&odp->mr->refs);
	a->mr = odp->mr;
	a->key = odp->mr->key;
	a->start = odp->start + pos;
}

#else /* !CONFIG_INFINIBAND_ON_DEMAND_PAGING */

int rove_odp_create(struct rove_mr *mr, struct rove_stats __percpu *stats, u64 start,
		    u64 length, u64 iova, int access)
{
	return -EOPNOTSUPP;
}

/* There is no such region. */

void rove_odp_destroy(struct rove_mr *mr)
{
}

bool rove_odp_allows(const struct rove_mr *mr, int access)
{
	return false;
}

bool rove_odp_start(const struct rove_mr *mr, u64 *start)
{
	return false;
}

int rove_odp_fetch(const struct rove_absent *a)
{
	return -EFAULT;
}

int rove_odp_prefetch(struct rove_mr *mr, u64 va, u64 len, enum rove_odp_prefetch how)
{
	return -EFAULT;
}

enum rove_fault rove_odp_use(struct rove_odp *odp, u64 pos, u32 len, bool write,
			     void (*fn)(void *arg), void *arg)
{
	return ROVE_FAULT_LOCAL_PROT;
}

u8 *rove_odp_address(struct rove_odp *odp, u64 pos, u32 len, u32 *room)
{
	return NULL;
}

void rove_odp_note(struct rove_odp *odp, u64 pos, struct rove_absent *a)
{
}

#endif
