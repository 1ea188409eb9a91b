// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mcast receive DEVICE GID-INDEX GROUP COUNT [QPS]: attaches QPS queue pairs (1) to
 * GROUP, says "ready", and waits until each has got COUNT datagrams, numbered from 0
 * on, each once; then for a while whether there come more.
 * mcast send DEVICE GID-INDEX GROUP COUNT: sends them.
 * mcast misuse DEVICE GID-INDEX GROUP: what must be refused.
 *
 * GROUP: an IPv6 address, that of an IPv4 group as ::ffff:239.1.1.1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QKEY	0x11111111
#define GRH	40
#define LENGTH	64
#define DEPTH	256
#define MAX_QPS	16

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t buf[MAX_QPS * DEPTH][GRH + LENGTH];
static union ibv_gid group;
static int gid_index;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die(name);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, MAX_QPS * DEPTH, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!cq || !mr)
		die("objects");
}

static struct ibv_qp *make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		die("QP");
	if (type != IBV_QPT_UD)
		return qp;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_QKEY))
		die("INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		die("RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS");
	return qp;
}

static void post_recv(struct ibv_qp *qp, int slot)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf[slot], .length = GRH + LENGTH,
			       .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int receive(unsigned int count, int num)
{
	struct ibv_qp *qps[MAX_QPS];
	unsigned int next[MAX_QPS] = {}, number, left = count * num;
	double end = now() + 30;
	struct ibv_wc wc;
	int i, k;

	for (i = 0; i < num; i++) {
		qps[i] = make_qp(IBV_QPT_UD);
		for (k = 0; k < DEPTH; k++)
			post_recv(qps[i], i * DEPTH + k);
		errno = ibv_attach_mcast(qps[i], &group, 0);
		if (errno)
			die("attach");
	}
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		if (now() > end) {
			if (left)
				fprintf(stderr, "%u datagrams are missing\n", left);
			break;
		}
		if (ibv_poll_cq(cq, 1, &wc) != 1) {
			usleep(200);
			continue;
		}
		i = wc.wr_id / DEPTH;
		memcpy(&number, buf[wc.wr_id] + GRH, sizeof(number));
		if (wc.status || wc.byte_len != GRH + LENGTH || wc.qp_num != qps[i]->qp_num ||
		    number != next[i]++ || buf[wc.wr_id][GRH + LENGTH - 1] != (uint8_t)number) {
			fprintf(stderr, "QP %d: status %d, %u bytes, number %u, wanted %u\n", i,
				wc.status, wc.byte_len, number, next[i] - 1);
			return 1;
		}
		post_recv(qps[i], wc.wr_id);
		if (!--left)
			end = now() + 0.3;
	}
	for (i = 0; i < num; i++) {
		/* The last one goes as it is when a program ends. */
		if (i != num - 1 && ibv_detach_mcast(qps[i], &group, 0)) {
			fprintf(stderr, "detach failed\n");
			return 1;
		}
	}
	return left != 0;
}

static int send_all(unsigned int count)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = group, .sgid_index = gid_index, .hop_limit = 8 },
	};
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	struct ibv_qp *qp = make_qp(IBV_QPT_UD);
	unsigned int i;

	if (!ah)
		die("AH");
	for (i = 0; i < count; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)buf[i % DEPTH], .length = LENGTH,
				       .lkey = mr->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = QKEY },
		}, *bad;
		struct ibv_wc wc;

		memset(buf[i % DEPTH], i, LENGTH);
		memcpy(buf[i % DEPTH], &i, sizeof(i));
		if (ibv_post_send(qp, &wr, &bad))
			die("post_send");
		while (!ibv_poll_cq(cq, 1, &wc))
			;
		if (wc.status) {
			fprintf(stderr, "status %d\n", wc.status);
			return 1;
		}
	}
	return 0;
}

static int misuse(void)
{
	struct ibv_qp *rc = make_qp(IBV_QPT_RC), *ud = make_qp(IBV_QPT_UD);
	union ibv_gid own;
	int bad = 0;

#define REFUSED(call) do {						\
	if (!(call)) {							\
		fprintf(stderr, "%s was accepted\n", #call);		\
		bad = 1;						\
	}								\
} while (0)

	if (ibv_query_gid(ctx, 1, gid_index, &own))
		die("GID");
	REFUSED(ibv_attach_mcast(rc, &group, 0));
	REFUSED(ibv_attach_mcast(ud, &own, 0));
	REFUSED(ibv_detach_mcast(ud, &group, 0));
	if (ibv_attach_mcast(ud, &group, 0) || ibv_attach_mcast(ud, &group, 0)) {
		fprintf(stderr, "attaching twice is the same as once\n");
		bad = 1;
	}
	if (ibv_detach_mcast(ud, &group, 0)) {
		fprintf(stderr, "detach failed\n");
		bad = 1;
	}
	REFUSED(ibv_detach_mcast(ud, &group, 0));
	return bad;
}

int main(int argc, char **argv)
{
	if (argc < 5 || inet_pton(AF_INET6, argv[4], &group) != 1) {
		fprintf(stderr, "usage: %s receive|send|misuse DEVICE GID-INDEX GROUP [COUNT [QPS]]\n",
			argv[0]);
		return 2;
	}
	gid_index = atoi(argv[3]);
	open_device(argv[2]);
	if (!strcmp(argv[1], "receive"))
		return receive(atoi(argv[5]), argc > 6 ? atoi(argv[6]) : 1);
	if (!strcmp(argv[1], "send"))
		return send_all(atoi(argv[5]));
	return misuse();
}
