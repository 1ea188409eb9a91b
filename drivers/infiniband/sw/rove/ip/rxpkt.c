// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include "../wire/pkt.h"
#include "rxpkt.h"

#define MIN_PACKET	(ROVE_BTH_LEN + ROVE_ICRC_LEN)

/* Addresses; false if anything but UDP follows the IP header. */
static bool read_ip(struct rove_icrc_flow *f, const struct sk_buff *skb, u16 *id)
{
	const struct iphdr *ip4 = ip_hdr(skb);
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);

	switch (ip4->version) {
	case 4:
		f->v6 = false;
		f->frag_off = ip4->frag_off;
		*id = ntohs(ip4->id);
		memcpy(f->saddr, &ip4->saddr, sizeof(ip4->saddr));
		memcpy(f->daddr, &ip4->daddr, sizeof(ip4->daddr));
		return skb_transport_offset(skb) == sizeof(*ip4);
	case 6:
		f->v6 = true;
		*id = 0;
		memcpy(f->saddr, &ip6->saddr, sizeof(ip6->saddr));
		memcpy(f->daddr, &ip6->daddr, sizeof(ip6->daddr));
		return skb_transport_offset(skb) == sizeof(*ip6);
	}
	return false;
}

/* Can locate() find its way? GRO makes lists of one level. */
static bool make_readable(struct sk_buff *skb)
{
	const struct sk_buff *member;

	if (!skb_frags_readable(skb))
		return false;
	skb_walk_frags(skb, member) {
		if (!skb_frags_readable(member))
			return false;
		if (skb_has_frag_list(member))
			return !skb_linearize(skb);
	}
	return true;
}

static void read_dev(struct rove_rxdev *d, const struct net_device *dev)
{
	*d = (struct rove_rxdev){};
	if (!dev)
		return;
	d->ether = dev->type == ARPHRD_ETHER;
	d->tagged = is_vlan_dev(dev);
	if (d->tagged)
		d->vlan = vlan_dev_vlan_id(dev);
}

bool rove_rxpkt_begin(struct rove_rxpkt *rx, struct sk_buff *skb)
{
	const struct udphdr *uh;
	u32 udp, len;

	if (unlikely(!make_readable(skb)))
		return false;
	if (!read_ip(&rx->flow, skb, &rx->id))
		return false;
	uh = udp_hdr(skb);
	rx->flow.sport = uh->source;
	rx->flow.dport = uh->dest;

	udp = skb_transport_offset(skb);
	len = ntohs(uh->len);
	/* Longer than the field can say. */
	if (!len && skb_is_gso(skb))
		len = skb->len - udp;
	if (len < sizeof(*uh) + MIN_PACKET || len > skb->len - udp)
		return false;

	rx->skb = skb;
	read_dev(&rx->dev, skb->dev);
	rx->off = udp + sizeof(*uh);
	rx->end = udp + len;
	rx->piece = len - sizeof(*uh);
	/* gso_segs is not to be believed, nor is it needed. */
	if (skb_is_gso(skb) && skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4)
		rx->piece = skb_shinfo(skb)->gso_size;
	if (rx->piece < MIN_PACKET)
		return false;

	rx->index = 0;
	rx->same_id = false;
	rx->counted_id = false;
	rx->bare = false;
	rx->at_off = 0;
	rx->at_len = 0;
	return true;
}

/* In one skb without its list: the stretch that @off lies in. */
static bool locate_in(struct rove_rxpkt *rx, const struct sk_buff *skb, u32 start, u32 off)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	u32 len = skb_headlen(skb);
	u32 i;

	if (off - start < len) {
		rx->at = skb->data;
		rx->at_off = start;
		rx->at_len = len;
		return true;
	}
	start += len;
	for (i = 0; i < shinfo->nr_frags; i++) {
		len = skb_frag_size(&shinfo->frags[i]);
		if (off - start < len) {
			rx->at = skb_frag_address(&shinfo->frags[i]);
			rx->at_off = start;
			rx->at_len = len;
			return true;
		}
		start += len;
	}
	return false;
}

static bool locate(struct rove_rxpkt *rx, u32 off)
{
	const struct sk_buff *skb = rx->skb, *member;
	u32 start = skb_pagelen(skb);

	BUILD_BUG_ON(IS_ENABLED(CONFIG_HIGHMEM));
	if (off < start)
		return locate_in(rx, skb, 0, off);
	skb_walk_frags(skb, member) {
		if (off - start < member->len)
			return locate_in(rx, member, start, off);
		start += member->len;
	}
	return false;
}

/* The bytes from @off on, as far as they lie together; NULL: there are none. */
static const u8 *stretch(struct rove_rxpkt *rx, u32 off, u32 *len)
{
	if (off - rx->at_off >= rx->at_len && WARN_ON_ONCE(!locate(rx, off)))
		return NULL;
	*len = rx->at_len - (off - rx->at_off);
	return rx->at + (off - rx->at_off);
}

