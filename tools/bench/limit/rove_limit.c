// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the kernel allows on this machine, with nothing of RDMA in it: the limit
 * that tools/bench measures rove against.
 *
 * When it is loaded it measures, from the network namespace of whoever loads it
 * (address "src") to that of process "peer_pid" ("dst"):
 *
 *	trains		bytes a second in UDP GSO trains of 4096 byte packets, copied into
 *			recycled pages with a CRC, taken whole on the other side, summed
 *			and copied out, everything on one CPU
 *	trains_1024	the same with packets of 1024 bytes
 *	echo		nanoseconds one way of a small packet, softirq to softirq
 *	memcpy		bytes a second of copies of 1 MiB between hot buffers, which are single
 *			pages, as those of a process are
 *
 * and offers them as read-only parameters. /dev/rove_limit is a page with two
 * words; while it is open a thread copies the first one to the second one (the
 * doorbell that no system call rings).
 */
#include <linux/completion.h>
#include <linux/crc32.h>
#include <linux/fs.h>
#include <linux/inet.h>
#include <linux/ip.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <linux/unaligned.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/udp.h>

#define PORT		4790	/* rove's is the next one */
#define BUF_BYTES	SZ_1M
#define BUF_PAGES	(BUF_BYTES / PAGE_SIZE)
#define PAGE_BYTES	SZ_64K
#define TRAIN_BYTES	65000	/* with headers less than 64 KiB */
#define POOL_PAGES	32
#define BURST		16	/* trains in a section with BH off */
#define HDR_BYTES	12	/* in front of a packet's payload, as a BTH */
#define CRC_BYTES	4
#define RUN_MS		500
#define ECHOES		20000

static int peer_pid;
module_param(peer_pid, int, 0444);
MODULE_PARM_DESC(peer_pid, "process in the other network namespace");
static char *src = "10.0.0.2";
module_param(src, charp, 0444);
MODULE_PARM_DESC(src, "IPv4 address of this side");
static char *dst = "10.0.0.1";
module_param(dst, charp, 0444);
MODULE_PARM_DESC(dst, "IPv4 address of the other side");

static ulong trains;
module_param(trains, ulong, 0444);
MODULE_PARM_DESC(trains, "bytes a second, packets of 4096 bytes");
static ulong trains_1024;
module_param(trains_1024, ulong, 0444);
MODULE_PARM_DESC(trains_1024, "bytes a second, packets of 1024 bytes");
static ulong echo;
module_param(echo, ulong, 0444);
MODULE_PARM_DESC(echo, "nanoseconds one way");
static ulong memcpy_rate;
module_param_named(memcpy, memcpy_rate, ulong, 0444);
MODULE_PARM_DESC(memcpy, "bytes a second");

struct side {
	struct net *net;
	__be32 addr;
	struct nf_hook_ops hook;
};

/* 0 is the side of whoever loads the module; bytes go from there to 1. */
static struct side sides[2];
static u8 *from, *to;
static struct page *from_pages[BUF_PAGES], *to_pages[BUF_PAGES];
static struct page *pool[POOL_PAGES];
static u32 pool_at;
static u64 arrived;		/* bytes of payload whose CRC was right */
static u64 wrong;
static u32 echoes_left;
static DECLARE_COMPLETION(echoed);

