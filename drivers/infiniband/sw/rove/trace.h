/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints: /sys/kernel/tracing/events/rove. QP numbers (but 1) are unique in
 * the module, so that they tell the link too. One that is off costs a jump over a
 * no-op.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rove

#if !defined(ROVE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define ROVE_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <trace/misc/rdma.h>
#include "proto/fault.h"
#include "ring/wqe.h"
#include "wire/opcode.h"
#include "wire/pkt.h"
#include "wire/parse.h"

/* Names of values; EM and EMe as elsewhere under include/trace. */
#define ROVE_STATES					\
	EM(IB_QPS_RESET, "RESET")			\
	EM(IB_QPS_INIT, "INIT")				\
	EM(IB_QPS_RTR, "RTR")				\
	EM(IB_QPS_RTS, "RTS")				\
	EM(IB_QPS_SQD, "SQD")				\
	EM(IB_QPS_SQE, "SQE")				\
	EMe(IB_QPS_ERR, "ERR")

#define ROVE_WR_OPCODES					\
	EM(ROVE_WR_SEND, "SEND")			\
	EM(ROVE_WR_SEND_IMM, "SEND_IMM")		\
	EM(ROVE_WR_SEND_INV, "SEND_INV")		\
	EM(ROVE_WR_WRITE, "WRITE")			\
	EM(ROVE_WR_WRITE_IMM, "WRITE_IMM")		\
	EM(ROVE_WR_READ, "READ")			\
	EM(ROVE_WR_CMP_SWP, "CMP_SWP")			\
	EM(ROVE_WR_FETCH_ADD, "FETCH_ADD")		\
	EM(ROVE_WR_LOCAL_INV, "LOCAL_INV")		\
	EM(ROVE_WR_BIND_MW, "BIND_MW")			\
	EM(ROVE_WR_REG_MR, "REG_MR")			\
	EM(ROVE_WR_ATOMIC_WRITE, "ATOMIC_WRITE")	\
	EMe(ROVE_WR_FLUSH, "FLUSH")

#define ROVE_OPCODES					\
	EM(ROVE_OP_SEND_FIRST, "SEND_FIRST")		\
	EM(ROVE_OP_SEND_MIDDLE, "SEND_MIDDLE")		\
	EM(ROVE_OP_SEND_LAST, "SEND_LAST")		\
	EM(ROVE_OP_SEND_LAST_IMM, "SEND_LAST_IMM")	\
	EM(ROVE_OP_SEND_ONLY, "SEND_ONLY")		\
	EM(ROVE_OP_SEND_ONLY_IMM, "SEND_ONLY_IMM")	\
	EM(ROVE_OP_WRITE_FIRST, "WRITE_FIRST")		\
	EM(ROVE_OP_WRITE_MIDDLE, "WRITE_MIDDLE")	\
	EM(ROVE_OP_WRITE_LAST, "WRITE_LAST")		\
	EM(ROVE_OP_WRITE_LAST_IMM, "WRITE_LAST_IMM")	\
	EM(ROVE_OP_WRITE_ONLY, "WRITE_ONLY")		\
	EM(ROVE_OP_WRITE_ONLY_IMM, "WRITE_ONLY_IMM")	\
	EM(ROVE_OP_READ_REQ, "READ_REQ")		\
	EM(ROVE_OP_READ_RESP_FIRST, "READ_RESP_FIRST")	\
	EM(ROVE_OP_READ_RESP_MIDDLE, "READ_RESP_MIDDLE")	\
	EM(ROVE_OP_READ_RESP_LAST, "READ_RESP_LAST")	\
	EM(ROVE_OP_READ_RESP_ONLY, "READ_RESP_ONLY")	\
	EM(ROVE_OP_ACK, "ACK")				\
	EM(ROVE_OP_ATOMIC_ACK, "ATOMIC_ACK")		\
	EM(ROVE_OP_CMP_SWP, "CMP_SWP")			\
	EM(ROVE_OP_FETCH_ADD, "FETCH_ADD")		\
	EM(ROVE_OP_SEND_LAST_INV, "SEND_LAST_INV")	\
	EM(ROVE_OP_SEND_ONLY_INV, "SEND_ONLY_INV")	\
	EM(ROVE_OP_FLUSH, "FLUSH")			\
	EMe(ROVE_OP_ATOMIC_WRITE, "ATOMIC_WRITE")

