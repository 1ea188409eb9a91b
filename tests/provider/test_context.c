// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Contexts and creation: versions that do not fit, answers that make no sense. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake.h"
#include "unit.h"

/* What fake_open() says on stderr, and whether it works. */
static bool open_says(char *text, size_t size)
{
	int pipe_fd[2], old = dup(STDERR_FILENO);
	struct ibv_context *ctx;
	ssize_t n;
	int err;

	CHECK_EQ(pipe(pipe_fd), 0);
	dup2(pipe_fd[1], STDERR_FILENO);
	ctx = fake_open();
	err = errno;
	fflush(stderr);
	dup2(old, STDERR_FILENO);
	close(old);
	close(pipe_fd[1]);
	n = read(pipe_fd[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(pipe_fd[0]);
	if (ctx)
		fake_close(ctx);
	errno = err;
	return ctx;
}

TEST(opens)
{
	char text[512];

	CHECK(open_says(text, sizeof(text)));
	CHECK_EQ(text[0], 0);
	CHECK_EQ(fake.areas, 1);
}

TEST(module_of_another_abi)
{
	char text[512];

	fake.context_err = EPROTONOSUPPORT;
	CHECK(!open_says(text, sizeof(text)));
	CHECK_EQ(errno, EPROTONOSUPPORT);
	CHECK(strstr(text, "fake0") && strstr(text, "ABI 100"));
	fake.context_err = 0;

	fake.abi = ROVE_ABI_VERSION + 1;
	CHECK(!open_says(text, sizeof(text)));
	CHECK_EQ(errno, EPROTO);
	CHECK(strstr(text, "fake0") && strstr(text, "ABI 100"));
	fake.abi = 0;
}

TEST(other_errors_are_passed_on)
{
	char text[512];

	fake.context_err = EMFILE;
	CHECK(!open_says(text, sizeof(text)));
	CHECK_EQ(errno, EMFILE);
	CHECK_EQ(text[0], 0);
	fake.context_err = 0;
}

TEST(simple_objects)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_device_attr_ex attr;
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	pd = fake.ops.alloc_pd(ctx);
	mr = fake.ops.reg_mr(pd, NULL, 0, 0, 0);
	CHECK(pd && mr);
	CHECK_EQ(fake.ops.rereg_mr(verbs_get_mr(mr), 0, pd, NULL, 0, 0), 0);
	CHECK_EQ(fake.ops.dereg_mr(verbs_get_mr(mr)), 0);
	fake.create_err = EFAULT;
	CHECK(!fake.ops.reg_mr(pd, NULL, 0, 0, 0));
	CHECK_EQ(errno, EFAULT);
	errno = 0;
	CHECK(!fake.ops.alloc_pd(ctx));
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(fake.ops.dealloc_pd(pd), 0);

	CHECK_EQ(fake.ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)), 0);
	CHECK(!strcmp(attr.orig_attr.fw_ver, "1.2.3"));
	CHECK_EQ(fake.ops.query_rt_values(ctx, &values), 0);
	CHECK(values.raw_clock.tv_sec || values.raw_clock.tv_nsec);
	values.comp_mask = 2;
	CHECK_EQ(fake.ops.query_rt_values(ctx, &values), EINVAL);
	fake_close(ctx);
}

TEST(qp_limits_are_reported)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_cq *cq = fake_create_cq(ctx, 10);
	struct ibv_pd pd = { .context = ctx };
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 100, 50, 2, 3, 44 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp;

	CHECK_EQ(cq->cqe, 16);
	qp = fake.ops.create_qp(&pd, &attr);
	CHECK(qp);
	CHECK_EQ(attr.cap.max_send_wr, 128);
	CHECK_EQ(attr.cap.max_recv_wr, 64);
	CHECK_EQ(attr.cap.max_send_sge, 2);
	CHECK_EQ(attr.cap.max_recv_sge, 3);
	CHECK_EQ(attr.cap.max_inline_data, 44);
	fake.ops.destroy_qp(qp);
	fake.ops.destroy_cq(cq);
	fake_close(ctx);
}

static int create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = fake.ops.create_qp_ex(ctx, attr);

	if (!qp)
		return errno;
	fake.ops.destroy_qp(qp);
	return 0;
}

TEST(qps_that_cannot_be)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_cq *cq = fake_create_cq(ctx, 10);
	struct ibv_qp_init_attr_ex good = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 1, 1, 1, 1, 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	}, attr;
	int areas = fake.areas;

	attr = good;
	CHECK_EQ(create_qp_ex(ctx, &attr), 0);
	attr = good;
	attr.recv_cq = NULL;
	CHECK_EQ(create_qp_ex(ctx, &attr), EINVAL);
	attr = good;
	attr.send_cq = NULL;
	CHECK_EQ(create_qp_ex(ctx, &attr), EINVAL);
	attr = good;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	CHECK_EQ(create_qp_ex(ctx, &attr), EOPNOTSUPP);
	attr = good;
	attr.comp_mask |= IBV_QP_INIT_ATTR_RX_HASH;
	CHECK_EQ(create_qp_ex(ctx, &attr), EOPNOTSUPP);
	attr = good;
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	CHECK_EQ(create_qp_ex(ctx, &attr), 0);
	attr.create_flags = IBV_QP_CREATE_SOURCE_QPN;
	CHECK_EQ(create_qp_ex(ctx, &attr), EOPNOTSUPP);
	attr = good;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	CHECK_EQ(create_qp_ex(ctx, &attr), EOPNOTSUPP);
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	CHECK_EQ(create_qp_ex(ctx, &attr), 0);
	attr.qp_type = IBV_QPT_UD;
	CHECK_EQ(create_qp_ex(ctx, &attr), EOPNOTSUPP);
	fake.create_err = ENOMEM;
	attr = good;
	CHECK_EQ(create_qp_ex(ctx, &attr), ENOMEM);
	fake.create_err = 0;

	/* Queues that do not lie within their area: nothing is left behind. */
	fake.bad_offset = 4096;
	attr = good;
	CHECK_EQ(create_qp_ex(ctx, &attr), EPROTO);
	fake.bad_offset = 4;
	CHECK_EQ(create_qp_ex(ctx, &attr), EPROTO);
	fake.bad_offset = 0;
	fake.stride_extra = -16;
	CHECK_EQ(create_qp_ex(ctx, &attr), EPROTO);
	fake.stride_extra = 0;
	CHECK_EQ(fake.areas, areas);

	fake.ops.destroy_cq(cq);
	fake_close(ctx);
}
