// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Nothing that was posted lies about.
 *
 * Threads of one process, which share a doorbell page, have some queue pairs each, with
 * both ends here. In each round each of them posts to some of its own, one WRITE to each or
 * a few, waits until all are done, and then leaves the module alone until all others have
 * come so far: neither a call nor a poll of theirs makes up for one that was forgotten. One
 * waits by polling, one by events, one looks at memory only, another each round.
 *
 * usage: wakeups [-T THREADS] [-q QPS] [-t SECONDS] [-s SEED] -g GID -G GID DEV1 DEV2
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define BURST		6
/* A request that takes longer was forgotten, s. */
#define FORGOTTEN	20

enum wait { POLL, EVENT, MEMORY, WAITS };

static const char *const wait_names[WAITS] = { "polling", "an event", "memory" };

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	union ibv_gid gid;
	int gid_index;
};

struct thread {
	pthread_t id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2];
	struct ibv_qp **qps[2];
	uint64_t *count;		/* of the last WRITE of each QP */
	uint32_t *signaled;		/* completions that are to come for it */
	uint64_t posts;
	uint64_t state;
	unsigned int first;		/* of its words in memory */
};

static unsigned int n_threads = 3, n_qps = 12, seconds = 5;
static uint64_t seed = 1;
static struct end ends[2];
static volatile uint64_t *memory;	/* a word for each QP, which it writes */
static struct thread *threads;
static pthread_barrier_t barrier;
static int stop;

static void die(const char *what)
{
	fprintf(stderr, "wakeups: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void open_end(struct end *end, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			end->ctx = ibv_open_device(list[i]);
	if (!end->ctx)
		die(name);
	end->pd = ibv_alloc_pd(end->ctx);
	if (!end->pd || ibv_query_gid(end->ctx, 1, end->gid_index, &end->gid))
		die("ibv_query_gid");
	end->mr = ibv_reg_mr(end->pd, (void *)memory, n_threads * n_qps * sizeof(*memory),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!end->mr)
		die("ibv_reg_mr");
}

static void connect_qp(const struct end *end, struct ibv_qp *qp, const struct end *peer,
		       uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		die("to INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qpn;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = end->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.grh.dgid = peer->gid;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		die("to RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("to RTS");
}

static void make_thread(struct thread *t, unsigned int n)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * BURST, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = sizeof(uint64_t) } };
	unsigned int e, i;

	t->first = n * n_qps;
	t->state = (seed * 64 + n + 1) * 0x9e3779b97f4a7c15ULL;
	t->count = calloc(n_qps, sizeof(*t->count));
	t->signaled = calloc(n_qps, sizeof(*t->signaled));
	t->channel = ibv_create_comp_channel(ends[0].ctx);
	if (!t->channel)
		die("ibv_create_comp_channel");
	for (e = 0; e < 2; e++) {
		t->cq[e] = ibv_create_cq(ends[e].ctx, 2 * BURST * n_qps, NULL,
					 e ? NULL : t->channel, 0);
		if (!t->cq[e])
			die("ibv_create_cq");
		init.send_cq = init.recv_cq = t->cq[e];
		t->qps[e] = calloc(n_qps, sizeof(*t->qps[e]));
		for (i = 0; i < n_qps; i++) {
			t->qps[e][i] = ibv_create_qp(ends[e].pd, &init);
			if (!t->qps[e][i])
				die("ibv_create_qp");
		}
	}
	for (i = 0; i < n_qps; i++)
		for (e = 0; e < 2; e++)
			connect_qp(&ends[e], t->qps[e][i], &ends[!e], t->qps[!e][i]->qp_num);
}

static void post(struct thread *t, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)&t->count[i], sizeof(*t->count), 0 };
	struct ibv_send_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)&memory[t->first + i];
	wr.wr.rdma.rkey = ends[1].mr->rkey;
	t->count[i]++;
	errno = ibv_post_send(t->qps[0][i], &wr, &bad);
	if (errno)
		die("ibv_post_send");
	t->signaled[i]++;
	t->posts++;
}

