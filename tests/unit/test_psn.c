// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "unit.h"
#include "wire/psn.h"

static const u32 places[] = {
	0, 1, 2, 0x400000, 0x7ffffe, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff
};

TEST(add_stays_on_the_circle)
{
	CHECK_EQ(rove_psn_add(0xffffff, 0), 0xffffff);
	CHECK_EQ(rove_psn_add(0xffffff, 1), 0);
	CHECK_EQ(rove_psn_add(0xfffffe, 5), 3);
	CHECK_EQ(rove_psn_add(0, 0xffffff), 0xffffff);
	CHECK_EQ(rove_psn_add(5, (u32)-6), 0xffffff);
	CHECK_EQ(rove_psn_add(0x800000, 0x800000), 0);
}

/* The whole circle from each of the places where a sign or a carry may go wrong. */
TEST(diff_is_the_shortest_way)
{
	s32 d;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		for (d = -0x800000; d < 0x800000; d++)
			if (rove_psn_diff(rove_psn_add(places[i], d), places[i]) != d)
				unit_fail(__FILE__, __LINE__, "%#x + %d", places[i], d);
}

TEST(diff_changes_its_sign)
{
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (j = 0; j < ARRAY_SIZE(places); j++) {
			s32 d = rove_psn_diff(places[i], places[j]);

			/* halfway round is as far in both directions */
			if (d == -0x800000)
				CHECK_EQ(rove_psn_diff(places[j], places[i]), d);
			else
				CHECK_EQ(rove_psn_diff(places[j], places[i]), -d);
		}
	}
}
