/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * What the rove kernel module and its user-space provider share.
 *
 * Rules of this file
 * ------------------
 * - ROVE_ABI_VERSION grows when a change breaks either side. A provider states
 *   the range that it speaks in struct rove_uctx_req; the module answers with
 *   the version that both will use, or refuses with EPROTONOSUPPORT.
 * - Structures are multiples of 8 bytes, hold no pointers, and name their
 *   holes reserved_<bit offset in hex>. A sender zeroes reserved fields; a
 *   receiver refuses requests in which they are not zero.
 * - New fields go to the end, announced by a bit in comp_mask.
 * - Everything in a mapped area can be written by the user at any time. The
 *   module reads each entry once, into its own memory, and checks that copy;
 *   it keeps no state of its own there.
 *
 * Who writes what in the mapped areas is said at each structure. The order in
 * which it must be written is drawn in Documentation/abi.md.
 */
#ifndef ROVE_ABI_H
#define ROVE_ABI_H

#include <linux/types.h>

#define ROVE_ABI_VERSION 100

/*
 * The number by which kernel and provider recognise each other (enum
 * rdma_driver_id). It is private: the field only compares it.
 */
#define ROVE_DRIVER_ID 0x524f

/* ---- contexts ------------------------------------------------------------ */

struct rove_uctx_req {
	__aligned_u64 comp_mask;
	__u32 abi_min;			/* lowest and highest ROVE_ABI_VERSION */
	__u32 abi_max;			/* that the provider speaks */
};

struct rove_uctx_resp {
	__aligned_u64 comp_mask;
	__u32 abi;			/* the version in use from here on */
	__u32 db_slots;			/* QP slots in the doorbell page */
	__aligned_u64 db_offset;	/* mmap() offset of the doorbell page, ROVE_DB_OFFSET */
	__u32 db_length;		/* bytes to map there */
	__u32 max_inline;		/* largest inline payload of a QP, bytes */
	__u32 max_send_sge;
	__u32 max_recv_sge;
};

/*
 * Doorbell page, one for each context.
 *
 * To ring: set bit (slot % 64) of rung[slot / 64], then bit (slot / 64 % 64)
 * of summary[slot / 64 / 64], both by atomic OR, then a full barrier, then
 * read need_wakeup, which says when a system call is wanted.
 */
enum rove_db_wakeup {
	ROVE_DB_NEVER		= 0,	/* the engine looks at the page */
	ROVE_DB_AT_POST		= 1,	/* kick the QP: ibv_cmd_post_send() with an empty list */
	/*
	 * A timer looks now and then. Who finds a CQ empty, or arms it, while anything
	 * is rung, has it run: ibv_cmd_poll_cq(), which fails with EAGAIN if there was
	 * nothing to run, neither that nor packets that wait on this CPU.
	 */
	ROVE_DB_AT_POLL		= 2,
};

#define ROVE_DB_WORDS	500
#define ROVE_DB_SLOTS	(ROVE_DB_WORDS * 64)
#define ROVE_DB_OFFSET	0		/* where a context is imported it is mapped again */
#define ROVE_DB_NO_SLOT	0xffffffffU	/* page full: always kick */

struct rove_db_page {
	__u32 need_wakeup;		/* module writes; enum rove_db_wakeup */
	__u32 reserved_20[7];
	__aligned_u64 summary[8];	/* provider sets, module clears */
	__aligned_u64 rung[ROVE_DB_WORDS];
};

/* ---- completion queues --------------------------------------------------- */

struct rove_create_cq_req {
	__aligned_u64 comp_mask;
	__aligned_u64 reserved_40;
};

struct rove_create_cq_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 offset;		/* mmap() offset */
	__u32 length;			/* bytes to map */
	__u32 entries;			/* a power of two */
	__u32 cqn;
	__u32 reserved_e0;
};

/*
 * A resize, of a CQ or an SRQ, takes two calls, so that nothing has changed if the
 * provider cannot map the new area: PREPARE makes it and says where it is; COMMIT
 * moves what is in the ring, while the provider leaves both areas alone. Indices
 * run on. The area has the same layout as the one that it replaces.
 */
enum rove_resize_step {
	ROVE_RESIZE_PREPARE	= 1,
	ROVE_RESIZE_COMMIT	= 2,
};

struct rove_resize_cq_req {
	__aligned_u64 comp_mask;
	__u32 step;			/* enum rove_resize_step */
	__u32 reserved_60;
};

struct rove_resize_cq_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 offset;		/* PREPARE: mmap() offset of the new area */
	__u32 length;			/* bytes to map */
	__u32 entries;			/* a power of two */
};

