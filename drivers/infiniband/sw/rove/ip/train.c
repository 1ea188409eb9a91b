// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/err.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <linux/unaligned.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/udp.h>
#include <net/xfrm.h>
#include "../wire/pkt.h"
#include "path.h"
#include "train.h"

/* What virtio, tun and others accept of UDP GSO. */
#define MAX_PIECES	128
#define PAGE_BYTES	SZ_64K
/* When a page cannot be had: any packet fits. */
#define SMALL_BYTES	SZ_8K
/* A packet up to this length goes into the skb's linear part: no page to hold. */
#define LINEAR_MAX	192

#define POOL_PAGES	32
#define SPARE_SKBS	4
#define SPARE_ROOM	512

/*
 * Of one CPU, for whoever has BH off there. Pages are filled with train after
 * train; a page that no skb refers to any more is used again. The first one and
 * the spare skbs are there from the beginning, so that something can be sent
 * without memory.
 */
struct pool {
	struct page *pages[POOL_PAGES];
	u32 at;				/* in pages: being filled */
	u32 off;			/* its first free byte */
	bool open;			/* a train is being built at off */
	u32 sent;			/* skbs given to the stack; wraps */
	struct sk_buff *spares[SPARE_SKBS];
	u32 spare;			/* of them are there */
};

static struct pool __percpu *pools;

static bool is_idle(const struct page *page)
{
	return page_ref_count(page) == 1;
}

static struct page *alloc_buf(u32 bytes)
{
	return alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY,
			   get_order(bytes));
}

static bool begin_page(struct pool *pool, u32 at)
{
	pool->at = at;
	pool->off = 0;
	return true;
}

/* No memory: any page that nobody uses, or a small one instead of slot @at's. */
static bool next_page_reserve(struct pool *pool, u32 at)
{
	struct page *page;
	u32 i;

	for (i = 0; i < POOL_PAGES; i++) {
		if (pool->pages[i] && is_idle(pool->pages[i]))
			return begin_page(pool, i);
	}
	page = alloc_buf(SMALL_BYTES);
	if (!page)
		return false;
	if (pool->pages[at])
		put_page(pool->pages[at]);
	pool->pages[at] = page;
	return begin_page(pool, at);
}

/* The first page if it is free, since it is the warmest, or else the next one. */
static bool next_page(struct pool *pool)
{
	u32 at = (pool->at + 1) % POOL_PAGES;
	struct page *page;

	if (is_idle(pool->pages[0]) && page_size(pool->pages[0]) >= PAGE_BYTES)
		return begin_page(pool, 0);
	page = pool->pages[at];
	if (page && is_idle(page) && page_size(page) >= PAGE_BYTES)
		return begin_page(pool, at);

	page = alloc_buf(PAGE_BYTES);
	if (unlikely(!page))
		return next_page_reserve(pool, at);
	/* The skbs that use the old one free it. */
	if (pool->pages[at])
		put_page(pool->pages[at]);
	pool->pages[at] = page;
	return begin_page(pool, at);
}

/* A new stretch for @t, in this page or the next, with room for @len bytes. */
static bool begin_frag(struct rove_train *t, struct pool *pool, u32 len)
{
	struct page *page = pool->pages[pool->at];
	struct rove_train_frag *f;

	if (is_idle(page))
		pool->off = 0;
	if (page_size(page) - pool->off < len) {
		if (!next_page(pool))
			return false;
		page = pool->pages[pool->at];
		if (page_size(page) < len)
			return false;
	}
	f = &t->frags[t->nr_frags++];
	f->page = page;
	f->off = pool->off;
	f->len = 0;
	t->next = page_address(page) + f->off;
	t->room = page_size(page) - f->off;
	return true;
}

