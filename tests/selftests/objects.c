// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What takes C to ask for: regions with addresses of their own, huge pages, moderated and
 * vectored CQs, objects shared between processes, threads on one object, fork.
 *
 * usage: objects TEST DEVICE DEVICE GID-INDEX GID-INDEX
 *
 * The first device is the responder's, the second the requester's. Ends with 0, with 4 if
 * the machine lacks what the test needs, or with 1 and a line on what is wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define PAGE		4096UL
#define HUGE		(2UL << 20)
#define DEPTH		64
#define ALL		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
			 IBV_ACCESS_REMOTE_ATOMIC)
#define SKIPPED		4

/* What a test waits for at most, in seconds; longer on slow kernels. */
static int patience = 20;

struct end {
	const char *name;
	int gid_index;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct end responder, requester;

static void __attribute__((noreturn, format(printf, 2, 3))) fail(int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("objects.c:%d: ", line);
	vprintf(format, args);
	printf(" (errno %d: %s)\n", errno, strerror(errno));
	va_end(args);
	fflush(stdout);
	_exit(1);
}

#define CHECK(condition, ...)	\
	do { if (!(condition)) fail(__LINE__, #condition ": " __VA_ARGS__); } while (0)

static void __attribute__((noreturn)) skip(const char *why)
{
	puts(why);
	fflush(stdout);
	_exit(SKIPPED);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- two ends --------------------------------------------------------------------- */

static void open_end(struct end *end)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), end->name))
			end->ctx = ibv_open_device(list[i]);
	CHECK(end->ctx, "%s", end->name);
	ibv_free_device_list(list);
	end->pd = ibv_alloc_pd(end->ctx);
	CHECK(end->pd, "a domain");
}

static struct ibv_cq *make_cq(struct end *end, int vector)
{
	struct ibv_cq *cq = ibv_create_cq(end->ctx, 2 * DEPTH, NULL, end->channel, vector);

	CHECK(cq, "vector %d", vector);
	return cq;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .srq = srq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = srq ? 0 : DEPTH,
			 .max_send_sge = 2, .max_recv_sge = srq ? 0 : 2 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	CHECK(qp, "a queue pair");
	return qp;
}

static void connect_half(struct ibv_qp *qp, int gid_index, uint32_t peer, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ALL };
	int target = qp->qp_type == IBV_QPT_XRC_RECV;

	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS), "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = *gid, .sgid_index = gid_index, .hop_limit = 64 } },
	};
	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER), "RTR");
	if (target)
		return;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 16, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

static union ibv_gid gid_of(const struct end *end)
{
	union ibv_gid gid;

	CHECK(!ibv_query_gid(end->ctx, 1, end->gid_index, &gid), "GID %d", end->gid_index);
	return gid;
}

static void connect_qps(struct end *a, struct ibv_qp *of_a, struct end *b, struct ibv_qp *of_b)
{
	union ibv_gid gid_a = gid_of(a), gid_b = gid_of(b);

	connect_half(of_a, a->gid_index, of_b->qp_num, &gid_b);
	connect_half(of_b, b->gid_index, of_a->qp_num, &gid_a);
}

static void open_ends(void)
{
	open_end(&responder);
	open_end(&requester);
}

/* One QP each, connected. */
static void make_pair(void)
{
	open_ends();
	responder.cq = make_cq(&responder, 0);
	requester.cq = make_cq(&requester, 0);
	responder.qp = make_qp(responder.pd, responder.cq, NULL);
	requester.qp = make_qp(requester.pd, requester.cq, NULL);
	connect_qps(&responder, responder.qp, &requester, requester.qp);
}

static struct ibv_mr *region(struct end *end, void *start, size_t length)
{
	struct ibv_mr *mr = ibv_reg_mr(end->pd, start, length, ALL);

	CHECK(mr, "%zu bytes", length);
	return mr;
}

static void *pages(size_t length)
{
	void *start = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(start != MAP_FAILED, "%zu bytes", length);
	return start;
}

/* ---- work ------------------------------------------------------------------------- */

static void post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_sge sge,
		 uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = sge.addr, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote_addr, .rkey = rkey },
	};

	CHECK(!ibv_post_send(qp, &wr, &bad), "opcode %d", opcode);
}

static void post_recv(struct ibv_qp *qp, struct ibv_sge sge)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = sge.addr, .sg_list = &sge, .num_sge = 1 };

	CHECK(!ibv_post_recv(qp, &wr, &bad), "a receive");
}

static struct ibv_wc next(struct ibv_cq *cq)
{
	double end = now() + patience;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		CHECK(now() < end, "no completion");
	CHECK(n == 1, "%d", n);
	return wc;
}

#define NEXT_IS(cq, wanted)								\
	do {										\
		struct ibv_wc one = next(cq);						\
		CHECK(one.status == (wanted), "%s", ibv_wc_status_str(one.status));	\
	} while (0)

static void fill(void *start, size_t length, uint32_t seed)
{
	uint32_t *words = start;
	size_t i;

	for (i = 0; i < length / sizeof(*words); i++)
		words[i] = (seed + i) * 2654435761U;
}

