// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions: keys, checks, and copies from and to their pages.
 *
 * rove_mr_find() and the copies run for each packet, with BH off: RCU, one reference, no
 * lock. All that they read is constant while the key is known.
 */
#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/unaligned.h>
#include "../wire/opcode.h"
#include "mr.h"
#include "odp.h"

/* Index 0 is never used, so that no key is a small number. */
#define INDEX_LIMIT	XA_LIMIT(1, 0xffffff)
#define VARIANT_BITS	8

/* Of a DMA region the pages of so many bytes are looked at, and the last one. */
#define DMA_CHECK	SZ_64K

/* So much at most is fetched at once for one access. */
#define ODP_WINDOW	SZ_1M

void rove_mr_table_init(struct rove_mr_table *t)
{
	xa_init_flags(&t->xa, XA_FLAGS_ALLOC);
	/* Keys must be hard to guess, and not the ones of a moment ago. */
	t->next = get_random_u32() >> VARIANT_BITS;
}

void rove_mr_table_exit(struct rove_mr_table *t)
{
	WARN_ON(!xa_empty(&t->xa));
	xa_destroy(&t->xa);
}

static void show(struct rove_mr *mr)
{
	init_completion(&mr->unused);
	refcount_set(&mr->refs, 1);
	/* The slot exists: nothing is allocated. */
	xa_store(&mr->table->xa, mr->key >> VARIANT_BITS, mr, GFP_KERNEL);
}

static void wait_unused(struct rove_mr *mr)
{
	rove_mr_put(mr);
	wait_for_completion(&mr->unused);
}

int rove_mr_insert(struct rove_mr_table *t, struct rove_mr *mr)
{
	u32 index;
	int err;

	/* The key is part of the region: reserve it, then show the region. */
	err = xa_alloc_cyclic(&t->xa, &index, NULL, INDEX_LIMIT, &t->next, GFP_KERNEL_ACCOUNT);
	if (err < 0)
		return -ENOMEM;

	mr->table = t;
	spin_lock_init(&mr->lock);
	atomic_set(&mr->windows, 0);
	mr->key = index << VARIANT_BITS | get_random_u8();
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	show(mr);
	return 0;
}

void rove_mr_remove(struct rove_mr *mr)
{
	xa_erase(&mr->table->xa, mr->key >> VARIANT_BITS);
	wait_unused(mr);
}

bool rove_mr_close_to_windows(struct rove_mr *mr)
{
	return atomic_cmpxchg(&mr->windows, 0, -1) <= 0;
}

void rove_mr_open_to_windows(struct rove_mr *mr)
{
	atomic_set(&mr->windows, 0);
}

void rove_mr_change(struct rove_mr *mr, const struct ib_pd *pd, int access)
{
	/* Nobody else gets the key meanwhile. */
	xa_store(&mr->table->xa, mr->key >> VARIANT_BITS, XA_ZERO_ENTRY, GFP_KERNEL);
	wait_unused(mr);
	/* Who found the region before must not take a reference after. */
	synchronize_rcu();

	mr->pd = pd;
	mr->access = access;
	show(mr);
}

/*
 * A peer that was given the key of all kernel memory must not make us touch what
 * is no memory. What is copied at once is not longer than DMA_CHECK.
 */
static bool is_memory(u64 va, u64 len)
{
	u64 end = va + min_t(u64, len, DMA_CHECK), at;

	if (!len)
		return true;
	for (at = va; at < end; at = (at | ~PAGE_MASK) + 1) {
		if (!virt_addr_valid((void *)(uintptr_t)at))
			return false;
		if ((at | ~PAGE_MASK) == U64_MAX)
			break;
	}
	return virt_addr_valid((void *)(uintptr_t)(va + len - 1));
}

/* With a reference held, which keeps a valid region as it is. */
static bool may_use(const struct rove_mr *mr, u32 key, const struct ib_pd *pd, u32 qpn,
		    int access, u64 va, u64 len)
{
	u64 off;

	if (mr->kind >= ROVE_MR_FAST) {
		/*
		 * Pairs with rove_memwr's: either it sees the reference and waits, or
		 * this sees that the region is not valid.
		 */
		smp_mb__after_atomic();
		/* What is compared below was written before. */
		if (!smp_load_acquire(&mr->valid))
			return false;
	}
	off = va - mr->iova;
	if (mr->key != key || mr->pd != pd || (mr->access & access) != access)
		return false;
	if (va < mr->iova || off > mr->length || len > mr->length - off)
		return false;
	if (mr->kind == ROVE_MR_DMA && (access & ~IB_ACCESS_LOCAL_WRITE))
		return is_memory(va, len);
	if (mr->kind == ROVE_MR_WINDOW)
		return qpn && (!mr->qpn || mr->qpn == qpn);
	return true;
}

