// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "ring/wqe.h"
#include "unit.h"

#define ALL_OPS	((1U << ROVE_WR_OPS) - 1)

static const struct rove_wqe_limits rc = { .max_inline = 100, .max_sge = 4, .ops = ALL_OPS };
static const struct rove_wqe_limits ud = {
	.max_inline = 100, .max_sge = 4, .ops = ALL_OPS, .ud = true,
};

/* A slot and a private WQE that end where the strides say. */
static struct rove_sqe *slot;
static struct rove_swqe *wqe;

static void setup(const struct rove_wqe_limits *lim)
{
	u32 stride = rove_wqe_sq_stride(lim->max_sge, lim->max_inline);

	free(slot);
	free(wqe);
	slot = calloc(1, stride);
	wqe = malloc(rove_wqe_private_stride(stride));
	memset(wqe, 0x5a, rove_wqe_private_stride(stride));
	slot->wr_id = 0x1122334455667788;
}

static void __attribute__((destructor)) teardown(void)
{
	free(slot);
	free(wqe);
}

static struct rove_sge *sge(void)
{
	return (struct rove_sge *)(slot + 1);
}

static bool takes(const struct rove_wqe_limits *lim)
{
	struct rove_sqe want = *slot;
	u32 num = slot->num, i;
	enum rove_fault fault;
	u64 sum = 0;

	fault = rove_wqe_read_send(wqe, slot, lim);
	CHECK_EQ(wqe->fault, fault);
	CHECK_EQ(wqe->sqe.wr_id, want.wr_id);
	CHECK_EQ(wqe->state, ROVE_SWQE_POSTED);
	CHECK(!wqe->first_psn && !wqe->last_psn && !wqe->ssn && !wqe->done && !wqe->resent);
	if (fault != ROVE_FAULT_NONE) {
		CHECK_EQ(wqe->sqe.num, 0);
		CHECK_EQ(wqe->length, 0);
		CHECK_EQ(wqe->sqe.flags, want.flags & ROVE_WR_SIGNALED);
		CHECK(wqe->sqe.opcode < ROVE_WR_OPS);
		return false;
	}
	CHECK_MEM(&wqe->sqe, &want, sizeof(want));
	if (want.flags & ROVE_WR_INLINE) {
		CHECK_MEM(wqe->data, slot + 1, num);
		sum = num;
	} else {
		CHECK_MEM(wqe->sge, slot + 1, num * sizeof(struct rove_sge));
		for (i = 0; i < num; i++)
			sum += sge()[i].length;
	}
	if (want.opcode == ROVE_WR_ATOMIC_WRITE)
		sum = 8;	/* in the header */
	CHECK_EQ(wqe->length, sum);
	return true;
}

TEST(strides)
{
	u32 sges, inl, stride;

	for (sges = 0; sges < 40; sges++) {
		for (inl = 0; inl < 600; inl++) {
			stride = rove_wqe_sq_stride(sges, inl);
			CHECK_EQ(stride % 16, 0);
			CHECK(stride >= 48 + sges * 16 && stride >= 48 + inl);
			CHECK(stride - 48 < max(sges * 16, inl) + 16);
		}
		CHECK_EQ(rove_wqe_rq_stride(sges), 16 + sges * 16);
	}
	CHECK_EQ(rove_wqe_private_stride(112), sizeof(struct rove_swqe) + 64);
}

/* SGEs that suit any length. */
static u32 sges_of(u32 op)
{
	return op < ROVE_WR_LOCAL_INV || op >= ROVE_WR_OPS;
}

/* Of a FLUSH what it has to say. */
static void fill_in(u32 op)
{
	if (op == ROVE_WR_FLUSH)
		slot->flush.type = 1;
}

TEST(every_opcode)
{
	u32 op;

	for (op = 0; op < 256; op++) {
		setup(&rc);
		slot->opcode = op;
		slot->num = sges_of(op);
		fill_in(op);
		sge()->length = 8;
		CHECK_EQ(takes(&rc), op < ROVE_WR_OPS);
		slot->flags = ROVE_WR_SIGNALED;
		CHECK_EQ(takes(&rc), op < ROVE_WR_OPS);
	}
}