/* WRITE from, then READ into, memory of the requester's; the responder's is looked at. */
static void there_and_back(const char *at, uint64_t addr, uint32_t rkey, size_t length)
{
	char *buffer = pages(2 * length);
	struct ibv_mr *mr = region(&requester, buffer, 2 * length);

	fill(buffer, length, rkey);
	post(requester.qp, IBV_WR_RDMA_WRITE, (struct ibv_sge){ (uintptr_t)buffer, length, mr->lkey },
	     addr, rkey);
	NEXT_IS(requester.cq, IBV_WC_SUCCESS);
	CHECK(!at || !memcmp(buffer, at, length), "what was written");
	post(requester.qp, IBV_WR_RDMA_READ,
	     (struct ibv_sge){ (uintptr_t)buffer + length, length, mr->lkey }, addr, rkey);
	NEXT_IS(requester.cq, IBV_WC_SUCCESS);
	CHECK(!memcmp(buffer, buffer + length, length), "what was read");
	CHECK(!ibv_dereg_mr(mr), "deregister");
	munmap(buffer, 2 * length);
}

/* ---- memory ----------------------------------------------------------------------- */

/* The responder's memory by another address, as target and as the local side. */
static void iova(void)
{
	static const uint64_t others[] = {
		0, PAGE, 0x123456000, 1ULL << 47, 1ULL << 63, UINT64_MAX - 5 * PAGE + 1,
	};
	char *memory = pages(4 * PAGE), *start = memory + 100;
	size_t length = 3 * PAGE + 52;
	char *inbox = pages(PAGE);
	struct ibv_mr *mr, *of_inbox;
	unsigned int i;

	make_pair();
	of_inbox = region(&requester, inbox, PAGE);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		uint64_t addr = others[i] + ((uintptr_t)start & (PAGE - 1));

		mr = ibv_reg_mr_iova(responder.pd, start, length, addr, ALL);
		CHECK(mr, "iova %#llx", (unsigned long long)addr);
		there_and_back(start, addr, mr->rkey, length);
		there_and_back(start + PAGE + 8, addr + PAGE + 8, mr->rkey, 2 * PAGE);

		/* Local keys go by that address too. */
		memset(start + 2 * PAGE, i + 1, 64);
		post_recv(requester.qp, (struct ibv_sge){ (uintptr_t)inbox, PAGE, of_inbox->lkey });
		post(responder.qp, IBV_WR_SEND, (struct ibv_sge){ addr + 2 * PAGE, 64, mr->lkey }, 0, 0);
		NEXT_IS(responder.cq, IBV_WC_SUCCESS);
		NEXT_IS(requester.cq, IBV_WC_SUCCESS);
		CHECK(!memcmp(inbox, start + 2 * PAGE, 64), "what was sent");
		CHECK(!ibv_dereg_mr(mr), "deregister");
	}
}

/* With another address the memory's own is none of the region's. */
static void iova_only(void)
{
	char *memory = pages(2 * PAGE), *buffer = pages(PAGE);
	struct ibv_mr *mr, *local;

	make_pair();
	CHECK(!ibv_reg_mr_iova(responder.pd, memory, 2 * PAGE, -PAGE, ALL), "past the end");
	CHECK(errno == EINVAL || errno == EOVERFLOW, "past the end");

	mr = ibv_reg_mr_iova(responder.pd, memory, 2 * PAGE, 0x10000, ALL);
	local = region(&requester, buffer, PAGE);
	CHECK(mr, "iova");
	post(requester.qp, IBV_WR_RDMA_WRITE, (struct ibv_sge){ (uintptr_t)buffer, 8, local->lkey },
	     (uintptr_t)memory, mr->rkey);
	NEXT_IS(requester.cq, IBV_WC_REM_ACCESS_ERR);
	CHECK(!memory[0], "written all the same");
}

