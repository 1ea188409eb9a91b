// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>

#include "fake.h"
#include "unit.h"

static struct ibv_context *ctx;
static struct ibv_cq *cq;

static void setup(void)
{
	ctx = fake_open();
	cq = fake_create_cq(ctx, 16);
}

static void teardown(void)
{
	fake.ops.destroy_cq(cq);
	fake_close(ctx);
}

static const struct rove_sqe *slot(struct ibv_qp *qp, uint32_t index)
{
	return rove_ring_slot(&to_rove_qp(qp)->sq.ring, index);
}

/* Both ways of posting name the SRQ, in the same place for each operation. */
TEST(requests_name_an_srq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .qp_type.xrc.remote_srqn = 0x11 };
	struct ibv_send_wr *bad_wr;
	struct ibv_qp_ex *qpx;
	struct ibv_qp *qp;

	setup();
	qp = fake_create_qp(ctx, IBV_QPT_XRC_SEND, cq, NULL, 16, true);
	CHECK(qp);
	qp->state = IBV_QPS_RTS;
	CHECK_EQ(fake.ops.post_send(qp, &wr, &bad_wr), 0);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.qp_type.xrc.remote_srqn = 0x12;
	CHECK_EQ(fake.ops.post_send(qp, &wr, &bad_wr), 0);
	CHECK_EQ(slot(qp, 0)->rdma.srqn, 0x11);
	CHECK_EQ(slot(qp, 1)->atomic.srqn, 0x12);

	qpx = &to_rove_qp(qp)->vqp.qp_ex;
	qpx->wr_start(qpx);
	qpx->wr_rdma_write(qpx, 1, 2);
	qpx->wr_set_xrc_srqn(qpx, 0x13);
	qpx->wr_set_sge(qpx, 0, 0, 0);
	CHECK_EQ(qpx->wr_complete(qpx), 0);
	CHECK_EQ(slot(qp, 2)->rdma.srqn, 0x13);

	/* Without one it is not whole. */
	qpx->wr_start(qpx);
	qpx->wr_send(qpx);
	qpx->wr_set_sge(qpx, 0, 0, 0);
	CHECK_EQ(qpx->wr_complete(qpx), EINVAL);
	fake.ops.destroy_qp(qp);
	teardown();
}

/* The target is a handle: nothing is mapped, nothing can be posted. */
TEST(target)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_xrcd_init_attr xattr = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad_wr;
	struct ibv_recv_wr rwr = {}, *bad_rwr;
	struct ibv_qp *qp;

	setup();
	attr.xrcd = fake.ops.open_xrcd(ctx, &xattr);
	qp = fake.ops.create_qp_ex(ctx, &attr);
	CHECK(qp);
	qp->state = IBV_QPS_RTS;
	CHECK_EQ(fake.ops.post_send(qp, &wr, &bad_wr), EINVAL);
	CHECK_EQ(fake.ops.post_recv(qp, &rwr, &bad_rwr), EINVAL);
	CHECK_EQ(fake_modify_qp(qp, IBV_QPS_ERR), 0);
	fake.ops.destroy_qp(qp);
	fake.ops.close_xrcd(attr.xrcd);
	teardown();
}