TEST(opcodes_by_mask)
{
	struct rove_wqe_limits lim = rc;
	u32 op, allowed;

	for (allowed = 0; allowed < ROVE_WR_OPS; allowed++) {
		lim.ops = 1U << allowed;
		for (op = 0; op < 256; op++) {
			setup(&lim);
			slot->opcode = op;
			slot->num = sges_of(op);
			fill_in(op);
			sge()->length = 8;
			CHECK_EQ(takes(&lim), op == allowed);
		}
	}
}

/* A mask with bits that no opcode has does not let more through. */
TEST(opcodes_out_of_mask)
{
	struct rove_wqe_limits lim = rc;
	u32 op;

	lim.ops = ~0U;
	for (op = ROVE_WR_OPS; op < 256; op++) {
		setup(&lim);
		slot->opcode = op;
		CHECK(!takes(&lim));
	}
}

TEST(flags)
{
	u32 flags;

	for (flags = 0; flags < 256; flags++) {
		setup(&rc);
		slot->flags = flags;
		CHECK_EQ(takes(&rc), flags < 16);
	}
}

TEST(sge_count)
{
	u32 num, i;

	for (num = 0; num <= 0xffff; num = num < 300 ? num + 1 : num + 0x55) {
		setup(&rc);
		slot->num = num;
		for (i = 0; i < 4; i++)
			sge()[i] = (struct rove_sge){ .addr = i, .length = 100 + i, .lkey = 7 };
		CHECK_EQ(takes(&rc), num <= 4);
		CHECK(num <= 4 || wqe->fault == ROVE_FAULT_WQE);
	}
}

TEST(sge_lengths_add_up)
{
	static const struct {
		u32 length[4];
		bool ok;
	} cases[] = {
		{ { 0x80000000, 0, 0, 0 }, true },
		{ { 0x80000001, 0, 0, 0 }, false },
		{ { 0x7fffffff, 1, 0, 0 }, true },
		{ { 0x7fffffff, 1, 1, 0 }, false },
		{ { 0x80000000, 0x80000000, 0, 0 }, false },		/* 0 in 32 bits */
		{ { 0x80000000, 0x80000000, 0, 8 }, false },
		{ { 0xffffffff, 1, 0, 0 }, false },
		{ { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, false },
		{ { 0, 0, 0, 0 }, true },
	};
	static const u8 with_length[] = {
		ROVE_WR_SEND, ROVE_WR_SEND_IMM, ROVE_WR_SEND_INV,
		ROVE_WR_WRITE, ROVE_WR_WRITE_IMM, ROVE_WR_READ,
	};
	u32 c, o, i;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		for (o = 0; o < ARRAY_SIZE(with_length); o++) {
			setup(&rc);
			slot->opcode = with_length[o];
			slot->num = 4;
			for (i = 0; i < 4; i++)
				sge()[i].length = cases[c].length[i];
			CHECK_EQ(takes(&rc), cases[c].ok);
			if (!cases[c].ok)
				CHECK_EQ(wqe->fault, ROVE_FAULT_LOCAL_LEN);
		}
	}
}

TEST(inline_data)
{
	u32 op, num, i;

	for (op = 0; op < ROVE_WR_OPS; op++) {
		for (num = 0; num <= 0xffff; num = num < 300 ? num + 1 : num + 0x55) {
			bool may = op <= ROVE_WR_WRITE_IMM;

			setup(&rc);
			slot->opcode = op;
			slot->flags = ROVE_WR_INLINE | ROVE_WR_SIGNALED;
			slot->num = num;
			for (i = 0; i < 100; i++)
				((u8 *)(slot + 1))[i] = i * 7;
			CHECK_EQ(takes(&rc), may && num <= 100);
			CHECK(wqe->fault == ROVE_FAULT_NONE || wqe->fault == ROVE_FAULT_WQE);
		}
	}
}

TEST(inline_without_room)
{
	struct rove_wqe_limits lim = { .max_sge = 1, .ops = ALL_OPS };

	setup(&lim);
	slot->flags = ROVE_WR_INLINE;
	CHECK(takes(&lim));
	slot->num = 1;
	CHECK(!takes(&lim));
}

