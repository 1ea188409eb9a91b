// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA WRITEs over many queue pairs at once, from one device to another, both
 * in this process. All queue pairs share one buffer at each end, so that more
 * of them touch no more memory.
 *
 *	many [-ex] [-q QPS] [-s BYTES] [-d DEPTH] [-b BUFFER] [-t SECONDS] -g GID DEV1 DEV2
 *	many -i QPS -g GID DEV1 DEV2
 *
 *	-e	wait for completions by events, not by polling
 *	-x	destroy the queue pairs in the midst of their work
 *	-i	measure nothing but the memory of so many idle queue pairs
 *
 * Prints "messages a second, those of the slowest queue pair, of the fastest
 * one"; with -i the bytes of kernel memory that a queue pair takes with all
 * that belongs to it (64 requests each way, one element, nothing inline).
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IDLE_DEPTH 64
#define POLL_BATCH 64
/* Each so many WRITEs of a queue pair are acknowledged by a completion. */
#define SIGNAL_EACH 4
/* The first queue pairs are alone until the others have something posted, too; s. */
#define WARM_UP 1

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	enum ibv_mtu mtu;
	char *buffer;
	struct ibv_qp **qps;
};

struct flow {
	uint64_t done;
	uint32_t posted;
	uint32_t offset;
};

static int gid_index;
static uint32_t qps = 1, bytes = 65536, depth = 128, seconds = 1;
static uint32_t buffer_bytes = 1 << 20;
static int events, cut_off;

static void die(const char *what)
{
	fprintf(stderr, "many: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **device;
	struct ibv_context *ctx = NULL;

	for (device = list; device && *device; device++) {
		if (!strcmp(ibv_get_device_name(*device), name))
			ctx = ibv_open_device(*device);
	}
	if (!ctx)
		die(name);
	ibv_free_device_list(list);
	return ctx;
}

static void open_end(struct end *end, const char *name, uint32_t entries)
{
	struct ibv_port_attr port;

	end->ctx = open_device(name);
	end->pd = ibv_alloc_pd(end->ctx);
	if (!end->pd || ibv_query_gid(end->ctx, 1, gid_index, &end->gid) ||
	    ibv_query_port(end->ctx, 1, &port))
		die("ibv_query_gid");
	end->mtu = port.active_mtu;
	end->channel = ibv_create_comp_channel(end->ctx);
	end->cq = ibv_create_cq(end->ctx, entries, NULL, end->channel, 0);
	if (!end->cq)
		die("ibv_create_cq");
	end->buffer = aligned_alloc(sysconf(_SC_PAGESIZE), buffer_bytes);
	if (!end->buffer)
		die("memory");
	memset(end->buffer, 0x5a, buffer_bytes);
	end->mr = ibv_reg_mr(end->pd, end->buffer, buffer_bytes,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!end->mr)
		die("ibv_reg_mr");
}

static void create_qps(struct end *end, uint32_t requests)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = requests,
			.max_recv_wr = requests,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	uint32_t i;

	end->qps = calloc(qps, sizeof(*end->qps));
	for (i = 0; i < qps; i++) {
		end->qps[i] = ibv_create_qp(end->pd, &attr);
		if (!end->qps[i])
			die("ibv_create_qp");
	}
}

