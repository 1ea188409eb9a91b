/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Many hosts around one switch, many queue pairs between them. As in sim.h all follows
 * from a seed; unlike there the machines meet no odd messages and no faults, but each
 * other, in queues that overflow.
 */
#ifndef ROVE_TESTS_SCALE_H
#define ROVE_TESTS_SCALE_H

#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/dirty.h"
#include "common/heap.h"
#include "common/rand.h"
#include "proto/req.h"
#include "proto/resp.h"
#include "wire/pkt.h"

#define US		1000ULL
#define MS		1000000ULL
#define SEC		1000000000ULL

#define QPN_FIRST	16	/* of flow f: requester QPN_FIRST + 2 f, responder one more */
#define BASE_VA		0x7f0012340000ULL
#define AREA_KEY	0x200	/* written by the peer */
#define SOURCE_KEY	0x100	/* read by the peer */
#define COUNTER_KEY	0x300	/* for the peer's atomics */
#define MAX_RD		16

enum event_kind {
	LINK_ARRIVAL,
	HOST_TURN,
	FLOW_TIMER,
};

/* Options of the command, by their names. */
struct conf {
	u32 seed;
	u32 hosts;
	u32 flows;		/* pairs of a requester and a responder */
	u32 incast;		/* all to the last host; 0: each to any */
	u32 messages;		/* of each flow */
	u32 depth;		/* of them posted at a time */
	u32 len;		/* bytes of the longest message */
	u32 vary;		/* lengths from 0 on; 0: all are the longest */
	u32 op;			/* enum rove_wr_op, or above: any */
	u32 mtu;
	u32 rate;		/* of each link, Mbit/s */
	u32 delay;		/* of each link, ns */
	u32 buffer;		/* of the switch, shared by its ports, KiB */
	u32 backlog;		/* of a host, KiB */
	u32 loss;		/* packets in a million that links lose */
	u32 timeout;		/* as verbs have it */
	u32 retries;		/* as verbs have it */
	u32 window;		/* KiB */
	u32 keep;		/* packets that a responder keeps which came too early */
	u32 goodput;		/* per cent of what the links carry that must be reached */
	u32 again;		/* per cent of the packets that may be sent again */
};

/* What a payload holds: the bytes from @off on of all that @key stands for. */
struct content {
	u64 key;
	u32 off;
};

struct packet {
	struct packet *next;
	u64 at;			/* of arrival at the end of its link */
	u32 host;		/* where it goes */
	u32 len;		/* from the BTH to the ICRC */
	struct content content;
	u8 hdr[ROVE_MAX_HDR];
};

/* One direction of a cable, with the queue before it: first in, first out. */
struct link {
	struct event arrival;	/* of the first packet; first */
	struct packet *head, *tail;
	u64 free_at;		/* when all that is queued has left */
	u64 sent;		/* packets */
	u64 dropped;		/* packets that found the queue full */
};

/* A machine that is to have its turn. */
struct half {
	struct half *next;
	struct flow *flow;
	u32 host;
	bool queued;
	bool is_req;
};

struct host {
	struct event turn;	/* first */
	struct half *head, *tail;
};

/* A message, as it follows from flow and number. */
struct message {
	u8 op;			/* enum rove_wr_op */
	u32 len;
	u32 imm;
	u64 key;		/* of its content */
	u64 va;
};

/* A request that came too early. */
struct kept {
	struct rove_pkt pkt;
	struct content content;
};

struct flow {
	struct event timer;	/* first; never later than the requester's deadline */
	struct scale *s;
	u32 num;
	struct half req_half, resp_half;

	struct rove_req req;
	u8 *slots;
	u32 posted;
	u32 completed;
	u32 *read_done;		/* bytes so far of each READ that is posted */
	u64 added;		/* atomics completed */
	u64 *posted_at;		/* of each message, then how long it took */
	u64 bytes;
	u64 end;		/* when the last one completed */

	struct rove_resp resp;
	struct rove_resp_saved saved[MAX_RD];
	u8 *area;		/* depth messages */
	struct kept *kept;	/* by PSN */
	u32 kept_num;
	u64 counter;
	u32 recv_next;		/* message to look from for the next that takes a receive */
	u32 recv_msg;		/* that holds one */
	u32 recv_done;
	bool recv_held;
};

struct scale {
	struct conf conf;
	u64 now;
	u64 rng;
	struct heap heap;
	struct flow *flows;
	struct host *hosts;
	struct link *up;	/* of each host to the switch */
	struct link *down;	/* of the switch to each host */
	u64 lost;		/* by links, as they were told to */
	u64 packets;		/* of requesters; READ responses too */
	u64 resent;
	u64 lost_here;		/* by the host's own queue */
	u64 tally[ROVE_TALLIES];
	u64 bytes;		/* of messages that are done */
	u64 end;
};

static inline u32 req_qpn(const struct flow *f)
{
	return QPN_FIRST + 2 * f->num;
}

/* flow.c: what is sent, and how it must arrive */
void flow_init(struct scale *s, u32 num);
void flow_free(struct flow *f);
void flow_at_rest(const struct flow *f);
struct message flow_message(const struct flow *f, u32 num);
u64 flow_read_key(const struct flow *f);
u32 flow_stride(const struct flow *f);
void content_write(u8 *p, const struct content *from, u32 len);
void content_check(const struct flow *f, const u8 *p, const struct content *want, u32 len);

/* keep.c: a request that came too early; and the one whose turn it is, if there is one */
void keep_packet(struct flow *f, const struct rove_pkt *pkt, const struct content *content);
bool keep_take(struct flow *f, struct kept *k);

/* half.c: what the kernel module does around the machines */
void half_receive(struct scale *s, struct packet *p);
/* How many packets it sent. */
u32 half_turn(struct scale *s, struct half *h);

/* host.c */
void host_wake(struct scale *s, struct half *h);
void host_turn(struct scale *s, struct host *host);

/* fabric.c; False: the host's queue is full. */
bool fabric_send(struct scale *s, u32 from, struct packet *p);
void fabric_arrived(struct scale *s, struct link *link);

/* report.c; and what was asked for must have been reached */
void report(const struct scale *s);

#endif /* ROVE_TESTS_SCALE_H */
