/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder: an ACK that may wait for the program's own answer.
 *
 * Where two programs take turns, each request is followed by one of the other side, which
 * could carry the ACK along: one skb in place of two. So when a request comes alone, again
 * and again, and something is sent soon after, the ACK of the next one waits for that. (TCP
 * does so for interactive connections.) It is sent by itself when nothing came in time,
 * which is short beside what requesters are told to wait before they send again. If the
 * peer went on then without an answer, it did not wait for one, but maybe for the ACK; so it
 * takes longer to be believed again. If it did get one, the program was late for once.
 */
#ifndef ROVE_PROTO_PROMPT_H
#define ROVE_PROTO_PROMPT_H

#include "../base.h"

/* An answer within this was soon, ns. */
#define ROVE_PROMPT_SOON_NS	1000000U
/* So long an ACK waits, ns. */
#define ROVE_PROMPT_WAIT_NS	4000000U
/* So many answers in a row are needed; twice as many for each doubt. */
#define ROVE_PROMPT_STREAK	8U
#define ROVE_PROMPT_DOUBT_MAX	10U
/* Doubts are forgotten after so many in a row. */
#define ROVE_PROMPT_FORGOTTEN	65536U

/* The responder's; all zero at first. */
struct rove_prompt {
	u64 came;		/* ns; the last request that came alone, 0: the last one did not */
	u64 since;		/* ns; an ACK waits since then, 0: none does */
	u32 streak;		/* answers in a row that were soon */
	u32 doubt;
	bool late;		/* the last ACK waited for too long */
};

/* Several requests at once: nobody takes turns. */
static inline void rove_prompt_crowd(struct rove_prompt *p)
{
	p->came = 0;
	p->streak = 0;
	p->late = false;
}

/* An ACK waited for nothing. More requests may find that it still does: they say no more. */
static inline void rove_prompt_in_vain(struct rove_prompt *p)
{
	if (p->streak && p->doubt < ROVE_PROMPT_DOUBT_MAX)
		p->doubt++;
	p->streak = 0;
}

/**
 * rove_prompt_alone() - a request came alone, and an ACK is owed
 * @now:  ns
 * @sent: ns; when the requester half sent something last, 0: never
 *
 * Return: true if the ACK is to wait, until rove_prompt_left() has passed.
 */
static inline bool rove_prompt_alone(struct rove_prompt *p, u64 now, u64 sent)
{
	bool answered = p->came && sent >= p->came, late = p->late;
	u64 took = sent - p->came;

	p->came = now;
	p->late = false;
	if (p->since || (late && !answered)) {
		rove_prompt_in_vain(p);
		return false;
	}
	if (!answered || took > ROVE_PROMPT_SOON_NS) {
		p->streak = answered ? p->streak / 2 : 0;
		return false;
	}
	if (++p->streak >= ROVE_PROMPT_FORGOTTEN) {
		p->streak = ROVE_PROMPT_FORGOTTEN;
		p->doubt = 0;
	}
	if (p->streak < ROVE_PROMPT_STREAK << p->doubt)
		return false;
	WRITE_ONCE(p->since, now);
	return true;
}

/* The ACK goes; with the answer or not. */
static inline void rove_prompt_sent(struct rove_prompt *p)
{
	WRITE_ONCE(p->since, 0);
}

/* Before one is sent by itself at @now: true if it has waited in vain. */
static inline bool rove_prompt_late(struct rove_prompt *p, u64 now)
{
	if (likely(!p->since) || now - p->since < ROVE_PROMPT_WAIT_NS)
		return false;
	p->late = true;
	return true;
}

/* Anybody: when at @now an ACK would have waited too long, in ns; 0: none waits. */
static inline u64 rove_prompt_left(const struct rove_prompt *p, u64 now)
{
	u64 since = READ_ONCE(p->since);

	if (!since)
		return 0;
	return now - since < ROVE_PROMPT_WAIT_NS ? ROVE_PROMPT_WAIT_NS - (now - since) : 1;
}

#endif /* ROVE_PROTO_PROMPT_H */