static void connect_qp(const struct end *end, const struct end *peer, uint32_t i)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = end->mtu < peer->mtu ? end->mtu : peer->mtu,
		.dest_qp_num = peer->qps[i]->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = peer->gid,
				.sgid_index = gid_index,
				.hop_limit = 64,
			},
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 17,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	if (ibv_modify_qp(end->qps[i], &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS) ||
	    ibv_modify_qp(end->qps[i], &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER) ||
	    ibv_modify_qp(end->qps[i], &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("ibv_modify_qp");
}

static void close_end(struct end *end)
{
	uint32_t i;

	for (i = 0; i < qps; i++)
		ibv_destroy_qp(end->qps[i]);
	free(end->qps);
	ibv_dereg_mr(end->mr);
	free(end->buffer);
	ibv_destroy_cq(end->cq);
	ibv_destroy_comp_channel(end->channel);
	ibv_dealloc_pd(end->pd);
	ibv_close_device(end->ctx);
}

/* ------------------------------------------------------------------ traffic */

/* SIGNAL_EACH WRITEs in one list, the last one with a completion. */
static void post(struct end *from, const struct end *to, uint32_t i, struct flow *flow)
{
	struct ibv_send_wr wr[SIGNAL_EACH] = {}, *bad;
	struct ibv_sge sge[SIGNAL_EACH];
	uint32_t k;

	for (k = 0; k < SIGNAL_EACH; k++) {
		if (flow->offset + bytes > buffer_bytes)
			flow->offset = 0;
		sge[k].addr = (uintptr_t)from->buffer + flow->offset;
		sge[k].length = bytes;
		sge[k].lkey = from->mr->lkey;
		wr[k].wr_id = i;
		wr[k].next = k + 1 < SIGNAL_EACH ? &wr[k + 1] : NULL;
		wr[k].sg_list = &sge[k];
		wr[k].num_sge = 1;
		wr[k].opcode = IBV_WR_RDMA_WRITE;
		wr[k].send_flags = k + 1 == SIGNAL_EACH ? IBV_SEND_SIGNALED : 0;
		wr[k].wr.rdma.remote_addr = (uintptr_t)to->buffer + flow->offset;
		wr[k].wr.rdma.rkey = to->mr->rkey;
		flow->offset += bytes;
	}
	errno = ibv_post_send(from->qps[i], wr, &bad);
	if (errno)
		die("ibv_post_send");
	flow->posted += SIGNAL_EACH;
}

/* Completions, or none when the time is over; waits for an event if told so. */
static int completions(struct end *end, struct ibv_wc *wc, double until)
{
	struct ibv_cq *cq;
	void *unused;
	int got;

	for (;;) {
		got = ibv_poll_cq(end->cq, POLL_BATCH, wc);
		if (got || now() > until)
			break;
		if (!events)
			continue;
		if (ibv_req_notify_cq(end->cq, 0))
			die("ibv_req_notify_cq");
		got = ibv_poll_cq(end->cq, POLL_BATCH, wc);
		if (got)
			break;
		if (ibv_get_cq_event(end->channel, &cq, &unused))
			die("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	if (got < 0)
		die("ibv_poll_cq");
	return got;
}

static void take(const struct ibv_wc *wc, int got, struct flow *flows)
{
	int i;

	for (i = 0; i < got; i++) {
		if (wc[i].status) {
			fprintf(stderr, "many: %s\n", ibv_wc_status_str(wc[i].status));
			exit(1);
		}
		flows[wc[i].wr_id].posted -= SIGNAL_EACH;
		flows[wc[i].wr_id].done += SIGNAL_EACH;
	}
}

static void go_on(struct end *from, const struct end *to, struct flow *flows, double until)
{
	struct ibv_wc wc[POLL_BATCH];
	int got, k;

	while (now() < until) {
		got = completions(from, wc, until);
		take(wc, got, flows);
		for (k = 0; k < got; k++)
			post(from, to, wc[k].wr_id, &flows[wc[k].wr_id]);
	}
}

static void run(struct end *from, const struct end *to)
{
	struct flow *flows = calloc(qps, sizeof(*flows));
	uint64_t sum = 0, least = UINT64_MAX, most = 0;
	struct ibv_wc wc[POLL_BATCH];
	double begin, end;
	uint32_t i;
	int got;

	for (i = 0; i < qps; i++)
		flows[i].offset = (uint64_t)i * bytes % buffer_bytes;
	for (i = 0; i < qps; i++) {
		while (flows[i].posted + SIGNAL_EACH <= depth)
			post(from, to, i, &flows[i]);
	}
	go_on(from, to, flows, now() + WARM_UP);
	for (i = 0; i < qps; i++)
		flows[i].done = 0;
	begin = now();
	go_on(from, to, flows, begin + seconds);
	end = now();
	for (i = 0; i < qps; i++) {
		sum += flows[i].done;
		least = flows[i].done < least ? flows[i].done : least;
		most = flows[i].done > most ? flows[i].done : most;
	}
	/* All that was posted comes back before anything is destroyed. */
	for (i = 0; i < qps && !cut_off; i++) {
		while (flows[i].posted) {
			got = completions(from, wc, now() + 10);
			if (!got) {
				fprintf(stderr, "many: completions are missing\n");
				exit(1);
			}
			take(wc, got, flows);
		}
	}
	end -= begin;
	printf("%.1f %.1f %.1f\n", sum / end, least / end, most / end);
	free(flows);
}

/* Bytes of kernel memory in use: slab, vmalloc, per CPU. */
static double kernel_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	double sum = 0, kib;
	char name[64];

	if (!file)
		die("/proc/meminfo");
	while (fscanf(file, "%63s %lf%*[^\n]", name, &kib) == 2) {
		if (!strcmp(name, "Slab:") || !strcmp(name, "VmallocUsed:") ||
		    !strcmp(name, "Percpu:"))
			sum += kib * 1024;
	}
	fclose(file);
	return sum;
}

int main(int argc, char **argv)
{
	struct end ends[2];
	double before = 0;
	int idle = 0, opt;
	uint32_t i;

	while ((opt = getopt(argc, argv, "exq:s:d:b:t:g:i:")) != -1) {
		switch (opt) {
		case 'e':
			events = 1;
			break;
		case 'x':
			cut_off = 1;
			break;
		case 'i':
			idle = 1;
			qps = atoi(optarg);
			break;
		case 'q':
			qps = atoi(optarg);
			break;
		case 's':
			bytes = atoi(optarg);
			break;
		case 'd':
			depth = atoi(optarg);
			break;
		case 'b':
			buffer_bytes = atoi(optarg);
			break;
		case 't':
			seconds = atoi(optarg);
			break;
		case 'g':
			gid_index = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2 || !qps || !bytes || bytes > buffer_bytes || depth < SIGNAL_EACH) {
		fprintf(stderr, "usage: see many.c\n");
		return 2;
	}
	for (i = 0; i < 2; i++)
		open_end(&ends[i], argv[optind + i], idle ? 1 : qps * (depth / SIGNAL_EACH) + 1);
	before = kernel_memory();
	for (i = 0; i < 2; i++)
		create_qps(&ends[i], idle ? IDLE_DEPTH : depth);
	for (i = 0; i < qps; i++) {
		connect_qp(&ends[0], &ends[1], i);
		connect_qp(&ends[1], &ends[0], i);
	}
	if (idle)
		printf("%.0f\n", (kernel_memory() - before) / qps / 2);
	else
		run(&ends[0], &ends[1]);
	for (i = 0; i < 2; i++)
		close_end(&ends[i]);
	return 0;
}