#define ROVE_TRANSPORTS					\
	EM(ROVE_TR_RC, "RC")				\
	EM(ROVE_TR_UC, "UC")				\
	EM(ROVE_TR_RD, "RD")				\
	EM(ROVE_TR_UD, "UD")				\
	EM(ROVE_TR_CNP, "CNP")				\
	EMe(ROVE_TR_XRC, "XRC")

#define ROVE_SYNDROMES					\
	EM(ROVE_AETH_ACK, "ACK")			\
	EM(ROVE_AETH_RNR, "RNR")			\
	EMe(ROVE_AETH_NAK, "NAK")

#define ROVE_DROPS					\
	EM(ROVE_DROP_SHORT, "short")			\
	EM(ROVE_DROP_OPCODE, "opcode")			\
	EM(ROVE_DROP_VERSION, "version")		\
	EM(ROVE_DROP_PAD, "pad")			\
	EM(ROVE_DROP_LENGTH, "length")			\
	EM(ROVE_DROP_ICRC, "icrc")			\
	EM(ROVE_DROP_QPN, "qpn")			\
	EM(ROVE_DROP_TRANSPORT, "transport")		\
	EM(ROVE_DROP_STATE, "state")			\
	EM(ROVE_DROP_ADDR, "addr")			\
	EM(ROVE_DROP_PKEY, "pkey")			\
	EM(ROVE_DROP_QKEY, "qkey")			\
	EM(ROVE_DROP_PSN, "psn")			\
	EM(ROVE_DROP_STALE, "stale")			\
	EM(ROVE_DROP_SEQ, "seq")			\
	EM(ROVE_DROP_NO_RQE, "no_rqe")			\
	EM(ROVE_DROP_FAULT, "fault")			\
	EM(ROVE_DROP_DUP, "dup")			\
	EM(ROVE_DROP_NOMEM, "nomem")			\
	EM(ROVE_DROP_BUSY, "busy")			\
	EM(ROVE_DROP_CNP, "cnp")			\
	EMe(ROVE_DROP_XFRM, "xfrm")

/* So that trace-cmd and perf know the values too. */
#undef EM
#undef EMe
#define EM(value, name)		TRACE_DEFINE_ENUM(value);
#define EMe(value, name)	TRACE_DEFINE_ENUM(value);
ROVE_STATES
ROVE_WR_OPCODES
ROVE_OPCODES
ROVE_TRANSPORTS
ROVE_SYNDROMES
ROVE_DROPS

#undef EM
#undef EMe
#define EM(value, name)		{ value, name },
#define EMe(value, name)	{ value, name }

#define rove_show_state(s) __print_symbolic(s, ROVE_STATES)
#define rove_show_wr_op(op) __print_symbolic(op, ROVE_WR_OPCODES)
#define rove_show_op(op) __print_symbolic((op) & ROVE_OP_MASK, ROVE_OPCODES)
#define rove_show_transport(op) __print_symbolic((op) & ROVE_TR_MASK, ROVE_TRANSPORTS)
#define rove_show_syndrome(s) __print_symbolic((s) & ROVE_AETH_KIND, ROVE_SYNDROMES)
#define rove_show_drop(why) __print_symbolic(why, ROVE_DROPS)

/* A send work request was copied from its ring. */
TRACE_EVENT(rove_wqe_taken,
	TP_PROTO(u32 qpn, u32 index, const struct rove_swqe *wqe),
	TP_ARGS(qpn, index, wqe),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, index)
		__field(u32, length)
		__field(u8, op)
		__field(u8, flags)
		__field(u8, fault)
	),
	TP_fast_assign(
		__entry->wr_id = wqe->sqe.wr_id;
		__entry->qpn = qpn;
		__entry->index = index;
		__entry->length = wqe->length;
		__entry->op = wqe->sqe.opcode;
		__entry->flags = wqe->sqe.flags;
		__entry->fault = wqe->fault;
	),
	TP_printk("qp=%u wqe=%u wr_id=0x%llx %s len=%u flags=0x%x fault=%u",
		  __entry->qpn, __entry->index, __entry->wr_id, rove_show_wr_op(__entry->op),
		  __entry->length, __entry->flags, __entry->fault)
);

/* A completion was written, of the send queue or of the receive queue. */
TRACE_EVENT(rove_wqe_completed,
	TP_PROTO(const struct rove_cqe *cqe),
	TP_ARGS(cqe),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, length)
		__field(u16, flags)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->wr_id = cqe->wr_id;
		__entry->qpn = cqe->qpn;
		__entry->length = cqe->byte_len;
		__entry->flags = cqe->flags;
		__entry->status = cqe->status;
	),
	TP_printk("qp=%u %s wr_id=0x%llx len=%u status=%s",
		  __entry->qpn, __entry->flags & ROVE_CQE_RECV ? "recv" : "send",
		  __entry->wr_id, __entry->length, rdma_show_wc_status(__entry->status))
);

