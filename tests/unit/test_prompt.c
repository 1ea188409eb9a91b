// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "unit.h"
#include "proto/prompt.h"

#define TURN	(20 * 1000ULL)		/* from request to request, ns */

static u64 now;

/* A request comes, and the program answers @after ns later. Does the ACK wait? */
static bool takes_turn(struct rove_prompt *p, u64 *sent, u64 after)
{
	bool waits;

	now += TURN + after;
	waits = rove_prompt_alone(p, now, *sent);
	*sent = now + after;
	if (waits)
		rove_prompt_sent(p);
	return waits;
}

/* Requests until one waits, at most @most. */
static u32 turns_until_it_waits(struct rove_prompt *p, u64 *sent, u32 most)
{
	u32 n;

	for (n = 1; n <= most; n++)
		if (takes_turn(p, sent, 1000))
			return n;
	return 0;
}

static void begin(struct rove_prompt *p, u64 *sent)
{
	*p = (struct rove_prompt){};
	*sent = 0;
	now = 1000 * TURN;
}

TEST(waits_after_a_streak)
{
	struct rove_prompt p;
	u64 sent;
	int i;

	begin(&p, &sent);
	/* The first one has no answer to look back on. */
	CHECK_EQ(turns_until_it_waits(&p, &sent, 100), ROVE_PROMPT_STREAK + 1);
	for (i = 0; i < 100; i++)
		CHECK(takes_turn(&p, &sent, ROVE_PROMPT_SOON_NS));
}

TEST(never_where_nothing_is_sent)
{
	struct rove_prompt p;
	u64 sent;
	int i;

	begin(&p, &sent);
	for (i = 0; i < 1000; i++) {
		now += 1000;
		CHECK(!rove_prompt_alone(&p, now, 0));
	}
	/* What was sent before the request is no answer to it. */
	sent = now - 1;
	for (i = 0; i < 1000; i++) {
		now += 1000;
		CHECK(!rove_prompt_alone(&p, now, sent));
	}
}

/* Half of the streak is left. */
TEST(an_answer_that_was_not_soon)
{
	struct rove_prompt p;
	u64 sent;

	begin(&p, &sent);
	turns_until_it_waits(&p, &sent, 100);
	CHECK(takes_turn(&p, &sent, ROVE_PROMPT_SOON_NS + 1));
	CHECK(!takes_turn(&p, &sent, 1000));
	CHECK_EQ(turns_until_it_waits(&p, &sent, 100), ROVE_PROMPT_STREAK - ROVE_PROMPT_STREAK / 2);
}

/* It came after the ACK had been sent, but it came: nothing to doubt. */
TEST(an_answer_that_was_late)
{
	struct rove_prompt p;
	u64 sent;
	int i;

	begin(&p, &sent);
	for (i = 0; i < 100; i++)
		takes_turn(&p, &sent, 1000);
	now += TURN;
	CHECK(rove_prompt_alone(&p, now, sent));
	CHECK(rove_prompt_late(&p, now + ROVE_PROMPT_WAIT_NS));
	rove_prompt_sent(&p);
	/* Others may look before the next request comes. */
	CHECK(!rove_prompt_late(&p, now + 2 * ROVE_PROMPT_WAIT_NS));
	sent = now + 3 * ROVE_PROMPT_WAIT_NS;
	now = sent;
	CHECK(!takes_turn(&p, &sent, 1000));
	CHECK(takes_turn(&p, &sent, 1000));
	CHECK_EQ(p.doubt, 0);
}

TEST(a_crowd_ends_it)
{
	struct rove_prompt p;
	u64 sent;

	begin(&p, &sent);
	turns_until_it_waits(&p, &sent, 100);
	rove_prompt_crowd(&p);
	CHECK_EQ(turns_until_it_waits(&p, &sent, 100), ROVE_PROMPT_STREAK + 1);
}

/* The second request comes before the first one is answered: nothing waits any longer. */
TEST(only_one_waits)
{
	struct rove_prompt p;
	u64 sent;

	begin(&p, &sent);
	turns_until_it_waits(&p, &sent, 100);
	now += TURN;
	CHECK(rove_prompt_alone(&p, now, sent));
	sent = now + 1;
	CHECK(!rove_prompt_alone(&p, now + 2, sent));
	rove_prompt_sent(&p);
	/* That was in vain. */
	CHECK_EQ(turns_until_it_waits(&p, &sent, 100), 2 * ROVE_PROMPT_STREAK + 1);
}

/* Some more behind it come by themselves, too: that is one doubt, not one for each. */
TEST(many_in_a_row_are_one_doubt)
{
	struct rove_prompt p;
	u64 sent;
	int i;

	begin(&p, &sent);
	turns_until_it_waits(&p, &sent, 100);
	now += TURN;
	CHECK(rove_prompt_alone(&p, now, sent));
	for (i = 1; i <= 20; i++)
		CHECK(!rove_prompt_alone(&p, now + i, sent));
	CHECK_EQ(p.doubt, 1);
	rove_prompt_sent(&p);
	sent = now + i;
	CHECK_EQ(turns_until_it_waits(&p, &sent, 1000), 2 * ROVE_PROMPT_STREAK);
}

TEST(in_vain)
{
	struct rove_prompt p;
	u32 doubts, n;
	u64 sent;

	begin(&p, &sent);
	for (doubts = 0; doubts < ROVE_PROMPT_DOUBT_MAX + 3; doubts++) {
		u32 need = ROVE_PROMPT_STREAK << min(doubts, ROVE_PROMPT_DOUBT_MAX);

		n = turns_until_it_waits(&p, &sent, 100000);
		CHECK_EQ(n, need + 1);
		now += TURN;
		CHECK_EQ(rove_prompt_left(&p, now), 0);
		CHECK(rove_prompt_alone(&p, now, sent));
		CHECK_EQ(rove_prompt_left(&p, now), ROVE_PROMPT_WAIT_NS);
		CHECK_EQ(rove_prompt_left(&p, now + 10), ROVE_PROMPT_WAIT_NS - 10);
		CHECK_EQ(rove_prompt_left(&p, now + ROVE_PROMPT_WAIT_NS + 10), 1);
		CHECK(!rove_prompt_late(&p, now + ROVE_PROMPT_WAIT_NS - 1));
		CHECK(rove_prompt_late(&p, now + ROVE_PROMPT_WAIT_NS));
		rove_prompt_sent(&p);
		CHECK(!rove_prompt_late(&p, now + 2 * ROVE_PROMPT_WAIT_NS));
		now += 2 * ROVE_PROMPT_WAIT_NS;
		sent = 0;
	}
}

TEST(doubts_are_forgotten)
{
	struct rove_prompt p;
	u64 sent;
	u32 i;

	begin(&p, &sent);
	p.doubt = ROVE_PROMPT_DOUBT_MAX;
	for (i = 0; i < ROVE_PROMPT_FORGOTTEN; i++)
		takes_turn(&p, &sent, 1000);
	CHECK_EQ(p.doubt, ROVE_PROMPT_DOUBT_MAX);
	takes_turn(&p, &sent, 1000);
	CHECK_EQ(p.doubt, 0);
	/* The streak does not wrap. */
	for (i = 0; i < 10; i++)
		CHECK(takes_turn(&p, &sent, 1000));
	CHECK_EQ(p.streak, ROVE_PROMPT_FORGOTTEN);
}
