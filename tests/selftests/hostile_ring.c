// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program that scribbles over what it shares with the module.
 *
 * Makes two queue pairs that are connected to each other, and posts and polls as usual, while a
 * second thread writes into all writable mappings of uverbs devices: bits flipped, small numbers,
 * huge numbers. This process may crash, lose its connection, or see nonsense; the kernel may not
 * mind. Several such processes run one after the other, since few live long.
 *
 * With -d it is the doorbell page only, where it says who is to be called, and what is rung;
 * and more threads make the system call of who polls in vain as fast as they can, past the
 * provider, while queue pairs and the completion queues that they name come and go. Half of
 * these processes are killed somewhere in the midst of it.
 *
 * usage: hostile_ring [-d] DEVICE GID-INDEX SECONDS SEED
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#define MAPPINGS	64
#define POLLERS		2
#define BUFFER		65536
#define DEPTH		64

struct mapping {
	uint32_t *start;
	size_t words;
};

/* At the start of what is mapped: struct rove_db_page. */
struct doorbells {
	uint32_t need_wakeup;
	uint32_t reserved[7];
	uint64_t summary[8];
	uint64_t rung[500];
};

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
};

static struct mapping mappings[MAPPINGS];
static int n_mappings;
static int doorbells_only;
static int command_fd;
static volatile uint32_t handles[2];	/* of the CQs, as the kernel knows them */
static volatile int stop;

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* All that this process has mapped of the devices and may write. */
static void find_mappings(void)
{
	unsigned long from, to, offset;
	char line[512], rights[8];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && n_mappings < MAPPINGS && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "uverbs") ||
		    sscanf(line, "%lx-%lx %7s %lx", &from, &to, rights, &offset) != 4 ||
		    rights[1] != 'w' || (doorbells_only && offset))
			continue;
		mappings[n_mappings].start = (uint32_t *)from;
		mappings[n_mappings++].words = (to - from) / sizeof(uint32_t);
	}
	if (maps)
		fclose(maps);
}

static void scribble(uint64_t *state)
{
	const struct mapping *m = &mappings[next(state) % n_mappings];
	/* Heads and tails lie at the start: there more often. */
	size_t range = next(state) & 1 ? m->words : m->words < 128 ? m->words : 128;
	volatile uint32_t *word = m->start + next(state) % range;

	switch (next(state) % 4) {
	case 0:
		*word ^= 1U << (next(state) & 31);
		break;
	case 1:
		*word = next(state) & 255;
		break;
	case 2:
		*word = ~(next(state) & 255);
		break;
	case 3:
		*word = next(state);
		break;
	}
}

/* What is likely, and now and then what is not. */
static void scribble_doorbells(uint64_t *state)
{
	volatile struct doorbells *db = (void *)mappings[0].start;
	uint64_t bits = next(state) & next(state);

	switch (next(state) % 8) {
	case 0:
		db->need_wakeup = next(state);
		break;
	case 1:
		db->rung[next(state) % 500] = bits;
		break;
	case 2:
		db->rung[0] = bits;
		break;
	case 3:
		db->summary[next(state) % 8] = bits;
		break;
	case 4:
		db->summary[0] |= 1;
		break;
	default:
		db->need_wakeup = next(state) % 3;
	}
}

/* ibv_cmd_poll_cq() that looks at nothing before and after. */
static void poll_by_call(uint32_t handle)
{
	char resp[sizeof(struct ib_uverbs_poll_cq_resp) + sizeof(struct ib_uverbs_wc)];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_poll_cq core;
	} cmd = {
		.hdr = { .command = IB_USER_VERBS_CMD_POLL_CQ, .in_words = sizeof(cmd) / 4,
			 .out_words = sizeof(resp) / 4 },
		.core = { .response = (uintptr_t)resp, .cq_handle = handle, .ne = 1 },
	};

	/* It may say that there is no such CQ, or that it was for nothing. */
	if (write(command_fd, &cmd, sizeof(cmd)) < 0)
		return;
}

static void *poller(void *arg)
{
	uint64_t state = *(uint64_t *)arg;

	while (!stop)
		poll_by_call(handles[next(&state) & 1]);
	return NULL;
}

static void *scribbler(void *arg)
{
	uint64_t state = *(uint64_t *)arg;

	while (!stop) {
		if (doorbells_only)
			scribble_doorbells(&state);
		else
			scribble(&state);
		if (!(next(&state) & 63))
			sched_yield();
	}
	return NULL;
}

static int make_end(struct ibv_context *ctx, struct ibv_pd *pd, struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 64 },
	};

	end->cq = ibv_create_cq(ctx, 2 * DEPTH, NULL, NULL, 0);
	if (!end->cq)
		return -1;
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(pd, &init);
	return end->qp ? 0 : -1;
}