DECLARE_EVENT_CLASS(rove_packet,
	TP_PROTO(u32 qpn, const struct rove_pkt *pkt),
	TP_ARGS(qpn, pkt),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, dqpn)
		__field(u32, psn)
		__field(u32, len)
		__field(u8, opcode)
		__field(bool, ackreq)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->dqpn = pkt->dqpn;
		__entry->psn = pkt->psn;
		__entry->len = pkt->len;
		__entry->opcode = pkt->opcode;
		__entry->ackreq = pkt->ackreq;
	),
	TP_printk("qp=%u dqp=%u %s %s psn=%u len=%u%s",
		  __entry->qpn, __entry->dqpn, rove_show_transport(__entry->opcode),
		  rove_show_op(__entry->opcode), __entry->psn, __entry->len,
		  __entry->ackreq ? " ackreq" : "")
);

/* Put into a train, or read from one with its ICRC right; len: payload. */
DEFINE_EVENT(rove_packet, rove_packet_sent,
	TP_PROTO(u32 qpn, const struct rove_pkt *pkt),
	TP_ARGS(qpn, pkt)
);
DEFINE_EVENT(rove_packet, rove_packet_received,
	TP_PROTO(u32 qpn, const struct rove_pkt *pkt),
	TP_ARGS(qpn, pkt)
);

/* What of them answers: ACKs, NAKs, READ and atomic responses. */
DECLARE_EVENT_CLASS(rove_ack,
	TP_PROTO(u32 qpn, const struct rove_pkt *pkt),
	TP_ARGS(qpn, pkt),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, msn)
		__field(u8, syndrome)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = pkt->psn;
		__entry->msn = pkt->msn;
		__entry->syndrome = pkt->syndrome;
	),
	TP_printk("qp=%u %s value=%u psn=%u msn=%u", __entry->qpn,
		  rove_show_syndrome(__entry->syndrome), __entry->syndrome & ROVE_AETH_VALUE,
		  __entry->psn, __entry->msn)
);
DEFINE_EVENT_CONDITION(rove_ack, rove_ack_sent,
	TP_PROTO(u32 qpn, const struct rove_pkt *pkt),
	TP_ARGS(qpn, pkt),
	TP_CONDITION(rove_opcode_info[pkt->opcode].flags & ROVE_OPF_AETH)
);
DEFINE_EVENT_CONDITION(rove_ack, rove_ack_received,
	TP_PROTO(u32 qpn, const struct rove_pkt *pkt),
	TP_ARGS(qpn, pkt),
	TP_CONDITION(rove_opcode_info[pkt->opcode].flags & ROVE_OPF_AETH)
);

/* The retransmission timer of a QP; ns, CLOCK_MONOTONIC. */
DECLARE_EVENT_CLASS(rove_timer,
	TP_PROTO(u32 qpn, u64 deadline),
	TP_ARGS(qpn, deadline),
	TP_STRUCT__entry(
		__field(u64, deadline)
		__field(u32, qpn)
	),
	TP_fast_assign(
		__entry->deadline = deadline;
		__entry->qpn = qpn;
	),
	TP_printk("qp=%u deadline=%llu", __entry->qpn, __entry->deadline)
);
DEFINE_EVENT(rove_timer, rove_timer_armed,
	TP_PROTO(u32 qpn, u64 deadline),
	TP_ARGS(qpn, deadline)
);
DEFINE_EVENT(rove_timer, rove_timer_expired,
	TP_PROTO(u32 qpn, u64 deadline),
	TP_ARGS(qpn, deadline)
);

TRACE_EVENT(rove_qp_state,
	TP_PROTO(u32 qpn, u8 from, u8 to),
	TP_ARGS(qpn, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qp=%u %s -> %s", __entry->qpn, rove_show_state(__entry->from),
		  rove_show_state(__entry->to))
);

/* A received packet was dropped; qp is the number in the packet, 0: not read. */
TRACE_EVENT(rove_drop,
	TP_PROTO(u32 qpn, u8 why),
	TP_ARGS(qpn, why),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, why)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->why = why;
	),
	TP_printk("qp=%u %s", __entry->qpn, rove_show_drop(__entry->why))
);

#endif /* ROVE_TRACE_H */

/* Found by -I$(src), which Kbuild gives to trace.c. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
