// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "crc.h"
#include "icrc.h"
#include "pkt.h"

/* The register after the eight bytes of ones that stand for an LRH. */
#define ICRC_SEED	0xdebb20e3U

#define PROTO_UDP	17
#define BTH_ECN_BYTE	4

struct ip4 {
	u8 ver_ihl;
	u8 tos;			/* variant */
	__be16 len;
	__be16 id;
	__be16 frag_off;
	u8 ttl;			/* variant */
	u8 proto;
	__be16 csum;		/* variant */
	u8 saddr[4];
	u8 daddr[4];
} __packed;

struct ip6 {
	u8 ver_class_flow[4];	/* variant but for the version */
	__be16 len;
	u8 next;
	u8 hops;		/* variant */
	u8 saddr[16];
	u8 daddr[16];
} __packed;

struct udp {
	__be16 sport;
	__be16 dport;
	__be16 len;
	__be16 csum;		/* variant */
} __packed;

static u32 put_ip4(u8 *buf, const struct rove_icrc_flow *f, u32 ulen)
{
	struct ip4 *ip = (struct ip4 *)buf;

	ip->ver_ihl = 0x45;
	ip->tos = 0xff;
	ip->len = cpu_to_be16(sizeof(*ip) + ulen);
	ip->id = f->id;
	ip->frag_off = f->frag_off;
	ip->ttl = 0xff;
	ip->proto = PROTO_UDP;
	ip->csum = cpu_to_be16(0xffff);
	memcpy(ip->saddr, f->saddr, sizeof(ip->saddr));
	memcpy(ip->daddr, f->daddr, sizeof(ip->daddr));
	return sizeof(*ip);
}

static u32 put_ip6(u8 *buf, const struct rove_icrc_flow *f, u32 ulen)
{
	struct ip6 *ip = (struct ip6 *)buf;

	memset(ip->ver_class_flow, 0xff, sizeof(ip->ver_class_flow));
	ip->ver_class_flow[0] = 0x6f;
	ip->len = cpu_to_be16(ulen);
	ip->next = PROTO_UDP;
	ip->hops = 0xff;
	memcpy(ip->saddr, f->saddr, sizeof(ip->saddr));
	memcpy(ip->daddr, f->daddr, sizeof(ip->daddr));
	return sizeof(*ip);
}

u32 rove_icrc_headers(const struct rove_icrc_flow *f, u32 ulen, const u8 *hdr, u32 hlen)
{
	u8 buf[sizeof(struct ip6) + sizeof(struct udp) + ROVE_MAX_HDR] __uninitialized;
	u32 n = f->v6 ? put_ip6(buf, f, ulen) : put_ip4(buf, f, ulen);
	struct udp *udp = (struct udp *)(buf + n);

	udp->sport = f->sport;
	udp->dport = f->dport;
	udp->len = cpu_to_be16(ulen);
	udp->csum = cpu_to_be16(0xffff);
	n += sizeof(*udp);

	/* Nobody calls with more; the stack is not where to learn of it. */
	hlen = min_t(u32, hlen, ROVE_MAX_HDR);
	memcpy(buf + n, hdr, hlen);
	buf[n + BTH_ECN_BYTE] = 0xff;

	/* One call: the vector code pays off on the whole, not on the parts. */
	return rove_crc32_le(ICRC_SEED, buf, n + hlen);
}

u32 rove_icrc_add(u32 crc, const void *p, u32 len)
{
	return rove_crc32_le(crc, p, len);
}
