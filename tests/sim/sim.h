/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A world of two nodes, a wire in each direction and one clock, made from a seed
 * and nothing else.
 */
#ifndef ROVE_TESTS_SIM_H
#define ROVE_TESTS_SIM_H

#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/dirty.h"
#include "common/heap.h"
#include "common/rand.h"
#include "proto/req.h"
#include "proto/resp.h"
#include "proto/span.h"
#include "wire/pkt.h"

#define US		1000ULL
#define MS		1000000ULL

#define MAX_MSGS	96
#define MAX_RD		16
#define MAX_KEPT	48
#define MAX_INLINE	64
#define SQ_ENTRIES	32

#define RO_LEN		65536	/* only read by the peer */
#define RW_LEN		65536	/* written and read by the peer */
#define COUNTERS	4	/* for the peer's atomics */
#define RO_KEY		0x100
#define RW_KEY		0x200
#define COUNTER_KEY	0x300
#define SRQN		0x123	/* of both, XRC */
#define BASE_VA		0x7f0012340000ULL

/* One message of the programme that a node's application runs. */
struct msg {
	u8 op;			/* enum rove_wr_op */
	u8 flags;		/* enum rove_wr_flags */
	u8 sges;
	bool bad_lkey;
	bool bad_local;		/* cannot be executed */
	bool executed;		/* without packets: it was */
	bool bad_wqe;
	u32 len;
	u32 rkey;
	u32 imm;
	u64 va;
	u64 compare_add;
	u64 swap;
	u8 *buf;		/* what is sent, or where the answer goes */
	u8 *want;		/* READ, atomics: the answer */
	u32 rqe_len;		/* of the receive WQE that takes it; 0: any */
	bool lost;		/* UC: a packet of it did not arrive */
	bool arrived;		/* UC */
};

struct node {
	const char *name;
	struct world *world;
	struct node *peer;
	struct wire *out;

	struct rove_req req;
	struct rove_resp resp;
	struct rove_resp_saved saved[MAX_RD];
	struct rove_wqe_limits limits;
	u8 *slots;

	/* the application */
	struct msg msgs[MAX_MSGS];
	u32 num;
	u32 posted;
	u32 completed;
	u64 post_at;
	u32 fail_at;		/* message that is to fail, or num */
	u8 fail_with;		/* enum rove_fault */
	bool failed;
	u64 drain_at;		/* 0: never */
	u64 restart_at;
	u32 drained;

	/* what the peer may reach */
	u8 ro[RO_LEN];
	u8 rw[RW_LEN];
	u64 counter[COUNTERS];
	/* and what it must look like in the end: the peer's programme, run in order */
	u8 want_rw[RW_LEN];
	u64 want_counter[COUNTERS];

	/* receive queue: an entry for each message of the peer's that takes one */
	u32 recv_num;
	u32 recv_msg[MAX_MSGS];
	u8 *recv_buf[MAX_MSGS];
	u32 recv_len[MAX_MSGS];
	u32 recv_posted;
	u32 recv_taken;
	u32 recv_done;
	u64 recv_at;		/* when the next ones are posted */
	bool invalidated;
	u32 invalidated_key;
	u8 recv_fault;		/* enum rove_fault that a receive ended with */
	s32 recv_last;		/* UC: message that arrived last */

	/* requests that came too early, by PSN: node_keep.c */
	struct kept *kept[MAX_KEPT];
	u32 kept_num;

	/* the driver's part */
	u64 turn_at;		/* when it runs next; 0: nothing to do */
	u32 events;
	bool in_error;
	bool calls;		/* in this turn: the peer is given packets by function call */
	u64 spans;		/* packets given so, several at once */
	u32 una;		/* to see progress */
	u64 progress_at;
	u32 tally[ROVE_TALLIES];
};

struct packet {
	struct event arrival;	/* first */
	struct node *to;
	u32 len;		/* from the BTH to the ICRC */
	u8 bytes[];
};

