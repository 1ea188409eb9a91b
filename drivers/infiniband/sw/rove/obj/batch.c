// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/err.h>
#include "../trace.h"
#include "../wire/build.h"
#include "../wire/opcode.h"
#include "../wire/psn.h"
#include "batch.h"
#include "dev.h"
#include "qp.h"

/* One packet into the open train. 0, an errno of rove_train_reserve(), or a fault. */
static int put_packet(struct rove_qp *qp, struct rove_train *t, struct rove_seg *seg,
		      rove_fill_fn fill)
{
	u32 len = seg->pkt.len, pad = -len & 3, hlen;
	enum rove_fault fault;
	u8 *p;

	hlen = rove_opcode_info[seg->pkt.opcode].hlen;
	p = rove_train_reserve(t, hlen + len + pad + ROVE_ICRC_LEN);
	if (IS_ERR(p))
		return PTR_ERR(p);

	hlen = rove_build(p, &seg->pkt);
	fault = fill(qp, seg, p + hlen);
	if (unlikely(fault)) {
		rove_train_cancel(t);
		return fault;
	}
	if (pad)
		memset(p + hlen + len, 0, pad);
	rove_train_commit(t, hlen);
	trace_rove_packet_sent(qp->qpn, &seg->pkt);
	trace_rove_ack_sent(qp->qpn, &seg->pkt);
	return 0;
}

void rove_batch_to(struct rove_qp *qp, struct rove_batch *b, struct rove_path *path,
		   struct rove_route *route)
{
	rove_train_begin(&b->train, path, route);
	b->train.single = !READ_ONCE(qp->dev->udp_csum);
}

int rove_batch_flush(struct rove_qp *qp, struct rove_batch *b)
{
	struct rove_stats __percpu *stats = READ_ONCE(qp->stats);
	struct rove_train *t = &b->train;
	u32 packets = t->count, bytes = t->used;
	int err;

	if (!packets)
		return 0;
	err = rove_train_flush(t);
	if (unlikely(err)) {
		rove_stat_add(stats, ROVE_STAT_TX_DROPPED, packets);
		return err;
	}
	rove_stat_add(stats, ROVE_STAT_TX_PACKETS, packets);
	rove_stat_add(stats, ROVE_STAT_TX_BYTES, bytes);
	rove_stat_add(stats, ROVE_STAT_TX_TRAINS, 1);
	return 0;
}

int rove_batch_add(struct rove_qp *qp, struct rove_batch *b, struct rove_seg *seg,
		   rove_fill_fn fill, const struct rove_seg **lost)
{
	int ret;

	ret = put_packet(qp, &b->train, seg, fill);
	if (ret == -EAGAIN) {
		ret = rove_batch_flush(qp, b);
		if (unlikely(ret)) {
			*lost = &b->first;
			return ret;
		}
		ret = put_packet(qp, &b->train, seg, fill);
	}
	if (unlikely(ret)) {
		*lost = seg;
		return ret;
	}
	if (b->train.count == 1)
		b->first = *seg;
	b->bytes += seg->pkt.len;
	b->packets++;
	return 0;
}

u32 rove_batch_span_max(const struct rove_batch *b, u32 pmtu)
{
	u32 bytes = b->bytes < ROVE_BATCH_BYTES ? ROVE_BATCH_BYTES - b->bytes : 0;

	return min(rove_train_takes_many(&b->train, ROVE_BTH_LEN + pmtu + ROVE_ICRC_LEN),
		   bytes / pmtu);
}

enum rove_fault rove_batch_add_span(struct rove_qp *qp, struct rove_batch *b,
				    struct rove_span *s, struct rove_seg *seg, rove_fill_fn fill)
{
	int ret = 0;
	u32 n;

	for (n = 0; n < s->num; n++) {
		seg->pkt.ackreq = s->ackreq && n == s->num - 1;
		ret = put_packet(qp, &b->train, seg, fill);
		if (unlikely(ret))
			break;
		seg->pkt.psn = rove_psn_add(seg->pkt.psn, 1);
		seg->off += seg->pkt.len;
		seg->va += seg->pkt.len;
	}
	b->bytes += n * seg->pkt.len;
	b->packets += n;
	rove_span_cut(s, n);
	/* There was room: what is left goes as any packet does. */
	return WARN_ON_ONCE(ret < 0) ? ROVE_FAULT_NONE : ret;
}
