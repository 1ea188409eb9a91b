// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What came too early, as obj/keep.c has it. */
#include "scale.h"
#include "wire/psn.h"

void keep_packet(struct flow *f, const struct rove_pkt *pkt, const struct content *content)
{
	u32 i = f->kept_num;

	if (f->kept_num == f->s->conf.keep)
		return;
	while (i && rove_psn_diff(f->kept[i - 1].pkt.psn, pkt->psn) > 0)
		i--;
	if (i && f->kept[i - 1].pkt.psn == pkt->psn)
		return;
	memmove(f->kept + i + 1, f->kept + i, (f->kept_num++ - i) * sizeof(*f->kept));
	f->kept[i] = (struct kept){ *pkt, *content };
}

bool keep_take(struct flow *f, struct kept *k)
{
	s32 early;

	while (f->kept_num) {
		early = rove_resp_kept(&f->resp, f->kept[0].pkt.psn);
		if (early > 0)
			break;
		*k = f->kept[0];
		memmove(f->kept, f->kept + 1, --f->kept_num * sizeof(*f->kept));
		if (!early)
			return true;
	}
	return false;
}