static long huge_pages_free(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long n = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "HugePages_Free: %ld", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

/* Pages of 2 MiB of hugetlbfs, whole and in part; they stay while a region is on them. */
static void huge(void)
{
	size_t length = 2 * HUGE;
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	long free_before = huge_pages_free();
	struct ibv_mr *whole, *part;

	if (memory == MAP_FAILED)
		skip("no huge pages");
	make_pair();
	whole = region(&responder, memory, length);
	part = region(&responder, memory + HUGE - 3 * PAGE - 4, 5 * PAGE);
	there_and_back(memory, (uintptr_t)memory, whole->rkey, length);
	there_and_back(memory + HUGE - 1000, (uintptr_t)memory + HUGE - 1000, whole->rkey, 4000);
	there_and_back(memory + HUGE - 3 * PAGE - 4, (uintptr_t)memory + HUGE - 3 * PAGE - 4,
		       part->rkey, 5 * PAGE);

	CHECK(!munmap(memory, length), "munmap");
	there_and_back(NULL, (uintptr_t)memory, whole->rkey, length);
	CHECK(huge_pages_free() == free_before - 2, "%ld and %ld", free_before, huge_pages_free());
	CHECK(!ibv_dereg_mr(whole) && !ibv_dereg_mr(part), "deregister");
	CHECK(huge_pages_free() == free_before, "%ld and %ld", free_before, huge_pages_free());
}

/* Transparent huge pages, split in the middle while a region is on them. */
static void transparent(void)
{
	size_t length = 2 * HUGE;
	char *memory = aligned_alloc(HUGE, length), *copy = pages(HUGE);
	struct ibv_mr *mr;

	CHECK(memory, "memory");
	if (madvise(memory, length, MADV_HUGEPAGE))
		skip("no transparent huge pages");
	make_pair();
	fill(memory, length, 1);
	mr = region(&responder, memory + 1000, length - 1000);
	there_and_back(memory + 1000, (uintptr_t)memory + 1000, mr->rkey, length - 1000);
	memcpy(copy, memory, HUGE);
	CHECK(!mprotect(memory + PAGE, PAGE, PROT_READ), "mprotect");
	CHECK(!munmap(memory + HUGE, HUGE), "munmap");
	CHECK(!memcmp(copy, memory, HUGE), "after the split");
	there_and_back(memory + 2 * PAGE, (uintptr_t)memory + 2 * PAGE, mr->rkey, HUGE - 2 * PAGE);
	there_and_back(NULL, (uintptr_t)memory + HUGE, mr->rkey, HUGE);
	CHECK(!ibv_dereg_mr(mr), "deregister");
}

/* Shared memory: every mapping sees what comes. And memory that is only read. */
static void shared(void)
{
	int fd = memfd_create("objects", 0);
	char *one, *other, *constant, *inbox = pages(PAGE);
	struct ibv_mr *mr, *local;

	CHECK(fd >= 0 && !ftruncate(fd, 4 * PAGE), "memfd");
	one = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(one != MAP_FAILED && other != MAP_FAILED, "mmap");
	make_pair();
	mr = region(&responder, one, 4 * PAGE);
	there_and_back(other, (uintptr_t)one, mr->rkey, 4 * PAGE);

	constant = pages(PAGE);
	memset(constant, 7, PAGE);
	CHECK(!mprotect(constant, PAGE, PROT_READ), "mprotect");
	CHECK(!ibv_reg_mr(responder.pd, constant, PAGE, IBV_ACCESS_LOCAL_WRITE), "for writing");
	CHECK(errno == EFAULT, "for writing");
	mr = ibv_reg_mr(responder.pd, constant, PAGE, IBV_ACCESS_REMOTE_READ);
	CHECK(mr, "for reading");
	local = region(&requester, inbox, PAGE);
	post(requester.qp, IBV_WR_RDMA_READ, (struct ibv_sge){ (uintptr_t)inbox, PAGE, local->lkey },
	     (uintptr_t)constant, mr->rkey);
	NEXT_IS(requester.cq, IBV_WC_SUCCESS);
	CHECK(!memcmp(inbox, constant, PAGE), "what was read");
}

/*
 * A child writes all over its copy of memory that has a region on it; the parent's is
 * what the peer reaches, before and after, whatever the parent itself writes.
 */
static void forks(bool with_init)
{
	char *memory, *outbox = pages(PAGE), *inbox = pages(PAGE);
	struct ibv_mr *mr, *out, *in;
	int status, i;
	pid_t child;

	if (with_init)
		CHECK(!ibv_fork_init(), "ibv_fork_init");
	make_pair();
	memory = pages(4 * PAGE);
	memset(memory, 1, 4 * PAGE);
	mr = region(&responder, memory, 4 * PAGE);
	out = region(&requester, outbox, PAGE);
	in = region(&requester, inbox, PAGE);
	for (i = 2; i < 6; i++) {
		child = fork();
		if (!child) {
			/* With ibv_fork_init() it may not be there at all. */
			if (!with_init)
				memset(memory, 99, 4 * PAGE);
			_exit(0);
		}
		CHECK(child > 0, "fork");
		memset(memory + PAGE, i, PAGE);
		memset(outbox, i + 1, PAGE);
		post(requester.qp, IBV_WR_RDMA_WRITE,
		     (struct ibv_sge){ (uintptr_t)outbox, PAGE, out->lkey }, (uintptr_t)memory, mr->rkey);
		NEXT_IS(requester.cq, IBV_WC_SUCCESS);
		CHECK(!memcmp(memory, outbox, PAGE), "written by the peer, round %d", i);
		CHECK(waitpid(child, &status, 0) == child && !status, "the child");
		post(requester.qp, IBV_WR_RDMA_READ,
		     (struct ibv_sge){ (uintptr_t)inbox, PAGE, in->lkey }, (uintptr_t)memory + PAGE,
		     mr->rkey);
		NEXT_IS(requester.cq, IBV_WC_SUCCESS);
		CHECK(!memcmp(memory + PAGE, inbox, PAGE) && inbox[5] == i, "read by the peer, round %d",
		      i);
		CHECK(!memcmp(memory, outbox, PAGE), "the child's writing is seen");
	}
}

static void fork_plain(void)
{
	forks(false);
}

static void fork_safe(void)
{
	forks(true);
}

/* ---- CQs -------------------------------------------------------------------------- */

static bool event_comes(struct end *end, int milliseconds)
{
	struct pollfd poll_fd = { .fd = end->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&poll_fd, 1, milliseconds) != 1)
		return false;
	CHECK(!ibv_get_cq_event(end->channel, &cq, &context), "event");
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void moderate(struct ibv_cq *cq, int count, int period)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period },
	};

	CHECK(!ibv_modify_cq(cq, &attr), "%d, %d us", count, period);
}