/* Takes what is there, to the last one. */
static int all_complete(struct thread *t)
{
	struct ibv_wc wc[16];
	unsigned int i;
	int got, k;

	while ((got = ibv_poll_cq(t->cq[0], 16, wc)) > 0) {
		for (k = 0; k < got; k++) {
			if (wc[k].status) {
				fprintf(stderr, "wakeups: %s\n", ibv_wc_status_str(wc[k].status));
				exit(1);
			}
			t->signaled[wc[k].wr_id]--;
		}
	}
	if (got < 0)
		die("ibv_poll_cq");
	for (i = 0; i < n_qps; i++)
		if (t->signaled[i])
			return 0;
	return 1;
}

static int all_written(const struct thread *t)
{
	unsigned int i;

	for (i = 0; i < n_qps; i++)
		if (memory[t->first + i] != t->count[i])
			return 0;
	return 1;
}

/* As armed before it was posted; false: nothing came. */
static int events_bring_all(struct thread *t)
{
	struct pollfd fd = { .fd = t->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *unused;

	for (;;) {
		if (poll(&fd, 1, FORGOTTEN * 1000) != 1)
			return 0;
		if (ibv_get_cq_event(t->channel, &cq, &unused))
			die("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
		if (ibv_req_notify_cq(cq, 0))
			die("ibv_req_notify_cq");
		if (all_complete(t))
			return 1;
	}
}

static int done(struct thread *t, enum wait how)
{
	time_t end = time(NULL) + FORGOTTEN;

	if (how == EVENT)
		return events_bring_all(t);
	while (how == POLL ? !all_complete(t) : !all_written(t)) {
		if (time(NULL) > end)
			return 0;
		if (how == MEMORY)
			sched_yield();
	}
	return 1;
}

static void tell_forgotten(const struct thread *t, enum wait how)
{
	unsigned int i, n = 0;

	for (i = 0; i < n_qps; i++)
		n += memory[t->first + i] != t->count[i];
	fprintf(stderr, "wakeups: thread %td waits by %s: %u queue pairs have not written after %d s\n",
		t - threads, wait_names[how], n, FORGOTTEN);
	exit(1);
}

static void one_round(struct thread *t)
{
	enum wait how = next(&t->state) % WAITS;
	unsigned int some = 1 + next(&t->state) % n_qps, i, n;

	/* Completions of rounds that waited for memory are due. */
	if (!all_complete(t) && how != POLL)
		how = MEMORY;
	if (how == EVENT && ibv_req_notify_cq(t->cq[0], 0))
		die("ibv_req_notify_cq");
	for (i = 0; i < some; i++) {
		for (n = next(&t->state) % 4 ? 1 : BURST; n && t->signaled[i] < 2 * BURST; n--)
			post(t, i);
	}
	if (!done(t, how))
		tell_forgotten(t, how);
}

static void *run(void *arg)
{
	struct thread *t = arg;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
			return NULL;
		one_round(t);
		pthread_barrier_wait(&barrier);
	}
}

int main(int argc, char **argv)
{
	unsigned int i, rounds = 0;
	uint64_t posts = 0;
	time_t end;
	int opt;

	while ((opt = getopt(argc, argv, "T:q:t:s:g:G:")) != -1) {
		switch (opt) {
		case 'T':
			n_threads = atoi(optarg);
			break;
		case 'q':
			n_qps = atoi(optarg);
			break;
		case 't':
			seconds = atoi(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'g':
			ends[0].gid_index = atoi(optarg);
			break;
		case 'G':
			ends[1].gid_index = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2 || !n_threads || !n_qps) {
		fprintf(stderr, "usage: see wakeups.c\n");
		return 2;
	}
	threads = calloc(n_threads, sizeof(*threads));
	memory = calloc(n_threads * n_qps, sizeof(*memory));
	for (i = 0; i < 2; i++)
		open_end(&ends[i], argv[optind + i]);
	for (i = 0; i < n_threads; i++)
		make_thread(&threads[i], i);
	pthread_barrier_init(&barrier, NULL, n_threads + 1);
	for (i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			die("pthread_create");
	end = time(NULL) + seconds;
	while (time(NULL) < end) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		rounds++;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < n_threads; i++) {
		pthread_join(threads[i].id, NULL);
		posts += threads[i].posts;
	}
	printf("%llu posts in %u rounds\n", (unsigned long long)posts, rounds);
	return 0;
}