/* An skb from @side to the other one; the payload is in @page, if there is one. */
static int transmit(struct side *side, struct page *page, u32 len, u32 piece)
{
	struct side *other = &sides[side == &sides[0]];
	struct flowi4 flow = {
		.saddr = side->addr,
		.daddr = other->addr,
		.flowi4_proto = IPPROTO_UDP,
	};
	struct rtable *route;
	struct sk_buff *skb;
	struct iphdr *iph;
	struct udphdr *uh;

	route = ip_route_output_key(side->net, &flow);
	if (IS_ERR(route))
		return PTR_ERR(route);
	skb = alloc_skb(LL_RESERVED_SPACE(route->dst.dev) + sizeof(*iph) + sizeof(*uh) + len *
			!page, GFP_ATOMIC);
	if (!skb) {
		dst_release(&route->dst);
		return -ENOMEM;
	}
	skb_reserve(skb, LL_RESERVED_SPACE(route->dst.dev) + sizeof(*iph) + sizeof(*uh));
	if (page) {
		get_page(page);
		skb_add_rx_frag(skb, 0, page, 0, len, len);
	} else {
		memset(skb_put(skb, len), 0, len);
	}

	uh = skb_push(skb, sizeof(*uh));
	skb_reset_transport_header(skb);
	uh->source = htons(PORT);
	uh->dest = htons(PORT);
	uh->len = htons(skb->len);
	uh->check = ~udp_v4_check(skb->len, side->addr, other->addr, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (len > piece) {
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(skb)->gso_size = piece;
		skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(len, piece);
	}

	iph = skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->frag_off = htons(IP_DF);
	iph->ttl = 64;
	iph->protocol = IPPROTO_UDP;
	iph->saddr = side->addr;
	iph->daddr = other->addr;
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	skb->protocol = htons(ETH_P_IP);
	skb_dst_set(skb, &route->dst);
	return ip_local_out(side->net, NULL, skb);
}

/* The first page if it is free, since it is the warmest, or else the next one. */
static struct page *next_page(void)
{
	if (page_ref_count(pool[0]) == 1)
		return pool[0];
	do {
		pool_at = (pool_at + 1) % POOL_PAGES;
	} while (page_ref_count(pool[pool_at]) != 1);
	return pool[pool_at];
}

static int send_train(u32 offset, u32 payload, u32 count)
{
	struct page *page = next_page();
	u8 *p = page_address(page);
	u32 i;

	for (i = 0; i < count; i++) {
		memset(p, 0, HDR_BYTES);
		memcpy(p + HDR_BYTES, from + offset + i * payload, payload);
		put_unaligned_le32(crc32_le(~0, p, HDR_BYTES + payload), p + HDR_BYTES + payload);
		p += HDR_BYTES + payload + CRC_BYTES;
	}
	return transmit(&sides[0], page, p - (u8 *)page_address(page),
			HDR_BYTES + payload + CRC_BYTES);
}

/* The packets of one train lie in one page behind each other. */
static void receive_train(struct sk_buff *skb, u32 offset)
{
	u32 piece = skb_shinfo(skb)->gso_size, payload = piece - HDR_BYTES - CRC_BYTES;
	u8 *p = skb_frag_address(&skb_shinfo(skb)->frags[0]);
	static u32 at;

	for (; offset + piece <= skb->len; offset += piece, p += piece) {
		if (at + payload > BUF_BYTES)
			at = 0;
		memcpy(to + at, p + HDR_BYTES, payload);
		if (crc32_le(crc32_le(~0, p, HDR_BYTES), to + at, payload) ==
		    get_unaligned_le32(p + HDR_BYTES + payload))
			arrived += payload;
		else
			wrong++;
		at += payload;
	}
}

static void receive_echo(struct side *side)
{
	if (side == &sides[0] && !--echoes_left)
		complete(&echoed);
	else
		transmit(side, NULL, HDR_BYTES, HDR_BYTES);
}

static unsigned int local_in(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	u32 offset = ip_hdrlen(skb) + sizeof(struct udphdr);

	if (ip_hdr(skb)->protocol != IPPROTO_UDP || !pskb_may_pull(skb, offset) ||
	    ((struct udphdr *)(skb->data + ip_hdrlen(skb)))->dest != htons(PORT))
		return NF_ACCEPT;
	if (skb_is_gso(skb) && skb_shinfo(skb)->nr_frags == 1)
		receive_train(skb, offset);
	else
		receive_echo(priv);
	consume_skb(skb);
	return NF_STOLEN;
}

/* Bytes a second from one side to the other. */
static long measure_trains(u32 payload, ulong *rate)
{
	u32 count = TRAIN_BYTES / (HDR_BYTES + payload + CRC_BYTES);
	u32 offset = 0, i;
	ktime_t begin;
	int err = 0;

	arrived = 0;
	wrong = 0;
	begin = ktime_get();
	while (!err && ktime_ms_delta(ktime_get(), begin) < RUN_MS) {
		local_bh_disable();
		for (i = 0; i < BURST && !err; i++) {
			if (offset + count * payload > BUF_BYTES)
				offset = 0;
			err = send_train(offset, payload, count);
			offset += count * payload;
		}
		local_bh_enable();
		cond_resched();
	}
	if (err)
		return err;
	if (wrong || !arrived)
		return -EBADMSG;
	*rate = div64_u64(arrived * NSEC_PER_SEC, ktime_to_ns(ktime_sub(ktime_get(), begin)));
	return 0;
}

static int measure_echo(void)
{
	ktime_t begin = ktime_get();

	echoes_left = ECHOES;
	local_bh_disable();
	transmit(&sides[0], NULL, HDR_BYTES, HDR_BYTES);
	local_bh_enable();
	if (!wait_for_completion_timeout(&echoed, 10 * HZ))
		return -ETIMEDOUT;
	echo = div_u64(ktime_to_ns(ktime_sub(ktime_get(), begin)), 2 * ECHOES);
	return 0;
}

static void measure_memcpy(void)
{
	ktime_t begin = ktime_get();
	u64 bytes = 0;
	u32 i;

	while (ktime_ms_delta(ktime_get(), begin) < RUN_MS) {
		for (i = 0; i < BUF_PAGES; i++)
			memcpy(page_address(to_pages[i]), page_address(from_pages[i]), PAGE_SIZE);
		barrier();
		bytes += BUF_BYTES;
		cond_resched();
	}
	memcpy_rate = div64_u64(bytes * NSEC_PER_SEC, ktime_to_ns(ktime_sub(ktime_get(), begin)));
}

static int measure(void)
{
	int err;

	measure_memcpy();
	err = measure_trains(4096, &trains);
	if (!err)
		err = measure_trains(1024, &trains_1024);
	return err ?: measure_echo();
}

/* ------------------------------------------------------------- the doorbell page */

static u32 *doorbell;
static struct task_struct *watcher;

static int watch(void *unused)
{
	while (!kthread_should_stop()) {
		WRITE_ONCE(doorbell[1], READ_ONCE(doorbell[0]));
		cpu_relax();
		if (need_resched())
			schedule();
	}
	return 0;
}

/* misc_open() holds a mutex: one at a time comes here. */
static int doorbell_open(struct inode *inode, struct file *file)
{
	if (watcher)
		return -EBUSY;
	watcher = kthread_run(watch, NULL, "rove_limit");
	if (IS_ERR(watcher)) {
		int err = PTR_ERR(watcher);

		watcher = NULL;
		return err;
	}
	return 0;
}

static int doorbell_release(struct inode *inode, struct file *file)
{
	kthread_stop(watcher);
	watcher = NULL;
	return 0;
}

static int doorbell_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE || vma->vm_pgoff)
		return -EINVAL;
	return vm_insert_page(vma, vma->vm_start, virt_to_page(doorbell));
}