static void nothing(int n)
{
	while (n--)
		post(requester.qp, IBV_WR_SEND, (struct ibv_sge){}, 0, 0);
}

static void receives(int n)
{
	while (n--)
		post_recv(responder.qp, (struct ibv_sge){});
}

static void taken(struct ibv_cq *cq, int n)
{
	while (n--)
		NEXT_IS(cq, IBV_WC_SUCCESS);
}

/* An event when COUNT have come, or so long after the first. */
static void moderation(void)
{
	struct ibv_device_attr_ex attr;
	const int period = 60000;
	double begin;
	int try;

	responder.channel = NULL;
	open_ends();
	CHECK(!ibv_query_device_ex(responder.ctx, NULL, &attr), "query");
	CHECK(attr.cq_mod_caps.max_cq_count >= 4 && attr.cq_mod_caps.max_cq_period >= period,
	      "%u, %u us", attr.cq_mod_caps.max_cq_count, attr.cq_mod_caps.max_cq_period);
	responder.channel = ibv_create_comp_channel(responder.ctx);
	CHECK(responder.channel, "channel");
	responder.cq = make_cq(&responder, 0);
	requester.cq = make_cq(&requester, 0);
	responder.qp = make_qp(responder.pd, responder.cq, NULL);
	requester.qp = make_qp(requester.pd, requester.cq, NULL);
	connect_qps(&responder, responder.qp, &requester, requester.qp);

	/* Three of four: not before the period is over, but then. */
	moderate(responder.cq, 4, period);
	CHECK(!ibv_req_notify_cq(responder.cq, 0), "arm");
	receives(3);
	begin = now();
	nothing(3);
	CHECK(event_comes(&responder, patience * 1000), "no event at the end of the period");
	CHECK(now() - begin >= period / 1e6, "%f s", now() - begin);
	taken(responder.cq, 3);
	taken(requester.cq, 3);

	/*
	 * Four: at once, which is to be seen where the period is not over yet; a machine may be
	 * too slow for that now and then.
	 */
	for (try = 0; ; try++) {
		CHECK(try < 50, "never before the end of the period");
		CHECK(!ibv_req_notify_cq(responder.cq, 0), "arm");
		receives(4);
		begin = now();
		nothing(4);
		CHECK(event_comes(&responder, patience * 1000), "no event for the count");
		taken(responder.cq, 4);
		taken(requester.cq, 4);
		if (now() - begin < period / 1e6)
			break;
	}
	CHECK(!event_comes(&responder, 2 * period / 1000), "a second event for one arming");

	/* What waits under a rule that is changed is told. */
	moderate(responder.cq, 1000, 65535);
	CHECK(!ibv_req_notify_cq(responder.cq, 0), "arm");
	receives(2);
	nothing(1);
	taken(requester.cq, 1);
	moderate(responder.cq, 0, 0);
	CHECK(event_comes(&responder, patience * 1000), "no event after the change");
	taken(responder.cq, 1);
	CHECK(!ibv_req_notify_cq(responder.cq, 0), "arm");
	nothing(1);
	CHECK(event_comes(&responder, patience * 1000), "no event without moderation");
	taken(responder.cq, 1);
}

/* One for each CPU, and each tells. */
static void vectors(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int vector;

	open_ends();
	CHECK(responder.ctx->num_comp_vectors >= cpus, "%d for %ld CPUs",
	      responder.ctx->num_comp_vectors, cpus);
	responder.channel = ibv_create_comp_channel(responder.ctx);
	CHECK(responder.channel, "channel");
	for (vector = 0; vector < responder.ctx->num_comp_vectors; vector++) {
		responder.cq = make_cq(&responder, vector);
		requester.cq = make_cq(&requester, vector);
		responder.qp = make_qp(responder.pd, responder.cq, NULL);
		requester.qp = make_qp(requester.pd, requester.cq, NULL);
		connect_qps(&responder, responder.qp, &requester, requester.qp);
		CHECK(!ibv_req_notify_cq(responder.cq, 0), "arm");
		receives(1);
		nothing(1);
		CHECK(event_comes(&responder, patience * 1000), "no event on vector %d", vector);
		taken(responder.cq, 1);
		taken(requester.cq, 1);
		CHECK(!ibv_destroy_qp(responder.qp) && !ibv_destroy_qp(requester.qp), "destroy");
		CHECK(!ibv_destroy_cq(responder.cq) && !ibv_destroy_cq(requester.cq), "destroy");
	}
	CHECK(!ibv_create_cq(responder.ctx, 1, NULL, NULL, vector), "vector %d", vector);
	CHECK(errno == EINVAL, "vector %d", vector);
	CHECK(!ibv_create_cq(responder.ctx, 1, NULL, NULL, -1), "vector -1");
	CHECK(errno == EINVAL, "vector -1");
}

/* ---- objects of two processes ------------------------------------------------------ */

