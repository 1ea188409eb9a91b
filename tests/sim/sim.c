// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * sim [--seed N [-v]] | [--from N] [--seeds N]
 *
 * Each seed is a scene of its own, run to its end and then looked at. Seeds run in
 * child processes, so that one that fails takes nothing with it.
 */
#include <stdarg.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"

#define MAX_STEPS	4000000U
#define MAX_TIME	(3600 * 1000 * MS)
#define SEED_SECONDS	30	/* of processor time: the machine may be busy */
#define BATCH_SEEDS	50	/* seeds in one child */
#define MAX_SHOWN	20

int verbose;
static u64 current;
static const char *program;

void sim_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "seed %llu: %s:%d: ", (unsigned long long)current, file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

static u64 next_time(const struct world *w)
{
	u64 at[3] = { wire_next_at(w), node_wants_run(&w->node[0]), node_wants_run(&w->node[1]) };
	u64 first = 0;
	u32 i;

	for (i = 0; i < 3; i++)
		if (at[i] && (!first || at[i] < first))
			first = at[i];
	return first;
}

static void run(struct world *w)
{
	struct packet *p;
	u32 steps, i;
	u64 at;

	for (steps = 0; (at = next_time(w)); steps++) {
		CHECK(steps < MAX_STEPS, "runs in circles");
		CHECK(at < MAX_TIME, "never ends");
		if (at > w->now)
			w->now = at;
		while ((p = wire_next(w, w->now))) {
			node_receive(p->to, p);
			free(p);
		}
		for (i = 0; i < 2; i++) {
			at = node_wants_run(&w->node[i]);
			if (at && at <= w->now)
				node_run(&w->node[i]);
		}
	}
}

static void check_memory(const struct node *n)
{
	u32 i;

	for (i = 0; i < RW_LEN; i++)
		CHECK(n->rw[i] == n->want_rw[i], "%s: memory differs at byte %u", n->name, i);
	for (i = 0; i < COUNTERS; i++)
		CHECK(n->counter[i] == n->want_counter[i], "%s: counter %u differs", n->name, i);
}

/*
 * UC: what has lost no packet arrives, if nothing was overtaken on the way; of the
 * rest there may be a part, but nothing else.
 */
static void check_unreliable(const struct node *n)
{
	const struct node *peer = n->peer;
	u32 i, b, off;

	for (i = 0; i < peer->num; i++) {
		const struct msg *m = &peer->msgs[i];
		bool whole = !m->lost && !peer->out->reorder;

		CHECK(!m->arrived || !m->lost, "%s: message %u arrived, and was lost", n->name, i);
		if (m->op != ROVE_WR_WRITE)
			CHECK(m->arrived || !whole, "%s: message %u did not arrive", n->name, i);
		off = m->va - BASE_VA;
		for (b = 0; m->op >= ROVE_WR_WRITE && whole && b < m->len; b++)
			CHECK(n->rw[off + b] == m->buf[b], "%s: message %u: byte %u", n->name, i,
			      b);
	}
	CHECK(!n->tally[ROVE_TALLY_RETRANSMIT] && !n->tally[ROVE_TALLY_ACK_SENT],
	      "%s: UC sends again, or answers", n->name);
	if (!peer->out->reorder && !peer->out->loss && !peer->out->corrupt &&
	    !peer->out->local_drop)
		check_memory(n);
}

static bool sends_packets(const struct node *n)
{
	u32 i;

	for (i = 0; i < n->num; i++)
		if (!msg_is(&n->msgs[i], ROVE_WQEP_LOCAL))
			return true;
	return false;
}

static void check_node(const struct node *n)
{
	const struct world *w = n->world;
	const u32 *t = n->tally;

	CHECK(n->posted == n->num && n->completed == n->num, "%s: %u of %u messages completed",
	      n->name, n->completed, n->num);
	CHECK(node_at_rest(n), "%s: not at rest in the end", n->name);
	if (w->kind == LOSSY || w->kind == CLEAN) {
		CHECK(!n->failed && !n->in_error, "%s failed", n->name);
		CHECK(n->recv_done == n->recv_num, "%s: %u of %u receives", n->name, n->recv_done,
		      n->recv_num);
		CHECK(n->events == (sends_packets(n->peer) ? ROVE_QPE_COMM_EST : 0), "%s: events %x",
		      n->name, n->events);
		check_memory(n);
	}
	if (w->kind == UNRELIABLE) {
		CHECK(!n->failed && !n->in_error, "%s failed", n->name);
		check_unreliable(n);
		return;
	}
	if (w->kind == CLEAN)
		CHECK(!t[ROVE_TALLY_RETRANSMIT] && !t[ROVE_TALLY_TIMEOUT] &&
		      !t[ROVE_TALLY_DUPLICATE] && !t[ROVE_TALLY_OUT_OF_SEQ] &&
		      !t[ROVE_TALLY_RNR_SENT], "%s: sent twice on a clean wire", n->name);
	if (w->kind == FAULTY && n == w->node)
		CHECK(n->failed, "%s: no failure", n->name);
	/* What the sender knows to be done has been done. */
	if (n->recv_num && !n->recv_fault && n->peer->fail_with != ROVE_FAULT_RNR_RETRY) {
		u32 i, sure = 0;

		for (i = 0; i < n->recv_num; i++)
			sure += n->recv_msg[i] < n->peer->completed && !n->peer->failed;
		CHECK(n->recv_done >= sure, "%s: %u receives, %u sends done", n->name, n->recv_done,
		      sure);
	}
}

