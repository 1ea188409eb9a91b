// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * scale [NAME=VALUE...], see options[]
 *
 * One run, with the checks of flow.c and half.c, and a report.
 */
#include <stdarg.h>
#include <unistd.h>

#include "scale.h"

#define MAX_TIME	(600 * SEC)

static int argc_;
static char **argv_;

static const struct option {
	const char *name;
	size_t where;
	u32 usual;
} options[] = {
#define OPTION(n, v)	{ #n, offsetof(struct conf, n), v }
	OPTION(seed, 1),
	OPTION(hosts, 65),
	OPTION(flows, 256),
	OPTION(incast, 0),
	OPTION(messages, 16),
	OPTION(depth, 4),
	OPTION(len, 65536),
	OPTION(vary, 0),
	OPTION(op, ROVE_WR_OPS),
	OPTION(mtu, 1024),
	OPTION(rate, 10000),
	OPTION(delay, 1000),
	OPTION(buffer, 4096),
	OPTION(backlog, 32768),
	OPTION(loss, 0),
	OPTION(timeout, 14),
	OPTION(retries, 7),
	OPTION(window, 1024),
	OPTION(keep, 1024),
	OPTION(goodput, 0),
	OPTION(again, 100),
};

static void say_run(const char *verdict, const char *program)
{
	int i;

	printf("%s %s", verdict, program);
	for (i = 1; i < argc_; i++)
		printf(" %s", argv_[i]);
	putchar('\n');
	fflush(stdout);
}

void sim_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	say_run("# again:", argv_[0]);
	say_run("not ok", "scale");
	_exit(1);
}

static bool parse(struct conf *c)
{
	size_t k, len;
	int i;

	for (k = 0; k < ARRAY_SIZE(options); k++)
		*(u32 *)((u8 *)c + options[k].where) = options[k].usual;
	for (i = 1; i < argc_; i++) {
		for (k = 0; k < ARRAY_SIZE(options); k++) {
			len = strlen(options[k].name);
			if (!strncmp(argv_[i], options[k].name, len) && argv_[i][len] == '=')
				break;
		}
		if (k == ARRAY_SIZE(options))
			return false;
		*(u32 *)((u8 *)c + options[k].where) = strtoul(argv_[i] + len + 1, NULL, 0);
	}
	return c->hosts > 1 && c->flows && c->messages && c->depth && c->rate;
}

static void usage(void)
{
	size_t k;

	fputs("usage: scale [NAME=VALUE...], of", stderr);
	for (k = 0; k < ARRAY_SIZE(options); k++)
		fprintf(stderr, " %s=%u", options[k].name, options[k].usual);
	fputc('\n', stderr);
}

static void make(struct scale *s)
{
	const struct conf *c = &s->conf;
	u32 i;

	s->rng = c->seed;
	s->hosts = calloc(c->hosts, sizeof(*s->hosts));
	s->up = calloc(2 * c->hosts, sizeof(*s->up));
	s->down = s->up + c->hosts;
	s->flows = calloc(c->flows, sizeof(*s->flows));
	for (i = 0; i < c->hosts; i++)
		s->hosts[i].turn.kind = HOST_TURN;
	for (i = 0; i < c->flows; i++)
		flow_init(s, i);
}

static void run(struct scale *s)
{
	struct event *e;

	while (heap_first(&s->heap)) {
		e = heap_take(&s->heap);
		s->now = e->at;
		CHECK(s->now < MAX_TIME, "never ends");
		switch (e->kind) {
		case LINK_ARRIVAL:
			fabric_arrived(s, (struct link *)e);
			break;
		case HOST_TURN:
			host_turn(s, (struct host *)e);
			break;
		case FLOW_TIMER:
			host_wake(s, &((struct flow *)e)->req_half);
			break;
		}
	}
}

int main(int argc, char **argv)
{
	static struct scale s;
	u32 i;

	argc_ = argc;
	argv_ = argv;
	if (!parse(&s.conf)) {
		usage();
		return 2;
	}
	make(&s);
	run(&s);
	for (i = 0; i < s.conf.flows; i++)
		flow_at_rest(&s.flows[i]);
	report(&s);
	say_run("ok", "scale");
	for (i = 0; i < s.conf.flows; i++)
		flow_free(&s.flows[i]);
	free(s.flows);
	free(s.up);
	free(s.hosts);
	free(s.heap.slots);
	return 0;
}