struct rove_mr *rove_mr_find(struct rove_mr_table *t, u32 key, const struct ib_pd *pd,
			     u32 qpn, int access, u64 va, u64 len)
{
	struct rove_mr *mr;

	lockdep_assert_in_softirq();
	rcu_read_lock();
	mr = xa_load(&t->xa, key >> VARIANT_BITS);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	if (mr && !may_use(mr, key, pd, qpn, access, va, len)) {
		rove_mr_put(mr);
		mr = NULL;
	}
	rcu_read_unlock();
	return mr;
}

struct rove_mr *rove_mr_use(struct rove_mr_view *view, u32 key, const struct ib_pd *pd, u32 qpn,
			    int access, u64 va, u64 len)
{
	struct rove_mr *mr = view->last;

	if (likely(mr && may_use(mr, key, pd, qpn, access, va, len)))
		return mr;
	mr = rove_mr_find(view->table, key, pd, qpn, access, va, len);
	if (mr && mr->kind < ROVE_MR_FAST) {
		rove_mr_forget(view);
		view->last = mr;
	}
	return mr;
}

struct rove_mr *rove_mr_find_whole(struct rove_mr_table *t, u32 key, const struct ib_pd *pd,
				   u32 qpn, int access)
{
	struct rove_mr *mr;
	u64 start;

	rcu_read_lock();
	mr = rove_mr_peek(t, key);
	start = mr ? READ_ONCE(mr->iova) : 0;
	mr = rove_mr_find(t, key, pd, qpn, access, start, 0);
	rcu_read_unlock();
	return mr;
}

struct rove_mr *rove_mr_peek(struct rove_mr_table *t, u32 key)
{
	return xa_load(&t->xa, key >> VARIANT_BITS);
}

void rove_mr_put(struct rove_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->unused);
}

static u64 position(const struct rove_mr *mr, u64 va)
{
	return va - mr->iova + mr->offset;
}

/* The kernel address of @va; *room: bytes from there on in one piece. */
static u8 *address(const struct rove_mr *mr, u64 va, u32 len, u32 *room)
{
	u64 pos, off;

	if (mr->kind == ROVE_MR_DMA) {
		*room = len;
		return (u8 *)(uintptr_t)va;
	}
	pos = position(mr, va);
	if (unlikely(mr->odp))
		return rove_odp_address(mr->odp, pos, len, room);
	off = pos & (BIT_ULL(mr->shift) - 1);
	*room = min_t(u64, len, BIT_ULL(mr->shift) - off);
	return (u8 *)(mr->blocks[pos >> mr->shift] + (unsigned long)off);
}

/* Bytes of the largest aligned word, up to 4, that begins at @p and ends within @len. */
static u32 small_word(const u8 *p, u32 len)
{
	u32 size = 1U << __ffs((unsigned long)p | 4);

	while (size > len)
		size /= 2;
	return size;
}

/* Ascending, aligned words of 8 bytes and less whole. For short lengths. */
static void store_words(u8 *dst, const u8 *src, u32 len)
{
	u32 n;

	for (; len; len -= n, dst += n, src += n) {
		for (; len >= 8 && IS_ALIGNED((unsigned long)dst, 8); len -= 8, dst += 8, src += 8)
			WRITE_ONCE(*(u64 *)dst, get_unaligned((const u64 *)src));
		if (!len)
			return;
		n = small_word(dst, len);
		if (n == 4)
			WRITE_ONCE(*(u32 *)dst, get_unaligned((const u32 *)src));
		else if (n == 2)
			WRITE_ONCE(*(u16 *)dst, get_unaligned((const u16 *)src));
		else
			WRITE_ONCE(*dst, *src);
	}
}

/* The same for reading. */
static void load_words(u8 *dst, const u8 *src, u32 len)
{
	u32 n;

	for (; len; len -= n, dst += n, src += n) {
		for (; len >= 8 && IS_ALIGNED((unsigned long)src, 8); len -= 8, dst += 8, src += 8)
			put_unaligned(READ_ONCE(*(const u64 *)src), (u64 *)dst);
		if (!len)
			return;
		n = small_word(src, len);
		if (n == 4)
			put_unaligned(READ_ONCE(*(const u32 *)src), (u32 *)dst);
		else if (n == 2)
			put_unaligned(READ_ONCE(*(const u16 *)src), (u16 *)dst);
		else
			*dst = READ_ONCE(*src);
	}
}

static void store(u8 *dst, const u8 *src, u32 len)
{
	if (len <= L1_CACHE_BYTES)
		store_words(dst, src, len);
	else
		memcpy(dst, src, len);
}

static void copy_to(const struct rove_mr *mr, u64 va, const u8 *from, u32 len)
{
	u32 room, last;
	u8 *to;

	/* Blocks begin and end at pages, so the last cache line is in one. */
	for (; len; len -= room, va += room, from += room) {
		to = address(mr, va, len, &room);
		if (room < len) {
			store(to, from, room);
			continue;
		}
		last = min_t(u32, len, (((unsigned long)to + len - 1) & (L1_CACHE_BYTES - 1)) + 1);
		if (last < len)
			store(to, from, len - last);
		/* Programs poll the end of a message: it comes after the rest. */
		smp_wmb();
		store_words(to + len - last, from + len - last, last);
	}
}