/* The peer of the one that sent what was wrong was told, and tells. */
static void check_peer(const struct world *w)
{
	const struct node *a = &w->node[0], *b = &w->node[1];

	if (w->kind != FAULTY)
		return;
	CHECK(a->recv_fault == ROVE_FAULT_NONE, "A: receive fault %u", a->recv_fault);
	switch (a->fail_with) {
	case ROVE_FAULT_PEER_ACCESS:
		CHECK(b->in_error && (b->events & ROVE_QPE_ACCESS_ERR), "B: no access error");
		break;
	case ROVE_FAULT_PEER_INVALID:
		CHECK(b->in_error && b->recv_fault == ROVE_FAULT_LOCAL_LEN,
		      "B: receive fault %u", b->recv_fault);
		break;
	case ROVE_FAULT_RNR_RETRY:
		CHECK(b->tally[ROVE_TALLY_RNR_SENT] == a->req.conf.rnr_retry + 1U,
		      "B: %u RNR NAKs", b->tally[ROVE_TALLY_RNR_SENT]);
		break;
	}
}

static void run_seed(u64 seed)
{
	struct world *w = calloc(1, sizeof(*w));

	current = seed;
	w->seed = seed;
	w->rng = seed;
	scene_make(w);
	if (verbose)
		scene_print(w);
	run(w);
	check_node(&w->node[0]);
	check_node(&w->node[1]);
	check_peer(w);
	if (verbose)
		printf("seed %llu: passed, %llu packets, %llu us\n", (unsigned long long)seed,
		       (unsigned long long)w->packets, (unsigned long long)(w->now / US));
	scene_free(w);
	free(w);
}

/*
 * Runs seeds in a child until one fails.
 *
 * Return: how many passed.
 */
static u64 run_child(u64 from, u64 num)
{
	static const struct itimerval limit = { .it_value.tv_sec = SEED_SECONDS };
	u64 passed = 0, i;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		exit(2);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		exit(2);
	if (!pid) {
		for (i = 0; i < num; i++) {
			setitimer(ITIMER_PROF, &limit, NULL);
			run_seed(from + i);
			if (write(fds[1], "", 1) != 1)
				_exit(1);
		}
		exit(0);	/* where leaks are looked for */
	}
	close(fds[1]);
	for (;;) {
		char c;

		if (read(fds[0], &c, 1) != 1)
			break;
		passed++;
	}
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return passed;
}

static int run_seeds(u64 from, u64 num)
{
	u64 passed = 0, failed = 0, end = from + num;

	while (from < end) {
		u64 n = min(end - from, (u64)BATCH_SEEDS), ok = run_child(from, n);

		passed += ok;
		from += ok;
		if (ok == n)
			continue;
		if (failed++ < MAX_SHOWN)
			printf("%s --seed %llu -v\n", program, (unsigned long long)from);
		fflush(stdout);
		from++;
	}
	printf("%llu passed, %llu failed\n", (unsigned long long)passed,
	       (unsigned long long)failed);
	return failed != 0;
}

int main(int argc, char **argv)
{
	u64 from = 1, num = 1000, seed = 0;
	bool single = false;
	int i;

	program = argv[0];
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v")) {
			verbose = 1;
		} else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
			seed = strtoull(argv[++i], NULL, 0);
			single = true;
		} else if (!strcmp(argv[i], "--from") && i + 1 < argc) {
			from = strtoull(argv[++i], NULL, 0);
		} else if (!strcmp(argv[i], "--seeds") && i + 1 < argc) {
			num = strtoull(argv[++i], NULL, 0);
		} else {
			fprintf(stderr, "usage: %s [--seed N [-v]] | [--from N] [--seeds N]\n",
				argv[0]);
			return 2;
		}
	}
	if (!single)
		return run_seeds(from, num);
	run_seed(seed);
	printf("seed %llu passed\n", (unsigned long long)seed);
	return 0;
}