/* From here on the page is not used again before whoever has the stretch is done. */
static void end_frag(struct rove_train *t, struct pool *pool)
{
	struct rove_train_frag *f = &t->frags[t->nr_frags - 1];

	get_page(f->page);
	if (f->page == pool->pages[pool->at])
		pool->off = f->off + ALIGN(f->len, SMP_CACHE_BYTES);
}

/* The open train goes on in the next page. */
static bool grow(struct rove_train *t, u32 len)
{
	struct pool *pool = this_cpu_ptr(pools);

	if (t->nr_frags == ROVE_TRAIN_FRAGS)
		return false;
	end_frag(t, pool);
	if (begin_frag(t, pool, len))
		return true;
	put_page(t->frags[t->nr_frags - 1].page);
	t->room = 0;
	return false;
}

/* No train is open any more. */
static void close_train(struct rove_train *t, struct pool *pool)
{
	pool->open = false;
	t->nr_frags = 0;
	t->count = 0;
}

/* Limits of a train over @dst: the device splits it, or whoever splits in its stead. */
static void set_limits(struct rove_train *t, const struct dst_entry *dst)
{
	const struct net_device *dev = dst->dev;
	u32 hdr = (t->path->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) +
		  sizeof(struct udphdr);
	u32 max = t->path->v6 ? READ_ONCE(dev->gso_max_size) : READ_ONCE(dev->gso_ipv4_max_size);
	u32 link = dev->hard_header_len + 2 * VLAN_HLEN;

	/* IPsec wants to see each packet. */
	if (dst_xfrm(dst))
		t->single = true;
	t->max_count = t->single ? 1 : min_t(u32, MAX_PIECES, READ_ONCE(dev->gso_max_segs));
	/* The stack compares the frame with gso_max_size, and wants less than that. */
	max = max > link ? max - link - 1 : 0;
	t->max_used = min_t(u32, max, U16_MAX) - hdr;
	if (max <= hdr || t->max_count < 2) {
		t->max_used = U16_MAX - hdr;
		t->max_count = 1;
	}
}

static int open_train(struct rove_train *t, u32 len)
{
	struct pool *pool = this_cpu_ptr(pools);
	struct dst_entry *dst;

	lockdep_assert_in_softirq();
	dst = rove_route_get(t->route, t->path);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	set_limits(t, dst);
	if (len > t->max_used)
		return -EMSGSIZE;

	/* Then what lies behind pool->off is somebody's. */
	if (WARN_ON_ONCE(pool->open) && !next_page(pool))
		return -ENOMEM;
	t->nr_frags = 0;
	if (!begin_frag(t, pool, len))
		return -ENOMEM;
	pool->open = true;
	t->used = 0;
	t->piece = len;
	t->closed = false;
	t->ip_id = atomic_read(&t->path->ip_id);
	return 0;
}

void rove_train_begin(struct rove_train *t, struct rove_path *path, struct rove_route *route)
{
	struct rove_icrc_flow *flow = &t->flow;

	t->path = path;
	t->route = route;
	t->count = 0;
	t->used = 0;
	t->nr_frags = 0;
	t->reserved = 0;
	t->single = false;
	t->cpu = smp_processor_id();

	flow->v6 = path->v6;
	if (path->v6) {
		memcpy(flow->saddr, &path->saddr6, sizeof(path->saddr6));
		memcpy(flow->daddr, &path->daddr6, sizeof(path->daddr6));
	} else {
		memcpy(flow->saddr, &path->saddr4, sizeof(path->saddr4));
		memcpy(flow->daddr, &path->daddr4, sizeof(path->daddr4));
	}
	flow->frag_off = htons(IP_DF);
	flow->sport = path->sport;
	flow->dport = htons(ROVE_UDP_PORT);
}

u8 *rove_train_reserve(struct rove_train *t, u32 len)
{
	int err;

	if (!t->count) {
		err = open_train(t, len);
		if (unlikely(err))
			return ERR_PTR(err);
	} else if (!rove_train_allows(t, len) || (len > t->room && !grow(t, len))) {
		return ERR_PTR(-EAGAIN);
	}
	t->reserved = len;
	return t->next;
}

