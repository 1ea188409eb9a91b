// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verbs in any order, with any attributes: objects are made, changed, used and destroyed
 * at random by several threads, and whatever comes back is all right, but for a hang.
 * What the module makes of it is looked at from outside: its log, and what is left.
 *
 * usage: verbs_fuzz SECONDS THREADS SEED DEVICE...
 */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define SLOTS		24	/* of each kind of object */
#define AREA		(1 << 18)
#define DEVICES		2
#define GIDS		16

enum kind { PD, MR, MW, CQ, SRQ, QP, AH, KINDS };

/*
 * An object and the lock that keeps it while it is used. Who makes or destroys it has
 * the lock for writing, if it can be had at once.
 */
struct slot {
	pthread_rwlock_t lock;
	void *object;
	int device;
};

static struct slot slots[KINDS][SLOTS];
static struct ibv_context *contexts[DEVICES];
static union ibv_gid gids[DEVICES][GIDS];
static int devices;
static char *area;
static time_t end;
static unsigned long done[2];	/* calls that succeeded, that failed */

static __thread uint64_t rng;

static uint32_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng >> 16;
}

static uint32_t below(uint32_t n)
{
	return n ? rnd() % n : 0;
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

/* Mostly small, sometimes anything. */
static uint32_t some(uint32_t usual)
{
	static const uint32_t edges[] = {
		0, 1, 0x7f, 0xff, 0xffff, 0xffffff, 0x7fffffff, 0x80000000, 0xffffffff,
	};

	if (chance(85))
		return below(usual + 1);
	return chance(50) ? edges[below(sizeof(edges) / sizeof(edges[0]))] : rnd();
}

static void count(bool well)
{
	__atomic_add_fetch(&done[!well], 1, __ATOMIC_RELAXED);
}

/* ---- slots ------------------------------------------------------------------ */

/* An object of this kind, locked for use; NULL: none at hand. */
static struct slot *use(enum kind kind)
{
	struct slot *s = &slots[kind][below(SLOTS)];

	if (pthread_rwlock_tryrdlock(&s->lock))
		return NULL;
	if (s->object)
		return s;
	pthread_rwlock_unlock(&s->lock);
	return NULL;
}

static void leave(struct slot *s)
{
	if (s)
		pthread_rwlock_unlock(&s->lock);
}

/* An empty one, locked for making. */
static struct slot *empty(enum kind kind)
{
	struct slot *s = &slots[kind][below(SLOTS)];

	if (pthread_rwlock_trywrlock(&s->lock))
		return NULL;
	if (!s->object)
		return s;
	pthread_rwlock_unlock(&s->lock);
	return NULL;
}

static void fill(struct slot *s, void *object, int device)
{
	count(object);
	s->object = object;
	s->device = device;
	pthread_rwlock_unlock(&s->lock);
}

static int destroy_object(enum kind kind, void *object)
{
	switch (kind) {
	case PD:
		return ibv_dealloc_pd(object);
	case MR:
		return ibv_dereg_mr(object);
	case MW:
		return ibv_dealloc_mw(object);
	case CQ:
		return ibv_destroy_cq(object);
	case SRQ:
		return ibv_destroy_srq(object);
	case QP:
		return ibv_destroy_qp(object);
	default:
		return ibv_destroy_ah(object);
	}
}

static void destroy(enum kind kind)
{
	struct slot *s = &slots[kind][below(SLOTS)];
	int err;

	if (pthread_rwlock_trywrlock(&s->lock))
		return;
	if (s->object) {
		err = destroy_object(kind, s->object);
		count(!err);
		if (!err)
			s->object = NULL;
	}
	pthread_rwlock_unlock(&s->lock);
}

/* ---- making ----------------------------------------------------------------- */

static int some_access(void)
{
	int access = chance(70) ? IBV_ACCESS_LOCAL_WRITE : 0;

	if (chance(50))
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	if (chance(30))
		access |= IBV_ACCESS_MW_BIND;
	if (chance(20))
		access |= IBV_ACCESS_ON_DEMAND;
	return chance(5) ? (int)rnd() : access;
}

/*
 * Of the area from @at on, or nothing, or more than there can be: what follows the area is
 * this program's own, and peers are to write to the area only.
 */
static uint32_t some_length(uint32_t at, int access)
{
	if (access & IBV_ACCESS_ON_DEMAND || chance(90))
		return below(AREA - at);
	return chance(50) ? 0 : 0x40000000U + below(0x80000000U);
}

static void make_pd(void)
{
	struct slot *s = empty(PD);
	int d = below(devices);

	if (s)
		fill(s, ibv_alloc_pd(contexts[d]), d);
}

static void make_mr(void)
{
	struct slot *pd = use(PD), *s = pd ? empty(MR) : NULL;
	uint32_t at = below(AREA);
	int access = some_access();

	if (s)
		fill(s, ibv_reg_mr(pd->object, area + at, some_length(at, access), access),
		     pd->device);
	leave(pd);
}

static void make_mw(void)
{
	struct slot *pd = use(PD), *s = pd ? empty(MW) : NULL;

	if (s)
		fill(s, ibv_alloc_mw(pd->object, 1 + below(2)), pd->device);
	leave(pd);
}

static void make_cq(void)
{
	struct slot *s = empty(CQ);
	int d = below(devices);

	if (s)
		fill(s, ibv_create_cq(contexts[d], some(200), NULL, NULL, some(1)), d);
}

static void make_srq(void)
{
	struct slot *pd = use(PD), *s = pd ? empty(SRQ) : NULL;
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = some(100), .max_sge = some(4), .srq_limit = some(10) },
	};

	if (s)
		fill(s, ibv_create_srq(pd->object, &attr), pd->device);
	leave(pd);
}