struct wire {
	u32 loss, dup, corrupt, reorder;	/* per mille */
	u64 delay;
	u64 jitter;
	u64 dead_at;		/* 0: never */
	u64 last;
	u32 local_drop;		/* per mille: the stack does not even take it */
};

enum kind {
	LOSSY,			/* everything arrives in the end */
	CLEAN,			/* the wire loses nothing: nothing is sent twice */
	DEAD,			/* the wire dies */
	FAULTY,			/* one message is wrong */
	UNRELIABLE,		/* UC: each message arrives whole and once, or not at all */
	KINDS
};

struct world {
	u64 seed;
	u64 rng;
	u64 now;
	u8 kind;
	bool rnr;		/* receives are posted late */
	bool xrc;		/* XRC, not RC */
	u32 absent;		/* per mille: memory that is not there when it is needed */
	u32 unkept;		/* per mille: packets that there is no room to keep */
	u32 near;		/* per mille: turns that give packets by function call */
	struct node node[2];
	struct wire wire[2];
	struct heap under_way;	/* packets */
	u64 packets;
};

extern int verbose;

#define trace(n, ...) do {						\
	if (verbose) {							\
		printf("%10.3f us %s: ", (n)->world->now / 1e3, (n)->name); \
		printf(__VA_ARGS__);					\
		putchar('\n');						\
	}								\
} while (0)

/* enum rove_wqe_prop of a message's operation */
static inline bool msg_is(const struct msg *m, u32 props)
{
	return rove_wqe_props[m->op] & props;
}

static inline u64 sim_rand(struct world *w)
{
	return rand_next(&w->rng);
}

/* 0 to n - 1 */
static inline u32 sim_below(struct world *w, u32 n)
{
	return sim_rand(w) % n;
}

static inline bool sim_chance(struct world *w, u32 per_mille)
{
	return sim_below(w, 1000) < per_mille;
}

/* scene.c: what is simulated */
void scene_make(struct world *w);
void scene_print(const struct world *w);
void scene_free(struct world *w);

/* node.c: what the kernel module does around the machines */
void node_receive(struct node *n, const struct packet *p);
/* The same by function call, as the peer's machine gave it. */
void node_take(struct node *n, const struct rove_pkt *sent, const u8 *payload);
void node_run(struct node *n);
u64 node_wants_run(const struct node *n);
bool node_at_rest(const struct node *n);

/* node_keep.c: a packet that came too early, and the one whose turn it is, or NULL */
struct kept {
	u32 psn;
	u32 len;
	u8 bytes[];
};

void keep_packet(struct node *n, u32 psn, const u8 *bytes, u32 len);
struct kept *keep_take(struct node *n);
void keep_forget(struct node *n);

/* Requests, answers from @n to its peer, several at once. False: none. node_span.c */
bool span_give_request(struct node *n);
bool span_give_answer(struct node *n);
/* The same by packets on the wire; @fault is that of the next one. */
bool span_send_request(struct node *n, enum rove_fault *fault);
bool span_send_answer(struct node *n, enum rove_fault *fault);
/* A packet came: is it to be taken as a span? */
bool span_is_used(struct node *n, const struct rove_pkt *pkt, struct rove_span *s);

/* node.c, for those: SGEs and memory of a node */
enum rove_fault node_copy_sges(struct node *n, const struct rove_swqe *w, u32 off, u8 *p, u32 len,
			       bool in);
u8 *node_find_mr(struct node *n, u32 rkey, u64 va, u64 len, bool write);
enum rove_fault node_fill_request(struct node *n, const struct rove_seg *seg, u8 *payload);
bool node_absent(struct node *n);
void node_check_req(struct node *n);
void node_note_progress(struct node *n);

/* wire.c */
/* False: it will not arrive. */
bool wire_send(struct node *from, struct rove_seg *seg, const u8 *payload);
struct packet *wire_next(struct world *w, u64 until);
u64 wire_next_at(const struct world *w);

#endif /* ROVE_TESTS_SIM_H */