static void send_fd(int sock, int fd, const void *data, size_t size)
{
	union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control = {};
	struct iovec iov = { (void *)data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	CHECK(sendmsg(sock, &message, 0) == (ssize_t)size, "sendmsg");
}

static int receive_fd(int sock, void *data, size_t size)
{
	union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec iov = { data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd;

	CHECK(recvmsg(sock, &message, 0) == (ssize_t)size, "recvmsg");
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static void tell(int sock)
{
	CHECK(write(sock, "", 1) == 1, "write");
}

static void hear(int sock)
{
	char byte;

	CHECK(read(sock, &byte, 1) == 1, "the other process is gone");
}

static void ends_well(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && !status, "the child's status %#x", status);
}

struct handles {
	uint32_t pd, mr, lkey, rkey, length;
	uint64_t address;
};

/* The process that imports: a connection of its own on another's context and memory. */
static void importer(int sock)
{
	struct handles handles;
	int fd = receive_fd(sock, &handles, sizeof(handles));
	struct ibv_mr *mr;
	int i;

	open_end(&requester);
	responder.ctx = ibv_import_device(fd);
	CHECK(responder.ctx, "import the device");
	responder.pd = ibv_import_pd(responder.ctx, handles.pd);
	CHECK(responder.pd, "import the domain");
	mr = ibv_import_mr(responder.pd, handles.mr);
	CHECK(mr, "import the region");
	CHECK(mr->lkey == handles.lkey && mr->rkey == handles.rkey, "keys %#x, %#x", mr->lkey, mr->rkey);
	CHECK(mr->length == handles.length, "length %zu", mr->length);
	CHECK(!ibv_import_mr(responder.pd, handles.mr + 1000), "a region that is none");

	responder.cq = make_cq(&responder, 0);
	requester.cq = make_cq(&requester, 0);
	responder.qp = make_qp(responder.pd, responder.cq, NULL);
	requester.qp = make_qp(requester.pd, requester.cq, NULL);
	connect_qps(&responder, responder.qp, &requester, requester.qp);
	tell(sock);
	hear(sock);
	for (i = 0; i < 200; i++)
		there_and_back(NULL, handles.address, mr->rkey, PAGE);
	tell(sock);
	hear(sock);
	CHECK(!ibv_destroy_qp(responder.qp), "destroy");
	ibv_unimport_mr(mr);
	ibv_unimport_pd(responder.pd);
	CHECK(!ibv_close_device(responder.ctx), "close");
	tell(sock);
}

/*
 * A device, a domain and a region by their file descriptor and handles. Both processes
 * work at the same time, on queues of their own in one context.
 */
static void imports(void)
{
	struct handles handles;
	struct ibv_mr *mr;
	int socks[2], i;
	char *memory;
	pid_t child;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks), "socketpair");
	child = fork();
	if (!child) {
		close(socks[0]);
		importer(socks[1]);
		_exit(0);
	}
	CHECK(child > 0, "fork");
	close(socks[1]);

	make_pair();
	memory = pages(2 * PAGE);
	mr = region(&responder, memory, 2 * PAGE);
	handles = (struct handles){ responder.pd->handle, mr->handle, mr->lkey, mr->rkey, mr->length,
				    (uintptr_t)memory };
	send_fd(socks[0], responder.ctx->cmd_fd, &handles, sizeof(handles));
	hear(socks[0]);
	tell(socks[0]);
	for (i = 0; i < 200; i++)
		there_and_back(memory + PAGE, (uintptr_t)memory + PAGE, mr->rkey, PAGE);
	hear(socks[0]);
	/* What the other's peer wrote is here: rkey is what it was filled by. */
	fill(memory + PAGE, PAGE, mr->rkey);
	CHECK(!memcmp(memory, memory + PAGE, PAGE), "what came by the other process");

	tell(socks[0]);
	hear(socks[0]);
	ends_well(child);
	there_and_back(memory, (uintptr_t)memory, mr->rkey, 2 * PAGE);
	CHECK(!ibv_dereg_mr(mr), "deregister");
}

static struct ibv_xrcd *open_domain(struct ibv_context *ctx, int fd)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd, .oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(ctx, &init);

	CHECK(xrcd, "an XRC domain");
	return xrcd;
}

static struct ibv_qp *make_xrc(struct end *end, enum ibv_qp_type type, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = type };
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = xrcd;
	} else {
		init.comp_mask = IBV_QP_INIT_ATTR_PD;
		init.pd = end->pd;
		init.send_cq = end->cq;
		init.cap.max_send_wr = DEPTH;
		init.cap.max_send_sge = 1;
	}
	qp = ibv_create_qp_ex(end->ctx, &init);
	CHECK(qp, "type %d", type);
	return qp;
}

static struct ibv_srq *make_xsrq(struct end *end, struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex init = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = end->pd, .xrcd = xrcd, .cq = end->cq,
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
	};
	struct ibv_srq *srq = ibv_create_srq_ex(end->ctx, &init);

	CHECK(srq, "an XRC queue");
	return srq;
}

struct target {
	uint32_t qp_num, srq_num;
};

