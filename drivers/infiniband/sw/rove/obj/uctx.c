// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bitmap.h>
#include <linux/rcupdate.h>
#include "area.h"
#include "dev.h"
#include "engine.h"
#include "uctx.h"

static_assert(sizeof(struct rove_db_page) <= PAGE_SIZE);

int rove_uctx_init(struct rove_uctx *u, struct rove_dev *dev)
{
	u->mem = rove_area_alloc(sizeof(struct rove_db_page));
	if (!u->mem)
		return -ENOMEM;
	u->db = u->mem->addr;
	u->dev = dev;
	xa_init_flags(&u->slots, XA_FLAGS_ALLOC);
	rove_watch_init(u);
	rove_engine_add(dev->engine, u);
	return 0;
}

void rove_uctx_exit(struct rove_uctx *u)
{
	rove_engine_remove(u->dev->engine, u);
	rove_watch_exit(u);
	xa_destroy(&u->slots);
	rove_area_put(u->mem);
}

void rove_uctx_unring(struct rove_uctx *u, u32 slot)
{
	clear_bit(slot % 64, (unsigned long *)&u->db->rung[slot / 64]);
}

/* Rings again what was not run. */
static void put_back(struct rove_uctx *u, unsigned int word, unsigned long rung)
{
	unsigned int b;

	for_each_set_bit(b, &rung, 64)
		set_bit(b, (unsigned long *)&u->db->rung[word]);
	set_bit(word % 64, (unsigned long *)&u->db->summary[word / 64]);
}

/* Those of one word that are in @mask. False: stopped at *@at. *@rest: what stays rung. */
static bool visit_word(struct rove_uctx *u, unsigned int word, unsigned long mask,
		       unsigned int *at,
		       enum rove_rung (*visit)(struct rove_qp *qp, void *arg), void *arg,
		       unsigned long *rest)
{
	enum rove_rung what = ROVE_RUNG_DONE;
	unsigned long rung;
	unsigned int b;

	clear_bit(word % 64, (unsigned long *)&u->db->summary[word / 64]);
	*rest = xchg(&u->db->rung[word], 0);
	rung = *rest & mask;
	for_each_set_bit(b, &rung, 64) {
		rcu_read_lock();
		what = visit(xa_load(&u->slots, word * 64 + b), arg);
		rcu_read_unlock();
		if (what == ROVE_RUNG_STOP) {
			*at = word * 64 + b;
			break;
		}
		if (what == ROVE_RUNG_DONE)
			*rest &= ~BIT(b);
	}
	if (*rest)
		put_back(u, word, *rest);
	return what != ROVE_RUNG_STOP;
}

bool rove_uctx_rung(struct rove_uctx *u, unsigned int *at,
		    enum rove_rung (*visit)(struct rove_qp *qp, void *arg), void *arg)
{
	u64 summary[ARRAY_SIZE(u->db->summary)], any = 0;
	DECLARE_BITMAP(words, ROVE_DB_WORDS);
	unsigned int first = *at, word, s;
	unsigned long mask, rest;
	bool left = false;

	for (s = 0; s < ARRAY_SIZE(summary); s++) {
		summary[s] = READ_ONCE(u->db->summary[s]);
		any |= summary[s];
	}
	if (!any)
		return false;
	bitmap_from_arr64(words, summary, ROVE_DB_WORDS);
	/* The first word's are the first ones, and what comes before them there the last. */
	for_each_set_bit_wrap(word, words, ROVE_DB_WORDS, first / 64) {
		mask = word == first / 64 ? ~0UL << first % 64 : ~0UL;
		if (!visit_word(u, word, mask, at, visit, arg, &rest))
			return true;
		left |= rest & mask;
	}
	if (first % 64 && test_bit(first / 64, words)) {
		visit_word(u, first / 64, ~(~0UL << first % 64), at, visit, arg, &rest);
		left |= rest;
	}
	return left;
}