static void copy_from(const struct rove_mr *mr, u64 va, u8 *to, u32 len)
{
	const u8 *from;
	u32 room;

	for (; len; len -= room, va += room, to += room) {
		from = address(mr, va, len, &room);
		if (room <= L1_CACHE_BYTES)
			load_words(to, from, room);
		else
			memcpy(to, from, room);
	}
}

static enum rove_fault atomic(const struct rove_mr *mr, u64 va, u8 op, u64 swap_add, u64 compare,
			      u64 *value)
{
	u32 room;
	u64 *p = (u64 *)address(mr, va, sizeof(*p), &room);

	/* Blocks begin and end at pages, so an aligned word is in one. */
	if (!IS_ALIGNED((unsigned long)p, sizeof(*p)))
		return ROVE_FAULT_REQ_INVALID;
	if (op == ROVE_OP_CMP_SWP)
		*value = cmpxchg64(p, compare, swap_add);
	else
		*value = atomic64_fetch_add(swap_add, (atomic64_t *)p);
	return ROVE_FAULT_NONE;
}

/* The same for regions whose pages have to be held for it. */
struct access {
	const struct rove_mr *mr;
	u64 va;
	const void *src;
	void *dst;
	u32 len;
	u8 op;
	u64 swap_add;
	u64 compare;
	u64 *value;
	enum rove_fault fault;
};

static void copy_to_held(void *arg)
{
	const struct access *a = arg;

	copy_to(a->mr, a->va, a->src, a->len);
}

static void copy_from_held(void *arg)
{
	const struct access *a = arg;

	copy_from(a->mr, a->va, a->dst, a->len);
}

static void atomic_held(void *arg)
{
	struct access *a = arg;

	a->fault = atomic(a->mr, a->va, a->op, a->swap_add, a->compare, a->value);
}

static enum rove_fault hold(struct access *a, bool write, void (*fn)(void *arg))
{
	return rove_odp_use(a->mr->odp, position(a->mr, a->va), a->len, write, fn, a);
}

enum rove_fault rove_mr_write(struct rove_mr *mr, u64 va, const void *src, u32 len)
{
	if (unlikely(mr->odp)) {
		struct access a = { .mr = mr, .va = va, .src = src, .len = len };

		return hold(&a, true, copy_to_held);
	}
	copy_to(mr, va, src, len);
	return ROVE_FAULT_NONE;
}

enum rove_fault rove_mr_read(struct rove_mr *mr, u64 va, void *dst, u32 len)
{
	if (unlikely(mr->odp)) {
		struct access a = { .mr = mr, .va = va, .dst = dst, .len = len };

		return hold(&a, false, copy_from_held);
	}
	copy_from(mr, va, dst, len);
	return ROVE_FAULT_NONE;
}

u32 rove_mr_pieces(const struct rove_mr *mr, u64 va, u32 len, struct rove_piece *pieces, u32 max)
{
	u32 n, room;

	if (unlikely(mr->odp))
		return 0;
	for (n = 0; len && n < max; n++, va += room, len -= room) {
		pieces[n].p = address(mr, va, len, &room);
		pieces[n].len = room;
	}
	return len ? 0 : n;
}

bool rove_mr_copy(const struct rove_mr *to, u64 to_va, const struct rove_mr *from, u64 va, u32 len)
{
	const u8 *src;
	u32 room;
	u8 *dst;

	if (unlikely(to->odp || from->odp))
		return false;
	for (; len; len -= room, va += room, to_va += room) {
		src = address(from, va, len, &room);
		if (room == len) {
			copy_to(to, to_va, src, len);
			return true;
		}
		/* Only the end of it all is worth the care that copy_to() takes. */
		dst = address(to, to_va, room, &room);
		store(dst, src, room);
	}
	return true;
}

enum rove_fault rove_mr_atomic(struct rove_mr *mr, u64 va, u8 op, u64 swap_add, u64 compare,
			       u64 *value)
{
	enum rove_fault fault;

	if (unlikely(mr->odp)) {
		struct access a = { .mr = mr, .va = va, .len = sizeof(u64), .op = op,
				    .swap_add = swap_add, .compare = compare, .value = value };

		fault = hold(&a, true, atomic_held);
		return fault ?: a.fault;
	}
	return atomic(mr, va, op, swap_add, compare, value);
}

void rove_mr_absent(struct rove_mr *mr, u64 va, u32 len, u64 want, bool write,
		    struct rove_absent *a)
{
	u64 room = mr->length - (va - mr->iova);

	a->len = len;
	a->want = clamp_t(u64, want, len, min_t(u64, room, ODP_WINDOW));
	a->write = write;
	rove_odp_note(mr->odp, position(mr, va), a);
}