/* The process that opens another's target, and keeps it alive. */
static void opener(int sock, int fd)
{
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp_init_attr init;
	struct ibv_recv_wr *bad, recv = {};
	struct ibv_qp_attr attr;
	struct ibv_srq *srq;
	struct target target;
	struct ibv_qp *qp;

	open_end(&responder);
	responder.cq = make_cq(&responder, 0);
	open.xrcd = open_domain(responder.ctx, fd);
	srq = make_xsrq(&responder, open.xrcd);
	CHECK(!ibv_get_srq_num(srq, &target.srq_num), "number");

	CHECK(read(sock, &open.qp_num, sizeof(open.qp_num)) == sizeof(open.qp_num), "read");
	qp = ibv_open_qp(responder.ctx, &open);
	CHECK(qp, "open QP %u", open.qp_num);
	CHECK(qp->qp_num == open.qp_num, "%u", qp->qp_num);
	CHECK(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "query");
	CHECK(attr.qp_state == IBV_QPS_RTR, "state %d", attr.qp_state);
	open.qp_num++;
	CHECK(!ibv_open_qp(responder.ctx, &open), "a queue pair that is none");
	CHECK(errno == EINVAL || errno == ENOENT, "a queue pair that is none");

	CHECK(!ibv_post_srq_recv(srq, &recv, &bad), "post");
	CHECK(!ibv_post_srq_recv(srq, &recv, &bad), "post");
	CHECK(write(sock, &target.srq_num, sizeof(target.srq_num)) == sizeof(target.srq_num), "write");
	taken(responder.cq, 1);
	tell(sock);
	hear(sock);	/* its maker is gone */
	taken(responder.cq, 1);
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_srq(srq) && !ibv_close_xrcd(open.xrcd), "destroy");
	tell(sock);
}

/* Makes the target, connects it, and goes. */
static void target_maker(int sock, int fd, uint32_t peer, const union ibv_gid *gid)
{
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;

	open_end(&responder);
	xrcd = open_domain(responder.ctx, fd);
	qp = make_xrc(&responder, IBV_QPT_XRC_RECV, xrcd);
	connect_half(qp, responder.gid_index, peer, gid);
	CHECK(write(sock, &qp->qp_num, sizeof(qp->qp_num)) == sizeof(qp->qp_num), "write");
	hear(sock);
	CHECK(!ibv_destroy_qp(qp) && !ibv_close_xrcd(xrcd), "destroy");
}

/*
 * The target of an XRC connection is there as long as any process has it open. This one
 * is the initiator; one child makes the target, another opens it by its number.
 */
static void open_qp(void)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	int fd = memfd_create("xrcd", 0), maker_sock[2], opener_sock[2];
	union ibv_gid gid, gid_of_responder;
	pid_t maker, other;
	uint32_t number;

	CHECK(fd >= 0, "memfd");
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, maker_sock), "socketpair");
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, opener_sock), "socketpair");
	other = fork();
	if (!other) {
		close(opener_sock[0]);
		opener(opener_sock[1], fd);
		_exit(0);
	}
	open_end(&requester);
	requester.cq = make_cq(&requester, 0);
	requester.qp = make_xrc(&requester, IBV_QPT_XRC_SEND, NULL);
	gid = gid_of(&requester);
	maker = fork();
	if (!maker) {
		close(maker_sock[0]);
		target_maker(maker_sock[1], fd, requester.qp->qp_num, &gid);
		_exit(0);
	}
	close(maker_sock[1]);
	close(opener_sock[1]);

	CHECK(read(maker_sock[0], &number, sizeof(number)) == sizeof(number), "the maker is gone");
	CHECK(write(opener_sock[0], &number, sizeof(number)) == sizeof(number), "write");
	CHECK(read(opener_sock[0], &wr.qp_type.xrc.remote_srqn, 4) == 4, "the opener is gone");
	open_end(&responder);
	gid_of_responder = gid_of(&responder);
	connect_half(requester.qp, requester.gid_index, number, &gid_of_responder);
	CHECK(!ibv_post_send(requester.qp, &wr, &bad), "post");
	NEXT_IS(requester.cq, IBV_WC_SUCCESS);
	hear(opener_sock[0]);

	tell(maker_sock[0]);
	ends_well(maker);
	CHECK(!ibv_post_send(requester.qp, &wr, &bad), "post");
	NEXT_IS(requester.cq, IBV_WC_SUCCESS);
	tell(opener_sock[0]);
	hear(opener_sock[0]);
	ends_well(other);

	CHECK(!ibv_post_send(requester.qp, &wr, &bad), "post");
	CHECK(next(requester.cq).status != IBV_WC_SUCCESS, "a target that nobody has open");
}

/* ---- threads ----------------------------------------------------------------------- */

#define POSTERS		3
#define POLLERS		2
#define EACH		4000
#define MESSAGES	(POSTERS * EACH)

static struct ibv_srq *srq;
static unsigned char *inboxes, *outboxes;
static struct ibv_mr *in_mr, *out_mr;
static unsigned char sent[MESSAGES], received[MESSAGES];
static int n_sent, n_received, room = DEPTH;

static struct ibv_sge inbox(uint64_t i)
{
	return (struct ibv_sge){ (uintptr_t)inboxes + 64 * i, 64, in_mr->lkey };
}

