// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/workqueue.h>
#include "../mem/mr.h"
#include "absent.h"
#include "run.h"

static struct workqueue_struct *fetchers;

/* May sleep for as long as a disk takes. */
static void fetch(struct work_struct *work)
{
	struct rove_half *h = container_of(work, struct rove_half, fetch);

	h->fetch_err = rove_odp_fetch(&h->absent);
	rove_mr_put(h->absent.mr);
	smp_mb();	/* whoever finds that it is fetched, finds what came of it */
	rove_run_fetched(h->qp, h);
}

/* Is it what was asked for in vain just now? */
static bool is_refused(const struct rove_half *h, const struct rove_absent *a)
{
	const struct rove_absent *r = &h->refused;

	return r->key == a->key && r->start == a->start && r->len == a->len && r->write == a->write;
}

enum rove_fault rove_absent_pause(struct rove_half *h, struct rove_absent *a,
				  enum rove_fault otherwise)
{
	if (is_refused(h, a)) {
		h->refused.key = 0;
		rove_mr_put(a->mr);
		return otherwise;
	}
	h->refused.key = 0;
	h->paused = true;
	if (h->fetching) {
		/* For what was forgotten; when it comes to its end this is found again. */
		rove_mr_put(a->mr);
		return ROVE_FAULT_PAGE;
	}
	h->fetching = true;
	h->absent = *a;
	queue_work(fetchers, &h->fetch);
	return ROVE_FAULT_PAGE;
}

void rove_absent_fetched(struct rove_half *h)
{
	if (h->fetch_err) {
		/* Not asked for a second time, if it is what is done first now. */
		h->refused = h->absent;
		h->fetch_err = 0;
	}
	h->fetching = false;
	h->paused = false;
}

void rove_absent_cancel(struct rove_half *h)
{
	if (cancel_work_sync(&h->fetch))
		rove_mr_put(h->absent.mr);
}

void rove_absent_init_half(struct rove_half *h, struct rove_qp *qp)
{
	h->qp = qp;
	INIT_WORK(&h->fetch, fetch);
}

int rove_absent_init(void)
{
	fetchers = alloc_workqueue("rove_pages", WQ_UNBOUND, 0);
	return fetchers ? 0 : -ENOMEM;
}

void rove_absent_exit(void)
{
	destroy_workqueue(fetchers);
}