void rove_train_commit(struct rove_train *t, u32 hdr_len)
{
	u32 len = t->reserved - ROVE_ICRC_LEN;
	u8 *p = t->next;
	u32 crc;

	/* Small packets in one go. */
	if (len <= ROVE_MAX_HDR)
		hdr_len = len;
	/* The stack counts from the first packet's identification on when it splits. */
	t->flow.id = htons(t->ip_id + t->count);
	crc = rove_icrc_headers(&t->flow, sizeof(struct udphdr) + t->reserved, p, hdr_len);
	if (hdr_len < len)
		crc = rove_icrc_add(crc, p + hdr_len, len - hdr_len);
	put_unaligned(rove_icrc_end(crc), (__le32 *)(p + len));

	t->closed = t->reserved < t->piece;
	t->used += t->reserved;
	t->frags[t->nr_frags - 1].len += t->reserved;
	t->next += t->reserved;
	t->room -= t->reserved;
	t->reserved = 0;
	t->count++;
}

void rove_train_cancel(struct rove_train *t)
{
	t->reserved = 0;
	if (!t->count)
		close_train(t, this_cpu_ptr(pools));
}

static struct sk_buff *get_skb(struct pool *pool, u32 len)
{
	struct sk_buff *skb = alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);

	if (unlikely(!skb)) {
		if (len > SPARE_ROOM || !pool->spare)
			return NULL;
		return pool->spares[--pool->spare];
	}
	if (unlikely(pool->spare < SPARE_SKBS)) {
		pool->spares[pool->spare] = alloc_skb(SPARE_ROOM, GFP_ATOMIC | __GFP_NOWARN);
		pool->spare += !!pool->spares[pool->spare];
	}
	return skb;
}

/* An skb with the train's bytes, and with room for the headers before them. */
static struct sk_buff *make_skb(struct rove_train *t, struct pool *pool,
				const struct dst_entry *dst)
{
	u32 headroom = LL_RESERVED_SPACE(dst->dev) + dst->header_len + sizeof(struct ipv6hdr) +
		       sizeof(struct udphdr);
	bool linear = t->count == 1 && t->nr_frags == 1 && t->used <= LINEAR_MAX;
	struct rove_train_frag *f;
	struct sk_buff *skb;

	skb = get_skb(pool, headroom + (linear ? t->used : 0));
	if (unlikely(!skb))
		return NULL;
	skb_reserve(skb, headroom);
	if (linear) {
		skb_put_data(skb, t->next - t->used, t->used);
		return skb;
	}
	end_frag(t, pool);
	for (f = t->frags; f < t->frags + t->nr_frags; f++) {
		if (f->len)
			skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, f->page, f->off, f->len,
					ALIGN(f->len, SMP_CACHE_BYTES));
		else
			put_page(f->page);
	}
	return skb;
}

/*
 * The ICRC covers all that a UDP checksum would, but GRO lets packets without one
 * overtake those that it has gathered. So single packets have a checksum as trains
 * must, which the device computes; where no trains go nothing can be overtaken.
 */
static void push_udp(const struct rove_train *t, struct sk_buff *skb)
{
	const struct rove_path *path = t->path;
	struct udphdr *uh = skb_push(skb, sizeof(*uh));

	skb_reset_transport_header(skb);
	uh->source = path->sport;
	uh->dest = htons(ROVE_UDP_PORT);
	uh->len = htons(skb->len);
	uh->check = 0;
	if (t->single)
		return;

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (path->v6)
		uh->check = ~udp_v6_check(skb->len, &path->saddr6, &path->daddr6, 0);
	else
		uh->check = ~udp_v4_check(skb->len, path->saddr4, path->daddr4, 0);
	if (t->count == 1)
		return;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	skb_shinfo(skb)->gso_size = t->piece;
	skb_shinfo(skb)->gso_segs = t->count;
}