static const struct file_operations doorbell_fops = {
	.owner = THIS_MODULE,
	.open = doorbell_open,
	.release = doorbell_release,
	.mmap = doorbell_mmap,
};

static struct miscdevice doorbell_dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rove_limit",
	.fops = &doorbell_fops,
	.mode = 0600,
};

/* ------------------------------------------------------------------ life */

static int get_memory(void)
{
	u32 i;

	from = kzalloc(BUF_BYTES, GFP_KERNEL);
	to = kzalloc(BUF_BYTES, GFP_KERNEL);
	doorbell = (u32 *)get_zeroed_page(GFP_KERNEL);
	if (!from || !to || !doorbell)
		return -ENOMEM;
	for (i = 0; i < POOL_PAGES; i++) {
		pool[i] = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(PAGE_BYTES));
		if (!pool[i])
			return -ENOMEM;
	}
	for (i = 0; i < BUF_PAGES; i++) {
		from_pages[i] = alloc_page(GFP_KERNEL | __GFP_MOVABLE | __GFP_ZERO);
		to_pages[i] = alloc_page(GFP_KERNEL | __GFP_MOVABLE | __GFP_ZERO);
		if (!from_pages[i] || !to_pages[i])
			return -ENOMEM;
	}
	return 0;
}

static void put_memory(void)
{
	u32 i;

	for (i = 0; i < POOL_PAGES; i++) {
		if (pool[i])
			put_page(pool[i]);
	}
	for (i = 0; i < BUF_PAGES; i++) {
		if (from_pages[i])
			put_page(from_pages[i]);
		if (to_pages[i])
			put_page(to_pages[i]);
	}
	free_page((ulong)doorbell);
	kfree(to);
	kfree(from);
}

static int make_sides(void)
{
	u32 i;

	sides[1].net = get_net_ns_by_pid(peer_pid);
	if (IS_ERR(sides[1].net))
		return PTR_ERR(sides[1].net);
	sides[0].net = get_net(current->nsproxy->net_ns);
	sides[0].addr = in_aton(src);
	sides[1].addr = in_aton(dst);
	for (i = 0; i < 2; i++) {
		sides[i].hook = (struct nf_hook_ops){
			.hook = local_in,
			.priv = &sides[i],
			.pf = NFPROTO_IPV4,
			.hooknum = NF_INET_LOCAL_IN,
			.priority = NF_IP_PRI_LAST,
		};
		if (nf_register_net_hook(sides[i].net, &sides[i].hook)) {
			while (i--)
				nf_unregister_net_hook(sides[i].net, &sides[i].hook);
			put_net(sides[0].net);
			put_net(sides[1].net);
			return -ENOMEM;
		}
	}
	return 0;
}

static void unmake_sides(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		nf_unregister_net_hook(sides[i].net, &sides[i].hook);
		put_net(sides[i].net);
	}
}

static int __init rove_limit_init(void)
{
	int err;

	err = get_memory();
	if (!err)
		err = make_sides();
	if (!err) {
		err = measure();
		unmake_sides();
	}
	if (!err)
		err = misc_register(&doorbell_dev);
	if (err)
		put_memory();
	return err;
}
module_init(rove_limit_init);

static void __exit rove_limit_exit(void)
{
	misc_deregister(&doorbell_dev);
	put_memory();
}
module_exit(rove_limit_exit);

MODULE_DESCRIPTION("What the kernel's network path carries on this machine");
MODULE_LICENSE("Dual BSD/GPL");
