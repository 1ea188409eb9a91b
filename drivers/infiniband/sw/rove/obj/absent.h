/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Halves that wait for pages. Work that finds a page missing pauses its half: what
 * comes in is kept, nothing is sent. A thread fetches the page and runs the half again,
 * which begins with what it could not do.
 *
 * The owner of the half calls, BH off, but where something else is said.
 */
#ifndef ROVE_OBJ_ABSENT_H
#define ROVE_OBJ_ABSENT_H

#include "../proto/fault.h"
#include "qp.h"

/**
 * rove_absent_pause() - pages are missing
 * @a: what is missing, with its reference, which is taken over
 * @otherwise: what it means if they cannot be had
 *
 * Return: ROVE_FAULT_PAGE: the half is paused; or @otherwise: it was tried in vain.
 */
enum rove_fault rove_absent_pause(struct rove_half *h, struct rove_absent *a,
				  enum rove_fault otherwise);

/* ROVE_WORK_PAGES. */
void rove_absent_fetched(struct rove_half *h);

/* The QP does not go on with what it did: RESET, ERR. */
static inline void rove_absent_forget(struct rove_half *h)
{
	if (unlikely(h->paused)) {
		h->paused = false;
		/* What was kept is looked at, and dropped. */
		set_bit(ROVE_WORK_MORE, &h->work);
	}
}

/* Nothing is fetched any more. Both halves are owned for good. Sleeps. */
void rove_absent_cancel(struct rove_half *h);

void rove_absent_init_half(struct rove_half *h, struct rove_qp *qp);

int rove_absent_init(void);
void rove_absent_exit(void);

#endif /* ROVE_OBJ_ABSENT_H */
