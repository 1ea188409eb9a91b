// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cpumask.h>
#include "stats.h"

u64 rove_stat_sum(struct rove_stats __percpu *s, unsigned int i)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(s, cpu)->n[i]);
	return sum;
}

/* Switches without a default: the compiler tells when a name is missing. */

static const char *drop_name(enum rove_drop why)
{
	switch (why) {
	case ROVE_DROP_NONE:
		return "drop_other";
	case ROVE_DROP_SHORT:
		return "drop_short";
	case ROVE_DROP_OPCODE:
		return "drop_opcode";
	case ROVE_DROP_VERSION:
		return "drop_version";
	case ROVE_DROP_PAD:
		return "drop_pad";
	case ROVE_DROP_LENGTH:
		return "drop_length";
	case ROVE_DROP_ICRC:
		return "drop_icrc";
	case ROVE_DROP_QPN:
		return "drop_qpn";
	case ROVE_DROP_TRANSPORT:
		return "drop_transport";
	case ROVE_DROP_STATE:
		return "drop_state";
	case ROVE_DROP_ADDR:
		return "drop_addr";
	case ROVE_DROP_PKEY:
		return "drop_pkey";
	case ROVE_DROP_QKEY:
		return "drop_qkey";
	case ROVE_DROP_PSN:
		return "drop_psn";
	case ROVE_DROP_STALE:
		return "drop_stale";
	case ROVE_DROP_SEQ:
		return "drop_seq";
	case ROVE_DROP_NO_RQE:
		return "drop_no_rqe";
	case ROVE_DROP_FAULT:
		return "drop_fault";
	case ROVE_DROP_DUP:
		return "drop_dup";
	case ROVE_DROP_NOMEM:
		return "drop_nomem";
	case ROVE_DROP_BUSY:
		return "drop_busy";
	case ROVE_DROP_CNP:
		return "drop_cnp";
	case ROVE_DROP_XFRM:
		return "drop_xfrm";
	case ROVE_DROP_REASONS:
		break;
	}
	return "unknown";
}

static const char *tally_name(enum rove_tally_index i)
{
	switch (i) {
	case ROVE_TALLY_RETRANSMIT:
		return "retransmits";
	case ROVE_TALLY_TIMEOUT:
		return "timeouts";
	case ROVE_TALLY_RETRY_EXC:
		return "retry_exceeded";
	case ROVE_TALLY_RNR_RETRY_EXC:
		return "rnr_retry_exceeded";
	case ROVE_TALLY_ACK_RCVD:
		return "acks_rcvd";
	case ROVE_TALLY_RNR_RCVD:
		return "rnr_rcvd";
	case ROVE_TALLY_NAK_SEQ_RCVD:
		return "nak_seq_rcvd";
	case ROVE_TALLY_NAK_INVALID_RCVD:
		return "nak_invalid_rcvd";
	case ROVE_TALLY_NAK_ACCESS_RCVD:
		return "nak_access_rcvd";
	case ROVE_TALLY_NAK_OP_RCVD:
		return "nak_op_rcvd";
	case ROVE_TALLY_READ_RESUMED:
		return "reads_resumed";
	case ROVE_TALLY_DUPLICATE:
		return "duplicates";
	case ROVE_TALLY_OUT_OF_SEQ:
		return "out_of_sequence";
	case ROVE_TALLY_UC_GAP:
		return "uc_psn_gaps";
	case ROVE_TALLY_UC_BROKEN:
		return "uc_broken_messages";
	case ROVE_TALLY_ACK_SENT:
		return "acks_sent";
	case ROVE_TALLY_RNR_SENT:
		return "rnr_sent";
	case ROVE_TALLY_NAK_SEQ_SENT:
		return "nak_seq_sent";
	case ROVE_TALLY_NAK_INVALID_SENT:
		return "nak_invalid_sent";
	case ROVE_TALLY_NAK_ACCESS_SENT:
		return "nak_access_sent";
	case ROVE_TALLY_NAK_OP_SENT:
		return "nak_op_sent";
	case ROVE_TALLIES:
		break;
	}
	return "unknown";
}

static const char *own_name(enum rove_stat i)
{
	switch (i) {
	case ROVE_STAT_TX_PACKETS:
		return "tx_packets";
	case ROVE_STAT_TX_BYTES:
		return "tx_bytes";
	case ROVE_STAT_TX_TRAINS:
		return "tx_trains";
	case ROVE_STAT_TX_DROPPED:
		return "tx_dropped";
	case ROVE_STAT_RX_PACKETS:
		return "rx_packets";
	case ROVE_STAT_RX_BYTES:
		return "rx_bytes";
	case ROVE_STAT_RX_TRAINS:
		return "rx_trains";
	case ROVE_STAT_DOORBELLS:
		return "doorbells";
	case ROVE_STAT_KICKS:
		return "kicks";
	case ROVE_STAT_POLLS:
		return "polls";
	case ROVE_STAT_WAKEUPS:
		return "wakeups";
	case ROVE_STAT_WATCHES:
		return "watches";
	case ROVE_STAT_CQ_OVERFLOW:
		return "cq_overflow";
	case ROVE_STAT_ACKS_ALONG:
		return "acks_along";
	case ROVE_STAT_ACKS_LATE:
		return "acks_late";
	case ROVE_STAT_PAGE_FAULTS:
		return "page_faults";
	case ROVE_STAT_PAGE_INVALIDATIONS:
		return "page_invalidations";
	case ROVE_STAT_PAGE_PREFETCHES:
		return "page_prefetches";
	case ROVE_STAT_TALLY:
	case ROVE_STAT_DROP:
	case ROVE_STATS:
		break;
	}
	return "unknown";
}

const char *rove_stat_name(unsigned int i)
{
	if (i >= ROVE_STAT_DROP)
		return drop_name(i - ROVE_STAT_DROP);
	if (i >= ROVE_STAT_TALLY)
		return tally_name(i - ROVE_STAT_TALLY);
	return own_name(i);
}
