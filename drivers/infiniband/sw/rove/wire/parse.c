// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "hdr.h"
#include "opcode.h"
#include "parse.h"

static void parse_psn(__be32 bits, struct rove_pkt *pkt)
{
	u32 psn = be32_to_cpu(bits);

	pkt->ackreq = psn & ROVE_BTH_ACKREQ;
	pkt->psn = psn & ROVE_HDR_24BITS;
}

static void parse_bth(const struct rove_bth *bth, struct rove_pkt *pkt)
{
	pkt->opcode = bth->opcode;
	pkt->pad = (bth->flags >> ROVE_BTH_PAD_SHIFT) & ROVE_BTH_PAD_MASK;
	pkt->se = bth->flags & ROVE_BTH_SE;
	pkt->migreq = bth->flags & ROVE_BTH_MIGREQ;
	pkt->pkey = be16_to_cpu(bth->pkey);
	pkt->dqpn = be32_to_cpu(bth->qpn) & ROVE_HDR_24BITS;
	parse_psn(bth->psn, pkt);
}

/* Headers to a responder. */
static const u8 *parse_request(const u8 *p, u32 flags, struct rove_pkt *pkt)
{
	if (unlikely(rove_opcode_has_xrceth(pkt->opcode, flags))) {
		const struct rove_xrceth *eth = (const void *)p;

		pkt->srqn = be32_to_cpu(eth->srqn) & ROVE_HDR_24BITS;
		p += sizeof(*eth);
	}
	if (flags & ROVE_OPF_DETH) {
		const struct rove_deth *deth = (const void *)p;

		pkt->qkey = be32_to_cpu(deth->qkey);
		pkt->sqpn = be32_to_cpu(deth->sqpn) & ROVE_HDR_24BITS;
		p += sizeof(*deth);
	}
	if (flags & ROVE_OPF_FETH) {
		u32 bits = be32_to_cpu(((const struct rove_feth *)p)->bits);

		pkt->flush_type = bits & ROVE_FETH_TYPE;
		pkt->flush_level = bits >> ROVE_FETH_LEVEL_SHIFT & ROVE_FETH_LEVEL;
		p += sizeof(struct rove_feth);
	}
	if (flags & ROVE_OPF_RETH) {
		const struct rove_reth *reth = (const void *)p;

		pkt->va = be64_to_cpu(reth->va);
		pkt->rkey = be32_to_cpu(reth->rkey);
		pkt->dma_len = be32_to_cpu(reth->dma_len);
		p += sizeof(*reth);
	}
	if (flags & ROVE_OPF_ATOMIC) {
		const struct rove_atomic_eth *eth = (const void *)p;

		pkt->va = be64_to_cpu(eth->va);
		pkt->rkey = be32_to_cpu(eth->rkey);
		pkt->swap_add = be64_to_cpu(eth->swap_add);
		pkt->compare = be64_to_cpu(eth->compare);
		p += sizeof(*eth);
	}
	return p;
}

/* Headers to a requester, and what may end either. */
static void parse_rest(const u8 *p, u32 flags, struct rove_pkt *pkt)
{
	if (flags & ROVE_OPF_AETH) {
		const struct rove_aeth *aeth = (const void *)p;
		u32 smsn = be32_to_cpu(aeth->smsn);

		pkt->syndrome = smsn >> ROVE_AETH_SYNDROME_SHIFT;
		pkt->msn = smsn & ROVE_HDR_24BITS;
		p += sizeof(*aeth);
	}
	if (flags & ROVE_OPF_ATOMIC_ACK) {
		const struct rove_atomic_ack_eth *eth = (const void *)p;

		pkt->orig = be64_to_cpu(eth->orig);
		p += sizeof(*eth);
	}
	if (flags & ROVE_OPF_IMM)
		pkt->imm = ((const struct rove_immdt *)p)->imm;
	if (flags & ROVE_OPF_IETH)
		pkt->inv_rkey = be32_to_cpu(((const struct rove_ieth *)p)->rkey);
}

/* @body: bytes of payload and pad. */
static enum rove_drop check_body(u32 flags, u32 body, const struct rove_pkt *pkt)
{
	if (!(flags & ROVE_OPF_PAYLOAD)) {
		if (pkt->pad)
			return ROVE_DROP_PAD;
		return body ? ROVE_DROP_LENGTH : ROVE_DROP_NONE;
	}
	/* What goes on in the next packet fills whole words. */
	if (pkt->pad && !(flags & ROVE_OPF_END))
		return ROVE_DROP_PAD;
	if (pkt->pad > body || body % 4)
		return ROVE_DROP_PAD;
	if (pkt->opcode == ROVE_OPCODE_CNP)
		return body == ROVE_CNP_LEN ? ROVE_DROP_NONE : ROVE_DROP_LENGTH;
	if (body - pkt->pad > ROVE_MAX_PMTU)
		return ROVE_DROP_LENGTH;
	return ROVE_DROP_NONE;
}

enum rove_drop rove_parse(const u8 *hdr, u32 total, struct rove_pkt *pkt)
{
	const struct rove_bth *bth = (const void *)hdr;
	const struct rove_opinfo *info;
	enum rove_drop drop;
	u32 body;

	if (total < ROVE_BTH_LEN + ROVE_ICRC_LEN)
		return ROVE_DROP_SHORT;
	if (bth->flags & ROVE_BTH_TVER_MASK)
		return ROVE_DROP_VERSION;
	info = &rove_opcode_info[bth->opcode];
	if (!info->flags)
		return ROVE_DROP_OPCODE;
	if (total < (u32)info->hlen + ROVE_ICRC_LEN)
		return ROVE_DROP_SHORT;
	body = total - info->hlen - ROVE_ICRC_LEN;

	memset(pkt, 0, sizeof(*pkt));
	parse_bth(bth, pkt);
	drop = check_body(info->flags, body, pkt);
	if (drop != ROVE_DROP_NONE)
		return drop;
	pkt->hlen = info->hlen;
	pkt->len = body - pkt->pad;
	parse_rest(parse_request(hdr + ROVE_BTH_LEN, info->flags, pkt), info->flags, pkt);
	return ROVE_DROP_NONE;
}

bool rove_parse_next(u8 *hdr, struct rove_pkt *pkt, const u8 *next)
{
	const struct rove_bth *bth = (const void *)next;
	struct rove_bth *last = (void *)hdr;

	if (memcmp(last, bth, offsetof(struct rove_bth, psn)))
		return false;
	last->psn = bth->psn;
	pkt->opcode = bth->opcode;
	parse_psn(bth->psn, pkt);
	return true;
}