TEST(atomics)
{
	static const u32 lengths[] = { 0, 1, 4, 7, 9, 16, 0x80000000, 0xffffffff };
	u32 op, num, i;

	for (op = ROVE_WR_CMP_SWP; op <= ROVE_WR_FETCH_ADD; op++) {
		for (num = 0; num <= 4; num++) {
			setup(&rc);
			slot->opcode = op;
			slot->num = num;
			sge()->length = 8;
			CHECK_EQ(takes(&rc), num == 1);
		}
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			setup(&rc);
			slot->opcode = op;
			slot->num = 1;
			sge()->length = lengths[i];
			CHECK(!takes(&rc));
			CHECK_EQ(wqe->fault, ROVE_FAULT_LOCAL_LEN);
		}
		/* eight bytes in two pieces are no atomic */
		setup(&rc);
		slot->opcode = op;
		slot->num = 2;
		sge()[0].length = 4;
		sge()[1].length = 4;
		CHECK(!takes(&rc));
		CHECK_EQ(wqe->fault, ROVE_FAULT_WQE);
	}
}

/* No SGE, no inline data. */
TEST(place_operations)
{
	u32 op, num, type, level;

	for (op = ROVE_WR_ATOMIC_WRITE; op <= ROVE_WR_FLUSH; op++) {
		CHECK_EQ(rove_wqe_props[op], ROVE_WQEP_PLACE);
		for (num = 0; num <= 4; num++) {
			setup(&rc);
			slot->opcode = op;
			fill_in(op);
			slot->num = num;
			CHECK_EQ(takes(&rc), !num);
			CHECK_EQ(wqe->length, !num && op == ROVE_WR_ATOMIC_WRITE ? 8 : 0);
			slot->flags = ROVE_WR_INLINE;
			CHECK(!takes(&rc));
		}
	}
	for (type = 0; type < 256; type++)
		for (level = 0; level < 4; level++) {
			setup(&rc);
			slot->opcode = ROVE_WR_FLUSH;
			slot->num = 0;
			slot->flush.type = type;
			slot->flush.level = level;
			CHECK_EQ(takes(&rc), type >= 1 && type <= 3 && level <= 1);
		}
}

/* No SGE, no inline data. */
TEST(local_operations)
{
	u32 op, num;

	for (op = ROVE_WR_LOCAL_INV; op <= ROVE_WR_REG_MR; op++) {
		CHECK_EQ(rove_wqe_props[op], ROVE_WQEP_LOCAL);
		for (num = 0; num <= 4; num++) {
			setup(&rc);
			slot->opcode = op;
			slot->num = num;
			slot->flags = ROVE_WR_FENCE;
			CHECK_EQ(takes(&rc), !num);
			CHECK_EQ(wqe->length, 0);
			slot->flags = ROVE_WR_INLINE;
			CHECK(!takes(&rc));
		}
	}
}

/* What is reserved for an operation has to be zero, and only that. */
TEST(reserved_fields)
{
	static const u8 reserved_from[ROVE_WR_OPS] = {
		[ROVE_WR_WRITE] = 28, [ROVE_WR_WRITE_IMM] = 28, [ROVE_WR_READ] = 28,
		[ROVE_WR_CMP_SWP] = 28, [ROVE_WR_FETCH_ADD] = 28,
		[ROVE_WR_LOCAL_INV] = 16, [ROVE_WR_FLUSH] = 34,
	};
	u32 op, byte;

	for (op = 0; op < ROVE_WR_OPS; op++) {
		bool atomic = op == ROVE_WR_CMP_SWP || op == ROVE_WR_FETCH_ADD;

		for (byte = 12; byte < 48; byte++) {
			bool reserved = reserved_from[op] && byte >= reserved_from[op] &&
					byte < (atomic ? 32 : 48);

			if (op == ROVE_WR_ATOMIC_WRITE)
				reserved = (byte >= 28 && byte < 32) || byte >= 40;

			setup(&rc);
			slot->opcode = op;
			slot->num = sges_of(op);
			fill_in(op);
			sge()->length = 8;
			((u8 *)slot)[byte] = 1;
			CHECK_EQ(takes(&rc), !reserved);
		}
	}
}

