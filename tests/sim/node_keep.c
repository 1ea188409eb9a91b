// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What came too early, as obj/keep.c has it. */
#include "sim.h"
#include "wire/psn.h"

void keep_packet(struct node *n, u32 psn, const u8 *bytes, u32 len)
{
	struct kept *k;
	u32 i;

	if (n->kept_num == MAX_KEPT || sim_chance(n->world, n->world->unkept))
		return;
	for (i = n->kept_num; i && rove_psn_diff(n->kept[i - 1]->psn, psn) > 0; i--)
		;
	if (i && n->kept[i - 1]->psn == psn)
		return;
	trace(n, "  kept");
	k = malloc(sizeof(*k) + len);
	k->psn = psn;
	k->len = len;
	memcpy(k->bytes, bytes, len);
	memmove(n->kept + i + 1, n->kept + i, (n->kept_num++ - i) * sizeof(k));
	n->kept[i] = k;
}

static struct kept *take_first(struct node *n)
{
	struct kept *first = n->kept[0];

	memmove(n->kept, n->kept + 1, --n->kept_num * sizeof(first));
	return first;
}

struct kept *keep_take(struct node *n)
{
	struct kept *k;
	s32 early;

	while (n->kept_num) {
		early = rove_resp_kept(&n->resp, n->kept[0]->psn);
		if (early > 0)
			break;
		k = take_first(n);
		if (!early)
			return k;
		free(k);
	}
	return NULL;
}

void keep_forget(struct node *n)
{
	while (n->kept_num)
		free(take_first(n));
}