static int send4(const struct rove_train *t, struct sk_buff *skb, struct net *net)
{
	const struct rove_path *path = t->path;
	struct iphdr *iph = skb_push(skb, sizeof(*iph));

	skb_reset_network_header(skb);
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = path->tclass;
	iph->id = htons(t->ip_id);
	iph->frag_off = htons(IP_DF);
	iph->ttl = path->hop_limit;
	iph->protocol = IPPROTO_UDP;
	iph->saddr = path->saddr4;
	iph->daddr = path->daddr4;
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	skb->protocol = htons(ETH_P_IP);
	return ip_local_out(net, NULL, skb);
}

static int send6(const struct rove_train *t, struct sk_buff *skb, struct net *net)
{
	const struct rove_path *path = t->path;
	struct ipv6hdr *iph = skb_push(skb, sizeof(*iph));

	skb_reset_network_header(skb);
	ip6_flow_hdr(iph, path->tclass, htonl(path->flow_label));
	iph->nexthdr = IPPROTO_UDP;
	iph->hop_limit = path->hop_limit;
	iph->saddr = path->saddr6;
	iph->daddr = path->daddr6;
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	skb->protocol = htons(ETH_P_IPV6);
	return ip6_local_out(net, NULL, skb);
}

int rove_train_flush(struct rove_train *t)
{
	struct pool *pool = this_cpu_ptr(pools);
	struct dst_entry *dst = t->route->dst;
	struct sk_buff *skb;
	struct net *net;
	int err;

	if (!t->count)
		return 0;
	pool->sent++;
	skb = make_skb(t, pool, dst);
	if (unlikely(!skb)) {
		while (--t->nr_frags)
			put_page(t->frags[t->nr_frags - 1].page);
		close_train(t, pool);
		return -ENOMEM;
	}
	atomic_add(t->count, &t->path->ip_id);
	push_udp(t, skb);
	skb_dst_set(skb, dst_clone(dst));
	skb->priority = t->path->priority;
	skb_set_hash(skb, t->path->hash, PKT_HASH_TYPE_L4);
#ifdef CONFIG_XPS
	skb->sender_cpu = t->cpu + 1;
#endif
	close_train(t, pool);

	/* The dst holds its device, and the device its namespace. */
	net = dev_net(dst->dev);
	err = t->path->v6 ? send6(t, skb, net) : send4(t, skb, net);
	/* Congestion was noted, but the train went: NET_XMIT_CN. */
	err = net_xmit_eval(err);
	return err > 0 ? -EAGAIN : err;
}

u32 rove_train_sent(void)
{
	return this_cpu_ptr(pools)->sent;
}

static int fill_pool(int cpu)
{
	struct pool *pool = per_cpu_ptr(pools, cpu);

	pool->pages[0] = alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL | __GFP_COMP,
					  get_order(PAGE_BYTES));
	if (!pool->pages[0])
		return -ENOMEM;
	for (; pool->spare < SPARE_SKBS; pool->spare++) {
		pool->spares[pool->spare] = alloc_skb(SPARE_ROOM, GFP_KERNEL);
		if (!pool->spares[pool->spare])
			return -ENOMEM;
	}
	return 0;
}

int rove_train_init(void)
{
	int cpu, err;

	pools = alloc_percpu(struct pool);
	if (!pools)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		err = fill_pool(cpu);
		if (err) {
			rove_train_exit();
			return err;
		}
	}
	return 0;
}

/* Nobody sends any more. Trains that are under way keep their pages. */
void rove_train_exit(void)
{
	struct pool *pool;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		pool = per_cpu_ptr(pools, cpu);
		while (pool->spare)
			kfree_skb(pool->spares[--pool->spare]);
		for (i = 0; i < POOL_PAGES; i++) {
			if (pool->pages[i])
				put_page(pool->pages[i]);
		}
	}
	free_percpu(pools);
}