TEST(datagrams)
{
	u32 op, byte;

	for (op = 0; op < ROVE_WR_OPS; op++) {
		setup(&ud);
		slot->opcode = op;
		slot->num = 1;
		sge()->length = 8;
		CHECK_EQ(takes(&ud), op <= ROVE_WR_SEND_IMM);
	}
	for (byte = 28; byte < 48; byte++) {
		setup(&ud);
		((u8 *)slot)[byte] = 0x80;
		CHECK(!takes(&ud));
	}
	setup(&ud);
	slot->ud.qpn = 0xffffff;
	slot->ud.ah = ~0U;
	slot->ud.qkey = ~0U;
	CHECK(takes(&ud));
	slot->ud.qpn = 0x1000000;
	CHECK(!takes(&ud));
	CHECK_EQ(wqe->fault, ROVE_FAULT_WQE);
}

TEST(datagrams_fit_one_packet)
{
	setup(&ud);
	slot->num = 2;
	sge()[0].length = 4000;
	sge()[1].length = 96;
	CHECK(takes(&ud));
	sge()[1].length = 97;
	CHECK(!takes(&ud));
	CHECK_EQ(wqe->fault, ROVE_FAULT_LOCAL_LEN);
}

/* Nothing of an earlier WQE in the same place may show. */
TEST(refused_leaves_nothing)
{
	setup(&rc);
	slot->num = 4;
	sge()->length = 5;
	CHECK(takes(&rc));
	slot->opcode = 200;
	slot->flags = 0xff;
	CHECK(!takes(&rc));
	CHECK_EQ(wqe->sqe.opcode, ROVE_WR_SEND);
	CHECK_EQ(wqe->sqe.flags, ROVE_WR_SIGNALED);
}

static void check_recv(u32 num, u32 reserved, const u32 *length, bool ok)
{
	u32 stride = rove_wqe_rq_stride(4), i;
	struct rove_rqe *rslot = calloc(1, stride);
	struct rove_sge *sges = (struct rove_sge *)(rslot + 1);
	struct rove_rwqe *r = malloc(sizeof(*r) + 4 * sizeof(struct rove_sge));
	u64 sum = 0;

	memset(r, 0x5a, sizeof(*r));
	rslot->wr_id = 0xabcdef0123456789;
	rslot->num = num;
	rslot->reserved_60 = reserved;
	for (i = 0; i < 4; i++) {
		sges[i].length = length[i];
		sges[i].lkey = i;
		if (i < num)
			sum += length[i];
	}
	CHECK_EQ(rove_wqe_read_recv(r, rslot, 4), ok ? ROVE_FAULT_NONE : ROVE_FAULT_WQE);
	CHECK_EQ(r->wr_id, rslot->wr_id);
	CHECK_EQ(r->num, ok ? num : 0);
	CHECK_EQ(r->length, ok ? min_t(u64, sum, ROVE_MAX_MSG) : 0);
	if (ok)
		CHECK_MEM(r->sge, sges, num * sizeof(*sges));
	free(rslot);
	free(r);
}

TEST(receive)
{
	static const u32 small[] = { 1, 20, 300, 4000 };
	static const u32 edge[] = { 0x7fffffff, 1, 0, 1 };
	static const u32 huge[] = { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff };
	static const u32 wraps[] = { 0x80000000, 0x80000000, 5, 0 };
	u32 num;

	for (num = 0; num < 300; num++) {
		check_recv(num, 0, small, num <= 4);
		check_recv(num, 1, small, false);
		check_recv(num, 0, edge, num <= 4);
		check_recv(num, 0, huge, num <= 4);
		check_recv(num, 0, wraps, num <= 4);
	}
	for (num = 5; num; num <<= 1)
		check_recv(num, 0, small, false);
	check_recv(0x80000000, 0, small, false);
	check_recv(0x10000001, 0, small, false);	/* * 16 is 16 in 32 bits */
	check_recv(0xffffffff, 0, small, false);
	check_recv(1, 0x80000000, small, false);
}