static bool copy_bytes(struct rove_rxpkt *rx, u32 off, u8 *to, u32 len)
{
	const u8 *p;
	u32 n;

	while (len) {
		p = stretch(rx, off, &n);
		if (!p)
			return false;
		n = min(n, len);
		memcpy(to, p, n);
		to += n;
		off += n;
		len -= n;
	}
	return true;
}

/* A packet this short is in the copy of its headers as a whole. */
static bool is_copied(const struct rove_rxpkt *rx)
{
	return rx->total <= ROVE_MAX_HDR;
}

/* All but the first and the last one of a long message are alike. */
static bool read_alike(struct rove_rxpkt *rx)
{
	u8 bth[ROVE_BTH_LEN] __uninitialized;

	return copy_bytes(rx, rx->off, bth, sizeof(bth)) &&
	       rove_parse_next(rx->hdr, &rx->pkt, bth);
}

enum rove_drop rove_rxpkt_read(struct rove_rxpkt *rx)
{
	u32 total = min(rx->piece, rx->end - rx->off);
	enum rove_drop why;

	if (rx->bare && total == rx->total && read_alike(rx))
		return ROVE_DROP_NONE;
	rx->total = total;
	rx->bare = false;
	if (!copy_bytes(rx, rx->off, rx->hdr, min_t(u32, rx->total, ROVE_MAX_HDR)))
		return ROVE_DROP_SHORT;
	why = rove_parse(rx->hdr, rx->total, &rx->pkt);
	rx->bare = !why && rx->pkt.hlen == ROVE_BTH_LEN && !is_copied(rx);
	return why;
}

bool rove_rxpkt_next(struct rove_rxpkt *rx)
{
	rx->off += rx->total;
	rx->index++;
	return rx->off < rx->end;
}

static int add_icrc(void *arg, const void *p, u32 len)
{
	u32 *crc = arg;

	*crc = rove_icrc_add(*crc, p, len);
	return 0;
}

static int walk(struct rove_rxpkt *rx, u32 off, u32 len,
		int (*fn)(void *arg, const void *p, u32 len), void *arg)
{
	const u8 *p;
	int ret;
	u32 n;

	while (len) {
		p = stretch(rx, off, &n);
		if (!p)
			return 0;
		n = min(n, len);
		ret = fn(arg, p, n);
		if (ret)
			return ret;
		off += n;
		len -= n;
	}
	return 0;
}

static bool icrc_matches(struct rove_rxpkt *rx, u16 id)
{
	u32 ulen = sizeof(struct udphdr) + rx->total;
	u32 body = rx->total - ROVE_ICRC_LEN;
	u32 hlen = is_copied(rx) ? body : rx->pkt.hlen;
	__le32 icrc;
	u32 crc;

	rx->flow.id = htons(id);
	crc = rove_icrc_headers(&rx->flow, ulen, rx->hdr, hlen);
	walk(rx, rx->off + hlen, body - hlen, add_icrc, &crc);
	if (!copy_bytes(rx, rx->off + body, (u8 *)&icrc, sizeof(icrc)))
		return false;
	return icrc == rove_icrc_end(crc);
}

bool rove_rxpkt_icrc_ok(struct rove_rxpkt *rx)
{
	u16 id = rx->same_id ? rx->id : rx->id + rx->index;

	if (likely(icrc_matches(rx, id))) {
		rx->counted_id = rx->index && !rx->same_id;
		return true;
	}
	/*
	 * GRO gathers packets whose identification counts up, but also those of a
	 * sender that gives all the same. The first good packet tells.
	 */
	if (rx->flow.v6 || !rx->index || rx->same_id || rx->counted_id)
		return false;
	rx->same_id = icrc_matches(rx, rx->id);
	return rx->same_id;
}

static int walk_pieces(const struct rove_rxpkt *rx,
		       int (*fn)(void *arg, const void *p, u32 len), void *arg)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < rx->pieces && !ret; i++)
		ret = fn(arg, rx->piece_of[i].p, rx->piece_of[i].len);
	return ret;
}

int rove_rxpkt_copy(struct rove_rxpkt *rx, int (*fn)(void *arg, const void *p, u32 len),
		    void *arg)
{
	if (!rx->pkt.len)
		return 0;
	if (!rx->skb)
		return walk_pieces(rx, fn, arg);
	/* What was summed and what is taken are the same bytes then. */
	if (is_copied(rx))
		return fn(arg, rx->hdr + rx->pkt.hlen, rx->pkt.len);
	return walk(rx, rx->off + rx->pkt.hlen, rx->pkt.len, fn, arg);
}