/*
 * Start of a CQ area; struct rove_cqe[entries] follows at ROVE_CQ_ENTRIES.
 *
 * To arm: add one to the number of armings, modulo 2^31. A request for any
 * completion stays in force until it is answered (fired == number): one for
 * solicited completions that comes on top is to be written as one for any.
 */
struct rove_cq_hdr {
	/* provider writes */
	__u32 cons;			/* entries taken, running freely */
	__u32 arm;			/* (number of armings << 1) | solicited */
	__u32 reserved_40[14];
	/* module writes */
	__u32 prod;			/* entries written, for debuggers */
	__u32 fired;			/* number of the last arming answered */
	__u32 reserved_240[14];
};

#define ROVE_CQ_ENTRIES	128

enum rove_cqe_flags {
	ROVE_CQE_IMM		= 1 << 0,	/* imm holds immediate data */
	ROVE_CQE_INV		= 1 << 1,	/* imm holds the invalidated rkey */
	ROVE_CQE_GRH		= 1 << 2,	/* 40-byte GRH area was written */
	ROVE_CQE_RECV		= 1 << 3,	/* of a receive queue */
	ROVE_CQE_IPV4		= 1 << 4,	/* UD: came over IPv4 */
	ROVE_CQE_VLAN		= 1 << 5,	/* UD: vlan is valid */
	ROVE_CQE_SOLICITED	= 1 << 6,
};

/*
 * A completion, written whole by the module; seq last, with release. The entry
 * at consumer index c is valid when seq == c + 1 (in 32 bits); read seq first,
 * with acquire.
 */
struct rove_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp;	/* ns, CLOCK_MONOTONIC */
	__u32 byte_len;
	__u32 imm;			/* immediate: as on the wire; rkey: host order */
	__u32 qpn;
	__u32 src_qp;			/* UD */
	__u32 wqe;			/* send: SQ index after this WQE, running freely */
	__u16 pkey_index;
	__u16 vlan;			/* UD */
	__u8 status;			/* enum ib_wc_status */
	__u8 opcode;			/* send: enum rove_wr_op; receive: enum rove_cqe_recv */
	__u16 flags;			/* enum rove_cqe_flags */
	__u8 smac[6];			/* UD */
	__u8 sl;
	__u8 reserved_198;
	__u32 reserved_1a0[2];
	__u32 seq;
};

enum rove_cqe_recv {
	ROVE_RECV_SEND		= 0,
	ROVE_RECV_WRITE_IMM	= 1,
};

/* ---- queue pairs --------------------------------------------------------- */

struct rove_create_qp_req {
	__aligned_u64 comp_mask;
	__aligned_u64 reserved_40;
};

struct rove_create_qp_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 offset;		/* mmap() offset of the QP area */
	__u32 length;			/* bytes to map */
	__u32 db_slot;			/* or ROVE_DB_NO_SLOT */
	__u32 sq_offset;		/* of the first WQE, in the area */
	__u32 sq_entries;		/* a power of two */
	__u32 sq_stride;		/* bytes, a multiple of 16 */
	__u32 rq_offset;
	__u32 rq_entries;		/* a power of two, or 0 */
	__u32 rq_stride;
	__u32 max_inline;
	__u32 reserved_1a0;
};

/* Start of a QP area. */
struct rove_qp_hdr {
	/* provider writes */
	__u32 sq_prod;			/* WQEs posted, running freely */
	__u32 rq_prod;
	__u32 reserved_40[14];
	/* module writes */
	__u32 sq_cons;			/* slots that may be written again */
	__u32 rq_cons;
	__u32 flags;			/* enum rove_qp_flags */
	/*
	 * Not 0: post_send need not ring. Nothing more can be sent now, and what is posted
	 * is seen when something can. Read after the new sq_prod was published and a full
	 * barrier.
	 */
	__u32 sq_waits;
	__u32 reserved_280[12];
};

#define ROVE_QP_WQES	128		/* sizeof(struct rove_qp_hdr) */

enum rove_qp_flags {
	/*
	 * post_recv must ring too: the QP is in the error state, and what is
	 * posted now has to be flushed. Read after the new rq_prod was
	 * published and a full barrier.
	 */
	ROVE_QP_RING_RECV	= 1 << 0,
};

enum rove_wr_op {
	ROVE_WR_SEND		= 0,
	ROVE_WR_SEND_IMM	= 1,
	ROVE_WR_SEND_INV	= 2,
	ROVE_WR_WRITE		= 3,
	ROVE_WR_WRITE_IMM	= 4,
	ROVE_WR_READ		= 5,
	ROVE_WR_CMP_SWP		= 6,
	ROVE_WR_FETCH_ADD	= 7,
	/* without a packet, executed in their turn */
	ROVE_WR_LOCAL_INV	= 8,	/* rkey in imm */
	ROVE_WR_BIND_MW		= 9,
	ROVE_WR_REG_MR		= 10,	/* kernel users only */
	ROVE_WR_ATOMIC_WRITE	= 11,	/* no SGE; atomic.compare_add: the bytes */
	ROVE_WR_FLUSH		= 12,	/* no SGE */
	ROVE_WR_OPS
};