static int connect_end(struct ibv_context *ctx, struct ibv_qp *qp, uint32_t peer, int gid_index)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = peer;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	if (ibv_query_gid(ctx, 1, gid_index, &attr.ah_attr.grh.dgid) ||
	    ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 10;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Some request or other; the provider may refuse it. */
static void post(struct ibv_qp *qp, struct ibv_mr *mr, char *buffer, uint64_t *state)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct ibv_sge sge = { (uintptr_t)buffer, next(state) % 8192, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
		.opcode = opcodes[next(state) % 5], .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = (uintptr_t)buffer;
		wr.wr.atomic.rkey = mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)buffer;
		wr.wr.rdma.rkey = mr->rkey;
	}
	ibv_post_send(qp, &wr, &bad);
}

/* Destroyed, made again and connected; a CQ that is being polled may be refused. */
static int renew(struct ibv_context *ctx, struct ibv_pd *pd, struct end *ends, int gid_index)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (ibv_destroy_qp(ends[i].qp))
			return -1;
		while (ibv_destroy_cq(ends[i].cq))
			sched_yield();
		if (make_end(ctx, pd, &ends[i]))
			return -1;
		handles[i] = ends[i].cq->handle;
	}
	return connect_end(ctx, ends[0].qp, ends[1].qp->qp_num, gid_index) ||
	       connect_end(ctx, ends[1].qp, ends[0].qp->qp_num, gid_index);
}

static void receive(struct ibv_qp *qp, struct ibv_mr *mr, char *buffer)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 8192, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_recv(qp, &wr, &bad);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	return ctx;
}

/* The life of one process; 2 if it could not even begin. */
static int one_life(const char *name, int gid_index, int seconds, uint64_t seed)
{
	struct ibv_context *ctx = open_device(name);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	char *buffer = aligned_alloc(4096, BUFFER);
	time_t end = time(NULL) + seconds;
	struct end ends[2];
	struct ibv_wc wc[16];
	pthread_t threads[1 + POLLERS];
	struct ibv_mr *mr;
	int n = 0, i;

	if (!pd || !buffer || make_end(ctx, pd, &ends[0]) || make_end(ctx, pd, &ends[1]))
		return 2;
	mr = ibv_reg_mr(pd, buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr || connect_end(ctx, ends[0].qp, ends[1].qp->qp_num, gid_index) ||
	    connect_end(ctx, ends[1].qp, ends[0].qp->qp_num, gid_index))
		return 2;
	find_mappings();
	if (!n_mappings || pthread_create(&threads[n++], NULL, scribbler, &seed))
		return 2;
	command_fd = ctx->cmd_fd;
	for (i = 0; i < 2; i++)
		handles[i] = ends[i].cq->handle;
	for (i = 0; doorbells_only && i < POLLERS; i++)
		if (pthread_create(&threads[n++], NULL, poller, &seed))
			return 2;
	while (time(NULL) < end) {
		struct end *e = &ends[next(&seed) & 1];

		if (doorbells_only && !(next(&seed) & 127) && renew(ctx, pd, ends, gid_index))
			return 1;
		receive(e->qp, mr, buffer);
		post(e->qp, mr, buffer, &seed);
		ibv_poll_cq(e->cq, 16, wc);
		if (!(next(&seed) & 15))
			ibv_req_notify_cq(e->cq, 0);
	}
	/* Even lives end in order, odd ones as if killed. */
	stop = 1;
	while (n)
		pthread_join(threads[--n], NULL);
	if (seed & 1)
		_exit(0);
	ibv_destroy_qp(ends[0].qp);
	ibv_destroy_qp(ends[1].qp);
	return 0;
}

int main(int argc, char **argv)
{
	int crashed = 0, ended = 0, i, seconds, status;
	uint64_t seed;
	time_t end;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "-d")) {
		doorbells_only = 1;
		argv++;
		argc--;
	}
	if (argc != 5) {
		fprintf(stderr, "usage: hostile_ring [-d] DEVICE GID-INDEX SECONDS SEED\n");
		return 2;
	}
	seconds = atoi(argv[3]);
	seed = strtoull(argv[4], NULL, 0);
	end = time(NULL) + seconds;
	for (i = 0; time(NULL) < end; i++) {
		pid = fork();
		if (pid < 0)
			return 2;
		if (!pid) {
			/* A poll that never ends is this process's own affair. */
			alarm(5);
			_exit(one_life(argv[1], atoi(argv[2]), 1, (seed + i) * 0x9e3779b97f4a7c15ULL | 1));
		}
		if (doorbells_only && i & 1) {
			usleep(200000 + (seed + i) * 7919 % 800000);
			kill(pid, SIGKILL);
		}
		if (waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
			fprintf(stderr, "life %d could not begin: %s\n", i, strerror(errno));
			return 1;
		}
		if (WIFSIGNALED(status))
			crashed++;
		else
			ended++;
	}
	printf("%d lives, %d ended by a signal, %d by themselves\n", i, crashed, ended);
	return 0;
}