static void post_to_srq(uint64_t i)
{
	struct ibv_sge sge = inbox(i);
	struct ibv_recv_wr *bad, wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

	CHECK(!ibv_post_srq_recv(srq, &wr, &bad), "a receive");
}

static bool take_room(void)
{
	if (__atomic_sub_fetch(&room, 1, __ATOMIC_SEQ_CST) >= 0)
		return true;
	__atomic_add_fetch(&room, 1, __ATOMIC_SEQ_CST);
	return false;
}

/* Sends its numbers, each in a place of its own. */
static void *poster(void *arg)
{
	uint32_t number = (uintptr_t)arg * EACH, last = number + EACH;
	double end = now() + 6 * patience;

	for (; number < last; number++) {
		struct ibv_sge sge = { (uintptr_t)outboxes + 4 * number, 4, out_mr->lkey };
		struct ibv_send_wr *bad, wr = {
			.wr_id = number, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
		};

		while (!take_room())
			CHECK(now() < end, "no room");
		memcpy(outboxes + 4 * number, &number, 4);
		CHECK(!ibv_post_send(requester.qp, &wr, &bad), "message %u", number);
	}
	return NULL;
}

static void *send_poller(void *arg)
{
	double end = now() + 6 * patience;
	struct ibv_wc wc[4];
	int n, i;

	while (__atomic_load_n(&n_sent, __ATOMIC_SEQ_CST) < MESSAGES) {
		CHECK(now() < end, "%d were sent", n_sent);
		n = ibv_poll_cq(requester.cq, 4, wc);
		for (i = 0; i < n; i++) {
			CHECK(!wc[i].status, "%s", ibv_wc_status_str(wc[i].status));
			CHECK(wc[i].wr_id < MESSAGES, "wr_id %lu", (long)wc[i].wr_id);
			CHECK(!__atomic_fetch_add(&sent[wc[i].wr_id], 1, __ATOMIC_SEQ_CST),
			      "twice %lu", (long)wc[i].wr_id);
			__atomic_add_fetch(&room, 1, __ATOMIC_SEQ_CST);
			__atomic_add_fetch(&n_sent, 1, __ATOMIC_SEQ_CST);
		}
	}
	return arg;
}

/* Takes messages, and gives their places back to the shared queue. */
static void *receive_poller(void *arg)
{
	double end = now() + 6 * patience;
	struct ibv_wc wc[4];
	uint32_t number;
	int n, i;

	while (__atomic_load_n(&n_received, __ATOMIC_SEQ_CST) < MESSAGES) {
		CHECK(now() < end, "%d were received", n_received);
		n = ibv_poll_cq(responder.cq, 4, wc);
		for (i = 0; i < n; i++) {
			CHECK(!wc[i].status, "%s", ibv_wc_status_str(wc[i].status));
			CHECK(wc[i].byte_len == 4 && wc[i].wr_id < DEPTH, "wr_id %lu, %u bytes",
			      (long)wc[i].wr_id, wc[i].byte_len);
			memcpy(&number, inboxes + 64 * wc[i].wr_id, 4);
			CHECK(number < MESSAGES, "message %u", number);
			CHECK(!__atomic_fetch_add(&received[number], 1, __ATOMIC_SEQ_CST),
			      "twice %u", number);
			post_to_srq(wc[i].wr_id);
			__atomic_add_fetch(&n_received, 1, __ATOMIC_SEQ_CST);
		}
	}
	return arg;
}

/* Makes and unmakes regions of the same domains all the while. */
static void *registrar(void *arg)
{
	char *memory = pages(8 * PAGE);

	while (__atomic_load_n(&n_received, __ATOMIC_SEQ_CST) < MESSAGES) {
		CHECK(!ibv_dereg_mr(region(arg, memory, 8 * PAGE)), "deregister");
		usleep(100);
	}
	return NULL;
}

/* Several on one send queue, one shared receive queue, two CQs and two domains. */
static void threads(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	pthread_t all[POSTERS + 2 * POLLERS + 2];
	int n = 0;
	uintptr_t i;

	open_ends();
	inboxes = pages(64 * DEPTH);
	outboxes = pages(4 * MESSAGES);
	in_mr = region(&responder, inboxes, 64 * DEPTH);
	out_mr = region(&requester, outboxes, 4 * MESSAGES);
	responder.cq = make_cq(&responder, 0);
	requester.cq = make_cq(&requester, 0);
	srq = ibv_create_srq(responder.pd, &init);
	CHECK(srq, "a shared queue");
	responder.qp = make_qp(responder.pd, responder.cq, srq);
	requester.qp = make_qp(requester.pd, requester.cq, NULL);
	connect_qps(&responder, responder.qp, &requester, requester.qp);
	for (i = 0; i < DEPTH; i++)
		post_to_srq(i);

	for (i = 0; i < POLLERS; i++) {
		CHECK(!pthread_create(&all[n++], NULL, receive_poller, NULL), "thread");
		CHECK(!pthread_create(&all[n++], NULL, send_poller, NULL), "thread");
	}
	CHECK(!pthread_create(&all[n++], NULL, registrar, &responder), "thread");
	CHECK(!pthread_create(&all[n++], NULL, registrar, &requester), "thread");
	for (i = 0; i < POSTERS; i++)
		CHECK(!pthread_create(&all[n++], NULL, poster, (void *)i), "thread");
	while (n--)
		CHECK(!pthread_join(all[n], NULL), "join");
	for (i = 0; i < MESSAGES; i++)
		CHECK(sent[i] == 1 && received[i] == 1, "message %lu", (long)i);
}

