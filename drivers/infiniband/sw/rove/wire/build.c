// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "build.h"
#include "hdr.h"
#include "opcode.h"

static void build_bth(struct rove_bth *bth, const struct rove_pkt *pkt)
{
	u32 qpn = pkt->dqpn & ROVE_HDR_24BITS;
	u32 psn = pkt->psn & ROVE_HDR_24BITS;
	u8 flags = pkt->pad << ROVE_BTH_PAD_SHIFT;

	if (pkt->se)
		flags |= ROVE_BTH_SE;
	if (pkt->migreq)
		flags |= ROVE_BTH_MIGREQ;
	if (pkt->ackreq)
		psn |= ROVE_BTH_ACKREQ;
	/* As NICs do; the ICRC does not cover it. */
	if (pkt->opcode == ROVE_OPCODE_CNP)
		qpn |= ROVE_BTH_BECN;

	bth->opcode = pkt->opcode;
	bth->flags = flags;
	bth->pkey = cpu_to_be16(pkt->pkey);
	bth->qpn = cpu_to_be32(qpn);
	bth->psn = cpu_to_be32(psn);
}

static u8 *build_request(u8 *p, u32 flags, const struct rove_pkt *pkt)
{
	if (unlikely(rove_opcode_has_xrceth(pkt->opcode, flags))) {
		struct rove_xrceth *eth = (void *)p;

		eth->srqn = cpu_to_be32(pkt->srqn & ROVE_HDR_24BITS);
		p += sizeof(*eth);
	}
	if (flags & ROVE_OPF_DETH) {
		struct rove_deth *deth = (void *)p;

		deth->qkey = cpu_to_be32(pkt->qkey);
		deth->sqpn = cpu_to_be32(pkt->sqpn & ROVE_HDR_24BITS);
		p += sizeof(*deth);
	}
	if (flags & ROVE_OPF_FETH) {
		((struct rove_feth *)p)->bits =
			cpu_to_be32((pkt->flush_level & ROVE_FETH_LEVEL) << ROVE_FETH_LEVEL_SHIFT |
				    (pkt->flush_type & ROVE_FETH_TYPE));
		p += sizeof(struct rove_feth);
	}
	if (flags & ROVE_OPF_RETH) {
		struct rove_reth *reth = (void *)p;

		reth->va = cpu_to_be64(pkt->va);
		reth->rkey = cpu_to_be32(pkt->rkey);
		reth->dma_len = cpu_to_be32(pkt->dma_len);
		p += sizeof(*reth);
	}
	if (flags & ROVE_OPF_ATOMIC) {
		struct rove_atomic_eth *eth = (void *)p;

		eth->va = cpu_to_be64(pkt->va);
		eth->rkey = cpu_to_be32(pkt->rkey);
		eth->swap_add = cpu_to_be64(pkt->swap_add);
		eth->compare = cpu_to_be64(pkt->compare);
		p += sizeof(*eth);
	}
	return p;
}

static void build_rest(u8 *p, u32 flags, const struct rove_pkt *pkt)
{
	if (flags & ROVE_OPF_AETH) {
		struct rove_aeth *aeth = (void *)p;

		aeth->smsn = cpu_to_be32((u32)pkt->syndrome << ROVE_AETH_SYNDROME_SHIFT |
					 (pkt->msn & ROVE_HDR_24BITS));
		p += sizeof(*aeth);
	}
	if (flags & ROVE_OPF_ATOMIC_ACK) {
		struct rove_atomic_ack_eth *eth = (void *)p;

		eth->orig = cpu_to_be64(pkt->orig);
		p += sizeof(*eth);
	}
	if (flags & ROVE_OPF_IMM)
		((struct rove_immdt *)p)->imm = pkt->imm;
	if (flags & ROVE_OPF_IETH)
		((struct rove_ieth *)p)->rkey = cpu_to_be32(pkt->inv_rkey);
}

u32 rove_build(u8 *hdr, struct rove_pkt *pkt)
{
	const struct rove_opinfo *info = &rove_opcode_info[pkt->opcode];

	pkt->hlen = info->hlen;
	pkt->pad = info->flags & ROVE_OPF_PAYLOAD ? -pkt->len & 3 : 0;
	if (!info->flags)
		return 0;
	build_bth((struct rove_bth *)hdr, pkt);
	if (pkt->hlen == ROVE_BTH_LEN)
		return ROVE_BTH_LEN;
	build_rest(build_request(hdr + ROVE_BTH_LEN, info->flags, pkt), info->flags, pkt);
	return pkt->hlen;
}
