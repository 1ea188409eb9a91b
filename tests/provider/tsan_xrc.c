// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions of an XRC target name a QP that is no QP of this context. One thread polls
 * them; another one creates and destroys QPs whose numbers lie beside the target's.
 */
#include <sched.h>
#include <unistd.h>

#include "fake.h"
#include "unit.h"

#define TARGET		0x5000	/* another process has made it */
#define ROUNDS		2000
#define ENTRIES		64

static struct ibv_context *ctx;
static struct ibv_cq *cq, *other;
static struct rove_cq_ring ring;
static bool stop;

static void *creator(void *arg)
{
	struct rove_cqe cqe = { .qpn = TARGET, .flags = ROVE_CQE_RECV };
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		fake.next_qpn = TARGET + 1;
		qp = fake_create_qp(ctx, IBV_QPT_RC, other, other, 4, false);
		while (!rove_cq_ring_put(&ring, &cqe))
			sched_yield();
		fake.ops.destroy_qp(qp);
	}
	WRITE_ONCE(stop, true);
	return NULL;
}

TEST(numbers_of_others)
{
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ibv_xrcd_init_attr xattr = {};
	int n, polled = 0, bad = 0;
	struct ibv_srq *srq;
	struct ibv_wc wc;
	pthread_t thread;

	alarm(400);
	ctx = fake_open();
	fake.next_slot = ROVE_DB_NO_SLOT;
	cq = fake_create_cq(ctx, ENTRIES);
	other = fake_create_cq(ctx, ENTRIES);
	ring = fake_cq_ring(cq);
	attr.xrcd = fake.ops.open_xrcd(ctx, &xattr);
	attr.cq = cq;
	srq = fake.ops.create_srq_ex(ctx, &attr);
	CHECK(srq);

	pthread_create(&thread, NULL, creator, NULL);
	while (!READ_ONCE(stop) || polled < ROUNDS) {
		n = fake.ops.poll_cq(cq, 1, &wc);
		if (!n)
			sched_yield();
		else if (wc.qp_num != TARGET || wc.opcode != IBV_WC_RECV)
			bad++;
		polled += n;
	}
	pthread_join(thread, NULL);
	CHECK_EQ(polled, ROUNDS);
	CHECK_EQ(bad, 0);

	fake.ops.destroy_srq(srq);
	fake.ops.close_xrcd(attr.xrcd);
	fake.ops.destroy_cq(other);
	fake.ops.destroy_cq(cq);
	fake_close(ctx);
}