/* ---- states ------------------------------------------------------------------------ */

#define LIVES		1000
#define WRITES		3
#define WRITE_BYTES	65536

static struct ibv_qp *make_uc(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UC, .send_cq = end->cq, .recv_cq = end->cq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(end->pd, &init);

	CHECK(qp, "a queue pair");
	return qp;
}

static void connect_uc(struct end *end, uint32_t peer, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ALL };

	CHECK(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS), "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = *gid, .sgid_index = end->gid_index, .hop_limit = 64 } },
	};
	CHECK(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN), "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	CHECK(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

/* Of each life: WRITEs that keep the peer busy for a while, and one that cannot be. */
static pthread_barrier_t life_begins, life_ends;
static struct ibv_mr *near_mr, *far_mr;
static bool lives_over;

static void *life_poster(void *arg)
{
	struct ibv_sge sge[WRITES + 1];
	struct ibv_send_wr wr[WRITES + 1] = {}, *bad;
	int i;

	for (i = 0; i <= WRITES; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)near_mr->addr, WRITE_BYTES, near_mr->lkey };
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].wr.rdma.remote_addr = (uintptr_t)far_mr->addr;
		wr[i].wr.rdma.rkey = far_mr->rkey;
		wr[i].next = i < WRITES ? &wr[i + 1] : NULL;
	}
	sge[WRITES].length = 8;
	sge[WRITES].lkey ^= 0x55;
	for (;;) {
		pthread_barrier_wait(&life_begins);
		if (lives_over)
			return arg;
		CHECK(!ibv_post_send(requester.qp, wr, &bad), "post");
		pthread_barrier_wait(&life_ends);
	}
}

/* A send queue that failed goes on as soon as its owner knows, and has not half failed. */
static void error_and_again(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	union ibv_gid of_requester, of_responder;
	double until = now() + patience;
	struct ibv_sge sge;
	pthread_t thread;
	int life;

	open_ends();
	of_requester = gid_of(&requester);
	of_responder = gid_of(&responder);
	responder.cq = make_cq(&responder, 0);
	requester.cq = make_cq(&requester, 0);
	responder.qp = make_uc(&responder);
	requester.qp = make_uc(&requester);
	connect_uc(&responder, requester.qp->qp_num, &of_requester);
	connect_uc(&requester, responder.qp->qp_num, &of_responder);
	near_mr = region(&requester, pages(WRITE_BYTES), WRITE_BYTES);
	far_mr = region(&responder, pages(WRITE_BYTES), WRITE_BYTES);
	sge = (struct ibv_sge){ (uintptr_t)near_mr->addr, 8, near_mr->lkey };
	CHECK(!pthread_barrier_init(&life_begins, NULL, 2) &&
	      !pthread_barrier_init(&life_ends, NULL, 2), "barriers");
	CHECK(!pthread_create(&thread, NULL, life_poster, NULL), "thread");

	/* One in some hundred is in time. */
	for (life = 0; life < LIVES && now() < until; life++) {
		pthread_barrier_wait(&life_begins);
		NEXT_IS(requester.cq, IBV_WC_LOC_PROT_ERR);
		CHECK(!ibv_modify_qp(requester.qp, &attr, IBV_QP_STATE), "RTS, life %d", life);
		pthread_barrier_wait(&life_ends);
		post(requester.qp, IBV_WR_RDMA_WRITE, sge, (uintptr_t)far_mr->addr, far_mr->rkey);
		NEXT_IS(requester.cq, IBV_WC_SUCCESS);
	}
	lives_over = true;
	pthread_barrier_wait(&life_begins);
	CHECK(!pthread_join(thread, NULL), "join");
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "iova", iova }, { "iova_only", iova_only }, { "huge", huge },
	{ "transparent", transparent }, { "shared", shared }, { "fork", fork_plain },
	{ "fork_safe", fork_safe }, { "moderation", moderation }, { "vectors", vectors },
	{ "imports", imports }, { "open_qp", open_qp }, { "threads", threads },
	{ "error_and_again", error_and_again },
};

int main(int argc, char *argv[])
{
	const char *slow = getenv("SLOW");
	unsigned int i;

	if (argc != 6) {
		fprintf(stderr, "usage: %s TEST DEVICE DEVICE GID-INDEX GID-INDEX\n", argv[0]);
		return 2;
	}
	if (slow)
		patience *= atoi(slow);
	responder = (struct end){ .name = argv[2], .gid_index = atoi(argv[4]) };
	requester = (struct end){ .name = argv[3], .gid_index = atoi(argv[5]) };
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(tests[i].name, argv[1])) {
			tests[i].run();
			return 0;
		}
	}
	fprintf(stderr, "%s: no test %s\n", argv[0], argv[1]);
	return 2;
}
