// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What people look at. */
#include "scale.h"

static int by_size(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* (sum x)^2 / (n sum x^2) of the flows' rates: 1 is fair, 1/n is one for all. */
static double jain(const struct scale *s)
{
	double sum = 0, squares = 0;
	u32 i;

	for (i = 0; i < s->conf.flows; i++) {
		const struct flow *f = &s->flows[i];
		double rate = f->end ? (double)f->bytes / f->end : 0;

		sum += rate;
		squares += rate * rate;
	}
	return squares ? sum * sum / (s->conf.flows * squares) : 1;
}

static void report_times(const struct scale *s)
{
	u64 num = (u64)s->conf.flows * s->conf.messages, k = 0;
	u64 *times = malloc(num * sizeof(*times));
	u32 i;

	for (i = 0; i < s->conf.flows; i++) {
		memcpy(times + k, s->flows[i].posted_at, s->conf.messages * sizeof(*times));
		k += s->conf.messages;
	}
	qsort(times, num, sizeof(*times), by_size);
	printf("# messages: %llu; from post to completion, us: median %.0f, 99%% %.0f, "
	       "99.9%% %.0f, longest %.0f\n", (unsigned long long)num, times[num / 2] / 1e3,
	       times[num - 1 - num / 100] / 1e3, times[num - 1 - num / 1000] / 1e3,
	       times[num - 1] / 1e3);
	free(times);
}

void report(const struct scale *s)
{
	const struct conf *c = &s->conf;
	/* What bounds it: one link, or those of all hosts. */
	double links = c->incast ? 1 : min(c->hosts, c->flows);
	double rate = s->end ? s->bytes * 8e3 / s->end : 0, share = 100 * rate / links / c->rate;
	double again = s->packets ? 100.0 * s->resent / s->packets : 0;
	const u64 *t = s->tally;
	u64 dropped = 0, all = 0;
	u32 i;

	for (i = 0; i < c->hosts; i++) {
		dropped += s->down[i].dropped;
		all += s->down[i].sent + s->down[i].dropped;
	}
	printf("# goodput: %.2f Gbit/s in %.1f ms, %.0f %% of the rate; fairness %.3f\n",
	       rate / 1e3, s->end / 1e6, share, jain(s));
	printf("# packets: %llu sent, %.1f %% of them again; %.1f %% of all dropped at the switch, "
	       "%llu by hosts, %llu lost\n", (unsigned long long)s->packets, again,
	       all ? 100.0 * dropped / all : 0, (unsigned long long)s->lost_here,
	       (unsigned long long)s->lost);
	printf("# sequence NAKs %llu, timeouts %llu, duplicates %llu, out of sequence %llu\n",
	       (unsigned long long)t[ROVE_TALLY_NAK_SEQ_SENT],
	       (unsigned long long)t[ROVE_TALLY_TIMEOUT],
	       (unsigned long long)t[ROVE_TALLY_DUPLICATE],
	       (unsigned long long)t[ROVE_TALLY_OUT_OF_SEQ]);
	report_times(s);
	CHECK(share >= c->goodput, "goodput is %.1f %%, not %u", share, c->goodput);
	CHECK(again <= c->again, "%.1f %% of the packets are sent again, not %u", again, c->again);
}