static void make_qp(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
		IBV_QPT_RAW_PACKET,
	};
	struct slot *pd = use(PD), *cq = use(CQ), *srq = chance(30) ? use(SRQ) : NULL, *s;
	struct ibv_qp_init_attr attr = {
		.qp_type = types[below(sizeof(types) / sizeof(types[0]))],
		.sq_sig_all = below(2),
		.cap = {
			.max_send_wr = some(64), .max_recv_wr = some(64), .max_send_sge = some(4),
			.max_recv_sge = some(4), .max_inline_data = some(128),
		},
	};

	s = pd && cq ? empty(QP) : NULL;
	if (s) {
		attr.send_cq = cq->object;
		attr.recv_cq = cq->object;
		attr.srq = srq ? srq->object : NULL;
		fill(s, ibv_create_qp(pd->object, &attr), pd->device);
	}
	leave(srq);
	leave(cq);
	leave(pd);
}

static void some_address(struct ibv_ah_attr *attr, int device)
{
	memset(attr, 0, sizeof(*attr));
	attr->is_global = !chance(5);
	attr->port_num = chance(95) ? 1 : some(2);
	attr->grh.sgid_index = some(4);
	attr->grh.hop_limit = some(255);
	attr->grh.flow_label = some(0xfffff);
	attr->grh.dgid = gids[chance(80) ? (device + 1) % devices : device][below(4)];
	if (chance(5))
		attr->grh.dgid.raw[below(16)] = rnd();
}

static void make_ah(void)
{
	struct slot *pd = use(PD), *s = pd ? empty(AH) : NULL;
	struct ibv_ah_attr attr;

	if (s) {
		some_address(&attr, pd->device);
		fill(s, ibv_create_ah(pd->object, &attr), pd->device);
	}
	leave(pd);
}

/* ---- changing --------------------------------------------------------------- */

