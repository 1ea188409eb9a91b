// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "proto/fault.h"
#include "proto/pkey.h"
#include "unit.h"

/* enum ib_wc_status by number, once more. */
TEST(what_follows_from_a_fault)
{
	static const struct {
		u8 fault, status;
		s8 nak;
		u8 event;
		bool to_err;
	} want[] = {
		{ ROVE_FAULT_NONE, 0, -1, 0, false },
		{ ROVE_FAULT_WQE, 2, 3, 0, true },
		{ ROVE_FAULT_LOCAL_PROT, 4, 3, 0, true },
		{ ROVE_FAULT_LOCAL_LEN, 1, 1, 0, true },
		{ ROVE_FAULT_FLUSH, 5, -1, 0, false },
		{ ROVE_FAULT_BAD_RESPONSE, 7, -1, 0, true },
		{ ROVE_FAULT_RETRY, 12, -1, 0, true },
		{ ROVE_FAULT_RNR_RETRY, 13, -1, 0, true },
		{ ROVE_FAULT_MEMORY_OP, 6, -1, 0, true },
		{ ROVE_FAULT_PEER_INVALID, 9, -1, 0, true },
		{ ROVE_FAULT_PEER_ACCESS, 10, -1, 0, true },
		{ ROVE_FAULT_PEER_OP, 11, -1, 0, true },
		{ ROVE_FAULT_REQ_INVALID, 9, 1, ROVE_QPE_REQ_ERR, true },
		{ ROVE_FAULT_REQ_ACCESS, 8, 2, ROVE_QPE_ACCESS_ERR, true },
		{ ROVE_FAULT_REQ_OP, 2, 3, ROVE_QPE_FATAL, true },
		{ ROVE_FAULT_PAGE, 4, 3, 0, true },
	};
	u32 i;

	CHECK_EQ(ARRAY_SIZE(want), ROVE_FAULTS);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		const struct rove_fault_info *info = rove_fault_info(want[i].fault);

		CHECK_EQ(want[i].fault, i);
		CHECK_EQ(info->status, want[i].status);
		CHECK_EQ(info->nak, want[i].nak);
		CHECK_EQ(info->event, want[i].event);
		CHECK_EQ(info->to_err, want[i].to_err);
	}
}

TEST(partitions)
{
	CHECK(rove_pkey_match(0xffff, 0xffff));
	CHECK(rove_pkey_match(0xffff, 0x7fff));
	CHECK(rove_pkey_match(0x7fff, 0xffff));
	CHECK(!rove_pkey_match(0x7fff, 0x7fff));
	CHECK(!rove_pkey_match(0xffff, 0xfffe));
	CHECK(!rove_pkey_match(0x8001, 0x0002));
	CHECK(!rove_pkey_match(0x8000, 0x8000));
	CHECK(!rove_pkey_match(0x0000, 0x8000));
}
