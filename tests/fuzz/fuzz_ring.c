// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings whose memory the other side writes at any moment: before each single
 * load that the module makes from shared memory, the input may change any word
 * of it. Whatever the module ends up with must be within the QP's limits.
 *
 * Input: 8 bytes of set-up, then changes of 4 bytes each (when, where, what),
 * used up load by load; the rest of the shared memory starts as the input too.
 */
#include <string.h>

#include "base.h"
#include "fuzz.h"

static u64 hostile_load(const void *p, size_t size);

/* The module's own files, but every load from a ring goes by hostile_load(). */
#undef READ_ONCE
#undef smp_load_acquire
#define READ_ONCE(x)		((__typeof__((x) + 0))hostile_load(&(x), sizeof(x)))
#define smp_load_acquire(p)	((__typeof__(*(p) + 0))hostile_load(p, sizeof(*(p))))
#include "ring/cqe.c"
#include "ring/ring.h"
#include "ring/wqe.c"

#define ENTRIES		4
#define MAX_SGE		6
#define MAX_INLINE	88
#define STRIDE		(sizeof(struct rove_sqe) + MAX_SGE * sizeof(struct rove_sge))

static struct {
	u32 prod, cons;
	u64 slots[ENTRIES * STRIDE / 8];
	u64 cq[(ROVE_CQ_ENTRIES + ENTRIES * sizeof(struct rove_cqe)) / 8];
} shared;

static u8 loads[sizeof(shared)];	/* of each byte, since the last forget() */
static const u8 *changes;
static size_t changes_left;
static bool counting;

static void change_something(void)
{
	u8 *bytes = (u8 *)&shared;

	while (changes_left >= 4) {
		bool now = changes[0] & 1;

		bytes[(changes[1] | changes[2] << 8) % sizeof(shared)] = changes[3];
		changes += 4;
		changes_left -= 4;
		if (!now)
			return;
	}
}

static u64 hostile_load(const void *p, size_t size)
{
	size_t at = (const u8 *)p - (const u8 *)&shared, i;
	u64 v = 0;

	FUZZ_CHECK(at < sizeof(shared) && size <= sizeof(shared) - at);
	change_something();
	memcpy(&v, p, size);
	for (i = 0; i < size && counting; i++)
		FUZZ_CHECK(++loads[at + i] == 1);
	change_something();
	return v;
}

/* From here on no byte may be loaded twice. */
static void forget(void)
{
	memset(loads, 0, sizeof(loads));
	counting = true;
}

static void check_send(const struct rove_swqe *w, enum rove_fault fault,
		       const struct rove_wqe_limits *lim)
{
	u64 sum = 0;
	u32 i, op = w->sqe.opcode;

	FUZZ_CHECK(w->fault == fault);
	FUZZ_CHECK(op < ROVE_WR_OPS);
	if (fault != ROVE_FAULT_NONE) {
		FUZZ_CHECK(fault == ROVE_FAULT_WQE || fault == ROVE_FAULT_LOCAL_LEN);
		FUZZ_CHECK(!w->sqe.num && !w->length);
		FUZZ_CHECK(!(w->sqe.flags & ~ROVE_WR_SIGNALED));
		return;
	}
	FUZZ_CHECK(lim->ops & 1U << op);
	FUZZ_CHECK(!(w->sqe.flags & ~ROVE_WR_FLAGS));
	if (w->sqe.flags & ROVE_WR_INLINE) {
		FUZZ_CHECK(w->sqe.num <= lim->max_inline && op <= ROVE_WR_WRITE_IMM);
		sum = w->sqe.num;
	} else {
		FUZZ_CHECK(w->sqe.num <= lim->max_sge);
		for (i = 0; i < w->sqe.num; i++)
			sum += w->sge[i].length;
	}
	FUZZ_CHECK(w->length == (op == ROVE_WR_ATOMIC_WRITE ? 8 : sum));
	FUZZ_CHECK(sum <= (lim->ud ? ROVE_MAX_PMTU : ROVE_MAX_MSG));
	if (lim->ud)
		FUZZ_CHECK(op <= ROVE_WR_SEND_IMM && w->sqe.ud.qpn <= 0xffffff);
	else if (lim->xrc)
		FUZZ_CHECK(w->sqe.rdma.srqn <= 0xffffff);
	if (!lim->ud && rove_wqe_is(w, ROVE_WQEP_ATOMIC))
		FUZZ_CHECK(w->sqe.num == 1 && sum == 8);
	if (!lim->ud && rove_wqe_is(w, ROVE_WQEP_LOCAL | ROVE_WQEP_PLACE))
		FUZZ_CHECK(!w->sqe.num && !(w->sqe.flags & ROVE_WR_INLINE));
}