static const int usual_masks[] = {
	[IBV_QPS_RESET] = IBV_QP_STATE,
	[IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	[IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	[IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	[IBV_QPS_SQD] = IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
	[IBV_QPS_SQE] = IBV_QP_STATE,
	[IBV_QPS_ERR] = IBV_QP_STATE,
};

static int mask_for(const struct ibv_qp *qp, enum ibv_qp_state to)
{
	int mask = usual_masks[to];

	if (qp->qp_type == IBV_QPT_UD) {
		if (to == IBV_QPS_INIT)
			mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
		else if (to == IBV_QPS_RTR)
			mask = IBV_QP_STATE;
		else if (to == IBV_QPS_RTS)
			mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	} else if (qp->qp_type == IBV_QPT_UC) {
		mask &= ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	}
	return chance(95) ? mask : mask ^ (int)(1U << below(26));
}

/* The peer's receive queue is not of interest: any QP of the two devices, or itself. */
static void modify(struct slot *s, enum ibv_qp_state to)
{
	struct ibv_qp *qp = s->object;
	struct slot *peer = use(QP);
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.path_mtu = chance(95) ? 1 + below(5) : some(6),
		.port_num = chance(97) ? 1 : some(2),
		.qp_access_flags = chance(90) ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						IBV_ACCESS_REMOTE_ATOMIC : some_access(),
		.pkey_index = chance(97) ? 0 : some(40),
		.qkey = some(3),
		.rq_psn = some(0xffffff),
		.sq_psn = some(0xffffff),
		.max_rd_atomic = some(16),
		.max_dest_rd_atomic = some(16),
		.min_rnr_timer = some(31),
		.timeout = chance(95) ? 1 + below(10) : some(31),
		.retry_cnt = some(7),
		.rnr_retry = some(7),
		.en_sqd_async_notify = below(2),
	};

	attr.dest_qp_num = peer && chance(95) ? ((struct ibv_qp *)peer->object)->qp_num :
						some(0xffffff);
	leave(peer);
	some_address(&attr.ah_attr, s->device);
	count(!ibv_modify_qp(qp, &attr, mask_for(qp, to)));
}

static void step_qp(void)
{
	struct slot *s = use(QP);
	struct ibv_qp *qp;

	if (!s)
		return;
	qp = s->object;
	/* Forward, as a rule, or there would be little traffic. */
	if (chance(85) && qp->state < IBV_QPS_RTS)
		modify(s, qp->state + 1);
	else
		modify(s, below(IBV_QPS_ERR + 1));
	leave(s);
}

static void query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct slot *s = use(QP);

	if (s)
		count(!ibv_query_qp(s->object, &attr, some(0xffffff), &init));
	leave(s);
}

static void resize(void)
{
	struct ibv_srq_attr attr = { .max_wr = some(200), .srq_limit = some(20) };
	struct slot *s;

	if (chance(50)) {
		s = use(CQ);
		if (s)
			count(!ibv_resize_cq(s->object, some(300)));
	} else {
		s = use(SRQ);
		if (s)
			count(!ibv_modify_srq(s->object, &attr, 1 + below(3)));
	}
	leave(s);
}

static void rereg(void)
{
	struct slot *pd = use(PD), *s = &slots[MR][below(SLOTS)];
	int access = some_access(), flags = below(8);
	uint32_t at = below(AREA);

	/* Place and rights together: see some_length(). */
	flags |= IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS;
	/* Others must not use its keys meanwhile: the library changes the object. */
	if (!pd || pthread_rwlock_trywrlock(&s->lock)) {
		leave(pd);
		return;
	}
	if (s->object)
		count(!ibv_rereg_mr(s->object, flags, pd->object,
				    area + at, some_length(at, access), access));
	pthread_rwlock_unlock(&s->lock);
	leave(pd);
}

/* ---- using ------------------------------------------------------------------ */

/* Of a region that is there, as a rule. */
static void some_sge(struct ibv_sge *sge)
{
	struct slot *s = use(MR);
	struct ibv_mr *mr = s ? s->object : NULL;

	sge->addr = mr && chance(95) ? (uintptr_t)mr->addr : (uintptr_t)area + below(AREA);
	sge->length = some(20000);
	sge->lkey = mr && chance(97) ? mr->lkey : some(0xffff);
	leave(s);
}

static void post_send(void)
{
	struct slot *s = use(QP), *target = use(MR), *ah = use(AH), *mw = use(MW);
	struct ibv_send_wr wr[4], *bad;
	struct ibv_sge sge[4][4];
	int i, k, n = 1 + below(4);
	struct ibv_mr *mr = target ? target->object : NULL;

	for (i = 0; s && i < n; i++) {
		memset(&wr[i], 0, sizeof(wr[i]));
		wr[i].wr_id = rnd();
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		wr[i].opcode = chance(97) ? below(IBV_WR_SEND_WITH_INV + 1) : some(20);
		wr[i].send_flags = chance(95) ? below(16) : rnd();
		wr[i].imm_data = rnd();
		wr[i].num_sge = chance(97) ? below(4) : 4;
		wr[i].sg_list = sge[i];
		for (k = 0; k < 4; k++)
			some_sge(&sge[i][k]);
		/* Inline data is read here: it must be there. */
		for (k = 0; wr[i].send_flags & IBV_SEND_INLINE && k < 4; k++) {
			sge[i][k].addr = (uintptr_t)area;
			sge[i][k].length = below(200);
		}
		if (((struct ibv_qp *)s->object)->qp_type == IBV_QPT_UD) {
			wr[i].wr.ud.ah = ah ? ah->object : NULL;
			wr[i].wr.ud.remote_qpn = some(0xffffff);
			wr[i].wr.ud.remote_qkey = some(3);
			if (!ah)
				wr[i].opcode = IBV_WR_RDMA_READ;
		} else if (wr[i].opcode == IBV_WR_BIND_MW) {
			wr[i].bind_mw.mw = mw ? mw->object : NULL;
			wr[i].bind_mw.rkey = mw ? ((struct ibv_mw *)mw->object)->rkey + 1 : 0;
			wr[i].bind_mw.bind_info.mr = mr;
			wr[i].bind_mw.bind_info.addr = mr ? (uintptr_t)mr->addr : 0;
			wr[i].bind_mw.bind_info.length = some(5000);
			wr[i].bind_mw.bind_info.mw_access_flags = some_access();
			if (!mw || !mr)
				wr[i].opcode = IBV_WR_LOCAL_INV;
		} else if (wr[i].opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			   wr[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr[i].wr.atomic.remote_addr = mr ? ((uintptr_t)mr->addr + 7) & ~7UL : rnd();
			wr[i].wr.atomic.rkey = mr ? mr->rkey : rnd();
		} else {
			wr[i].wr.rdma.remote_addr = mr ? (uintptr_t)mr->addr + some(100) : rnd();
			wr[i].wr.rdma.rkey = mr ? mr->rkey : rnd();
		}
	}
	if (s)
		count(!ibv_post_send(s->object, wr, &bad));
	leave(mw);
	leave(ah);
	leave(target);
	leave(s);
}

static void post_recv(void)
{
	bool shared = chance(30);
	struct slot *s = use(shared ? SRQ : QP);
	struct ibv_recv_wr wr = { .wr_id = rnd(), .num_sge = below(4) }, *bad;
	struct ibv_sge sge[4];
	int i;

	for (i = 0; i < 4; i++)
		some_sge(&sge[i]);
	wr.sg_list = sge;
	if (s)
		count(!(shared ? ibv_post_srq_recv(s->object, &wr, &bad) :
				 ibv_post_recv(s->object, &wr, &bad)));
	leave(s);
}

static void poll(void)
{
	struct slot *s = use(CQ);
	struct ibv_wc wc[8];

	if (s) {
		count(ibv_poll_cq(s->object, 8, wc) >= 0);
		if (chance(20))
			count(!ibv_req_notify_cq(s->object, below(2)));
	}
	leave(s);
}

/* The memory manager has its say, too. */
static void shake(void)
{
	uint32_t at = below(AREA) & ~4095U;

	madvise(area + at, 4096 << below(3), chance(50) ? MADV_DONTNEED : 21 /* PAGEOUT */);
}

static const struct {
	void (*run)(void);
	unsigned int weight;
} calls[] = {
	{ make_pd, 3 }, { make_mr, 6 }, { make_mw, 3 }, { make_cq, 3 }, { make_srq, 3 },
	{ make_qp, 8 }, { make_ah, 4 }, { step_qp, 30 }, { query, 2 }, { resize, 3 },
	{ rereg, 2 }, { post_send, 60 }, { post_recv, 40 }, { poll, 40 }, { shake, 2 },
};

static void *run(void *arg)
{
	unsigned int i, sum, at, number = (uintptr_t)arg;

	rng = 0x9e3779b97f4a7c15ULL * (number + 1);
	for (sum = 0, i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		sum += calls[i].weight;
	while (time(NULL) < end) {
		for (i = 0; i < 100; i++) {
			unsigned int k = 0;

			if (chance(4)) {
				destroy(below(KINDS));
				continue;
			}
			for (at = below(sum); at >= calls[k].weight; k++)
				at -= calls[k].weight;
			calls[k].run();
		}
	}
	return NULL;
}

static bool open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			contexts[devices] = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!contexts[devices])
		return false;
	for (i = 0; i < GIDS; i++)
		ibv_query_gid(contexts[devices], 1, i, &gids[devices][i]);
	devices++;
	return true;
}

/* Says where, since the log says only that. */
static void crashed(int sig)
{
	void *frames[32];

	backtrace_symbols_fd(frames, backtrace(frames, 32), STDOUT_FILENO);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The rest goes with the process, which is one more test. */
int main(int argc, char **argv)
{
	unsigned int i, k, threads;
	pthread_t thread[16];
	uint32_t seed;

	if (argc < 5) {
		fprintf(stderr, "usage: %s SECONDS THREADS SEED DEVICE...\n", argv[0]);
		return 2;
	}
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGABRT, crashed);
	end = time(NULL) + atoi(argv[1]);
	threads = atoi(argv[2]);
	seed = atoi(argv[3]);
	for (i = 4; i < (unsigned int)argc && devices < DEVICES; i++)
		if (!open_device(argv[i])) {
			fprintf(stderr, "%s: cannot be opened: %s\n", argv[i], strerror(errno));
			return 1;
		}
	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return 1;
	for (k = 0; k < KINDS; k++)
		for (i = 0; i < SLOTS; i++)
			pthread_rwlock_init(&slots[k][i].lock, NULL);
	if (!threads || threads > sizeof(thread) / sizeof(thread[0]))
		threads = 1;
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)(seed * 16 + i)))
			return 1;
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%lu calls succeeded, %lu failed\n", done[0], done[1]);
	return !done[0];
}
