// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cpumask.h>
#include "stats.h"

/* All statistics: index and name. */
#define STATS(X)						\
	X(ROVE_STAT_TX_PACKETS, "tx_packets")			\
	X(ROVE_STAT_TX_BYTES, "tx_bytes")			\
	X(ROVE_STAT_TX_TRAINS, "tx_trains")			\
	X(ROVE_STAT_TX_DROPPED, "tx_dropped")			\
	X(ROVE_STAT_RX_PACKETS, "rx_packets")			\
	X(ROVE_STAT_RX_BYTES, "rx_bytes")			\
	X(ROVE_STAT_RX_TRAINS, "rx_trains")			\
	X(ROVE_STAT_DOORBELLS, "doorbells")			\
	X(ROVE_STAT_KICKS, "kicks")				\
	X(ROVE_STAT_WAKEUPS, "wakeups")				\
	X(ROVE_STAT_CQ_OVERFLOW, "cq_overflow")			\
	TALLY(X, RETRANSMIT, "retransmits")			\
	TALLY(X, TIMEOUT, "timeouts")				\
	TALLY(X, RETRY_EXC, "retry_exceeded")			\
	TALLY(X, RNR_RETRY_EXC, "rnr_retry_exceeded")		\
	TALLY(X, ACK_RCVD, "acks_rcvd")				\
	TALLY(X, RNR_RCVD, "rnr_rcvd")				\
	TALLY(X, NAK_SEQ_RCVD, "nak_seq_rcvd")			\
	TALLY(X, NAK_INVALID_RCVD, "nak_invalid_rcvd")		\
	TALLY(X, NAK_ACCESS_RCVD, "nak_access_rcvd")		\
	TALLY(X, NAK_OP_RCVD, "nak_op_rcvd")			\
	TALLY(X, READ_RESUMED, "reads_resumed")			\
	TALLY(X, DUPLICATE, "duplicates")			\
	TALLY(X, OUT_OF_SEQ, "out_of_sequence")			\
	TALLY(X, ACK_SENT, "acks_sent")				\
	TALLY(X, RNR_SENT, "rnr_sent")				\
	TALLY(X, NAK_SEQ_SENT, "nak_seq_sent")			\
	TALLY(X, NAK_INVALID_SENT, "nak_invalid_sent")		\
	TALLY(X, NAK_ACCESS_SENT, "nak_access_sent")		\
	TALLY(X, NAK_OP_SENT, "nak_op_sent")			\
	DROP(X, NONE, "drop_other")				\
	DROP(X, SHORT, "drop_short")				\
	DROP(X, OPCODE, "drop_opcode")				\
	DROP(X, VERSION, "drop_version")			\
	DROP(X, PAD, "drop_pad")				\
	DROP(X, LENGTH, "drop_length")				\
	DROP(X, ICRC, "drop_icrc")				\
	DROP(X, QPN, "drop_qpn")				\
	DROP(X, TRANSPORT, "drop_transport")			\
	DROP(X, STATE, "drop_state")				\
	DROP(X, ADDR, "drop_addr")				\
	DROP(X, PKEY, "drop_pkey")				\
	DROP(X, QKEY, "drop_qkey")				\
	DROP(X, PSN, "drop_psn")				\
	DROP(X, STALE, "drop_stale")				\
	DROP(X, SEQ, "drop_seq")				\
	DROP(X, NO_RQE, "drop_no_rqe")				\
	DROP(X, FAULT, "drop_fault")				\
	DROP(X, DUP, "drop_dup")				\
	DROP(X, NOMEM, "drop_nomem")				\
	DROP(X, BUSY, "drop_busy")				\
	DROP(X, CNP, "drop_cnp")				\
	DROP(X, XFRM, "drop_xfrm")

#define TALLY(X, tally, name)	X(ROVE_STAT_TALLY + ROVE_TALLY_ ## tally, name)
#define DROP(X, why, name)	X(ROVE_STAT_DROP + ROVE_DROP_ ## why, name)

/* Each index has a name: the bits of all entries, in two words. */
#define LOW(i, name)		| ((i) < 64 ? 1ULL << ((i) & 63) : 0)
#define HIGH(i, name)		| ((i) < 64 ? 0 : 1ULL << ((i) & 63))
static_assert(ROVE_STATS < 128);
static_assert((0 STATS(LOW)) == ~0ULL >> (ROVE_STATS < 64 ? 64 - ROVE_STATS : 0));
static_assert((0 STATS(HIGH)) == (ROVE_STATS < 64 ? 0 : (1ULL << (ROVE_STATS & 63)) - 1));

#define DESC(i, text)		[i] = { .name = (text) },
const struct rdma_stat_desc rove_stat_descs[ROVE_STATS] = { STATS(DESC) };

u64 rove_stat_sum(struct rove_stats __percpu *s, unsigned int i)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(s, cpu)->n[i]);
	return sum;
}