static void try_send(const struct rove_wqe_limits *lim)
{
	struct rove_swqe *w = malloc(rove_wqe_private_stride(STRIDE));
	struct rove_ring r;
	u32 n;

	rove_ring_init(&r, &shared.prod, &shared.cons, shared.slots, ENTRIES, STRIDE);
	counting = false;
	n = rove_ring_pending(&r);
	FUZZ_CHECK(n <= ENTRIES);
	for (; n; n--) {
		forget();
		check_send(w, rove_wqe_read_send(w, rove_ring_slot(&r, r.head), lim), lim);
		rove_ring_release(&r);
	}
	counting = false;
	FUZZ_CHECK(rove_ring_space(&r) <= ENTRIES);
	free(w);
}

static void try_recv(u32 max_sge, u32 head)
{
	struct rove_rwqe *w = malloc(sizeof(*w) + max_sge * sizeof(struct rove_sge));
	enum rove_fault fault;
	struct rove_ring r;
	u64 sum = 0;
	u32 n, i;

	rove_ring_init(&r, &shared.prod, &shared.cons, shared.slots, ENTRIES, STRIDE);
	r.head = head;
	counting = false;
	for (n = rove_ring_pending(&r); n; n--) {
		forget();
		fault = rove_wqe_read_recv(w, rove_ring_slot(&r, r.head), max_sge);
		rove_ring_release(&r);
		FUZZ_CHECK(fault == ROVE_FAULT_NONE || fault == ROVE_FAULT_WQE);
		FUZZ_CHECK(w->num <= max_sge && w->length <= ROVE_MAX_MSG);
		FUZZ_CHECK(fault == ROVE_FAULT_NONE || (!w->num && !w->length));
		for (sum = 0, i = 0; i < w->num; i++)
			sum += w->sge[i].length;
		FUZZ_CHECK(w->length == min_t(u64, sum, ROVE_MAX_MSG));
	}
	free(w);
}

static void try_move(struct rove_cq_ring *r)
{
	static u64 area[(ROVE_CQ_ENTRIES + 2 * ENTRIES * sizeof(struct rove_cqe)) / 8];
	struct rove_cq_ring old = *r;

	memset(area, 0, sizeof(area));
	/* Whatever the consumer says, there are not more than the old ring has. */
	FUZZ_CHECK(rove_cq_ring_move(r, area, 2 * ENTRIES));
	FUZZ_CHECK(r->mask == 2 * ENTRIES - 1 && r->head == old.head && r->armed == old.armed);
	FUZZ_CHECK(r->head - r->hdr->cons <= ENTRIES);
}

static void try_cq(u32 head)
{
	struct rove_cqe cqe = { .wr_id = 1 };
	struct rove_cq_ring r;
	u32 i, before;

	counting = false;
	rove_cq_ring_init(&r, shared.cq, ENTRIES);
	r.head = head;
	for (i = 0; i < 2 * ENTRIES; i++) {
		before = r.head;
		FUZZ_CHECK(r.head - before == rove_cq_ring_put(&r, &cqe) ||
			   r.head == before + 1);
		rove_cq_ring_fire(&r, i & 1);
		FUZZ_CHECK(r.mask == ENTRIES - 1 && r.armed <= 0x7fffffff);
	}
	try_move(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rove_wqe_limits lim = {};
	u32 head;

	if (size < 8)
		return 0;
	lim.max_inline = data[0] % (MAX_INLINE + 1);
	lim.max_sge = data[1] % (MAX_SGE + 1);
	lim.ud = data[2] & 1;
	lim.xrc = data[2] & 2;
	lim.ops = data[3] | (data[2] >> 3) << 8;
	memcpy(&head, data + 4, 4);
	data += 8;
	size -= 8;

	memset(&shared, 0, sizeof(shared));
	memcpy(&shared, data, min_t(size_t, size, sizeof(shared)));
	/* Changes come from the end, so that one input stays both. */
	changes_left = size > sizeof(shared) ? size - sizeof(shared) : size / 2;
	changes = data + size - changes_left;

	try_send(&lim);
	try_recv(lim.max_sge, head);
	try_cq(head);
	return 0;
}