enum rove_wr_flags {
	ROVE_WR_SIGNALED	= 1 << 0,
	ROVE_WR_SOLICITED	= 1 << 1,
	ROVE_WR_FENCE		= 1 << 2,
	ROVE_WR_INLINE		= 1 << 3,
	ROVE_WR_FLAGS		= (1 << 4) - 1
};

/* An lkey of every process: memory that reads as zeroes and forgets what is written. */
#define ROVE_LKEY_NULL	0x80U

struct rove_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* Send WQE: this header, then num_sge struct rove_sge or the inline bytes. */
struct rove_sqe {
	__aligned_u64 wr_id;
	__u8 opcode;			/* enum rove_wr_op */
	__u8 flags;			/* enum rove_wr_flags */
	__u16 num;			/* number of SGEs; ROVE_WR_INLINE: bytes */
	__u32 imm;			/* as on the wire, or rkey to invalidate */
	union {
		struct {
			__aligned_u64 addr;
			__u32 rkey;
			__u32 srqn;	/* XRC: the peer's SRQ, for SENDs too; else 0 */
			__aligned_u64 reserved_80[2];
		} rdma;
		struct {
			__aligned_u64 addr;
			__u32 rkey;
			__u32 srqn;	/* in the same place */
			__aligned_u64 compare_add;
			__aligned_u64 swap;
		} atomic;
		struct {
			__u32 ah;	/* handle of rove_create_ah_resp */
			__u32 qpn;
			__u32 qkey;
			__u32 pkey_index;	/* QP 1, which is the kernel's; else 0 */
			__aligned_u64 reserved_80[2];
		} ud;
		struct {
			__aligned_u64 addr;
			__aligned_u64 length;	/* 0: unbind (windows of type 1) */
			__u32 mw_rkey;	/* any key that the window has had */
			__u32 new_rkey;	/* its low 8 bits become those of the window's key */
			__u32 lkey;	/* of the region */
			__u32 access;	/* enum ib_uverbs_access_flags */
		} bind;
		struct {
			__aligned_u64 iova;
			__aligned_u64 length;
			__u32 key;
			__u32 access;	/* enum ib_uverbs_access_flags */
			__aligned_u64 reserved_c0;
		} reg;
		struct {
			__aligned_u64 addr;
			__u32 rkey;
			__u32 length;
			__u8 type;	/* enum ib_placement_type, both may be */
			__u8 level;	/* enum ib_selectivity_level */
			__u16 reserved_90;
			__u32 reserved_a0;
			__aligned_u64 reserved_c0;
		} flush;
	};
};

/* Receive WQE: this header, then num struct rove_sge. */
struct rove_rqe {
	__aligned_u64 wr_id;
	__u32 num;
	__u32 reserved_60;
};

/* ---- shared receive queues ----------------------------------------------- */

struct rove_create_srq_req {
	__aligned_u64 comp_mask;
	__aligned_u64 reserved_40;
};

struct rove_create_srq_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 offset;		/* mmap() offset of the SRQ area */
	__u32 length;			/* bytes to map */
	__u32 entries;			/* a power of two */
	__u32 stride;			/* bytes, a multiple of 16 */
	__u32 max_sge;
};

/* There is no response: next_* of the header say where the new area is. */
struct rove_modify_srq_req {
	__aligned_u64 comp_mask;
	__u32 step;			/* enum rove_resize_step with IB_SRQ_MAX_WR, else 0 */
	__u32 reserved_60;
};

/* Start of an SRQ area; slots for struct rove_rqe follow at ROVE_SRQ_WQES. */
struct rove_srq_hdr {
	/* provider writes */
	__u32 prod;			/* WQEs posted, running freely */
	__u32 reserved_20[15];
	/* module writes */
	__u32 cons;			/* slots that may be written again */
	__u32 next_entries;		/* what a resize has prepared */
	__aligned_u64 next_offset;
	__u32 next_length;
	__u32 reserved_2a0[11];
};

#define ROVE_SRQ_WQES	128		/* sizeof(struct rove_srq_hdr) */

/* ---- address handles ----------------------------------------------------- */

struct rove_create_ah_resp {
	__u32 ah;			/* to be put into struct rove_sqe */
	__u32 reserved_20;
};

#endif /* ROVE_ABI_H */
