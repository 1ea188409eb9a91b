// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A first RDMA program: two hosts connect, exchange messages, write into each
 * other's memory and read it back.
 *
 *   server:  rdma_echo
 *   client:  rdma_echo 192.0.2.1
 *
 * It uses nothing but libibverbs and librdmacm, and knows nothing of the device
 * that it runs on. Read it from main() at the end upwards. The course of things:
 *
 *   client                                server
 *                                         listen
 *   resolve address and route
 *   create PD, CQ, MR, QP                 [CONNECT_REQUEST]
 *   connect  --------------------------->  create PD, CQ, MR, QP
 *   [ESTABLISHED]  <---------------------  accept, [ESTABLISHED]
 *
 *   SEND "here is my buffer"  ---------->  receive
 *   receive  <---------------------------  SEND it back, with its own buffer
 *   RDMA WRITE, RDMA READ, compare
 *   SEND "I have written"  ------------->  receive, look into the buffer
 *   receive, look into the buffer  <-----  the same in the other direction
 *
 *   disconnect  ------------------------>  [DISCONNECTED], disconnect
 *   [DISCONNECTED], destroy                destroy
 */
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define PORT		"7471"
#define RESOLVE_MS	2000	/* for the kernel to resolve an address */
#define WAIT_MS		10000	/* for the peer to do its part */
#define CQ_ENTRIES	16
#define SEND_DEPTH	4
#define MESSAGES	2	/* that each side receives in all */

/* What travels in a SEND. All numbers in network order: hosts differ. */
struct message {
	uint64_t addr;		/* of the sender's buffer, */
	uint32_t rkey;		/* the key that lets a peer access it, */
	uint32_t length;	/* and its size */
	uint32_t seed;		/* of the pattern that was written; 0: none */
	char text[44];
};

/*
 * A work request carries a number of ours (wr_id), which comes back in its
 * completion. Here it is a bit, so that one word says what is done.
 */
enum {
	DONE_SEND	= 1 << 0,
	DONE_WRITE	= 1 << 1,
	DONE_READ	= 1 << 2,
	DONE_RECV	= 1 << 3,	/* and the following MESSAGES - 1 bits */
};

/* One connection and all that belongs to it. */
struct conn {
	struct rdma_event_channel *events;	/* connection events of all ids */
	struct rdma_cm_id *listener;		/* server only */
	struct rdma_cm_id *id;			/* "socket" of this connection */
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;	/* becomes readable, see poll() */
	struct ibv_cq_ex *cq;
	struct ibv_mr *msg_mr;
	struct ibv_mr *buf_mr;

	/* Registered memory: the device reads and writes it by itself. */
	struct message *out;			/* one message to send */
	struct message *in;			/* MESSAGES to receive */
	char *buffer;				/* the peer writes here; */
	char *scratch;				/* we write from here, and read back to here */
	size_t size;

	bool cm[RDMA_CM_EVENT_TIMEWAIT_EXIT + 1];	/* events that came */
	unsigned int done;			/* DONE_ bits that came */
	uint32_t received[MESSAGES];		/* bytes of each message */
};

static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* Reports an error; what failed, and why if @err is not 0. */
static int fail(const char *what, int err)
{
	if (err)
		fprintf(stderr, "rdma_echo: %s: %s\n", what, strerror(err));
	else
		fprintf(stderr, "rdma_echo: %s\n", what);
	return -1;
}

/* ---- resources -------------------------------------------------------------- */

/*
 * Everything that one connection needs. The id is bound to a device by now
 * (id->verbs): on the client since its address was resolved, on the server since
 * the connection request came in.
 */
static int create_resources(struct conn *c)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = CQ_ENTRIES,
		/* What completions shall tell besides wr_id and status. */
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN,
	};
	struct ibv_qp_init_attr_ex qp_attr = {
		.qp_type = IBV_QPT_RC,		/* reliable connection */
		.cap = {
			.max_send_wr = SEND_DEPTH,
			.max_recv_wr = MESSAGES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_all = 1,		/* each request gets a completion */
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		/* The operations that ibv_wr_*() will be called for. */
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ,
	};

	/* Memory and queues of one protection domain can be used together. */
	c->pd = ibv_alloc_pd(c->id->verbs);
	if (!c->pd)
		return fail("ibv_alloc_pd", errno);

	c->completions = ibv_create_comp_channel(c->id->verbs);
	if (!c->completions)
		return fail("ibv_create_comp_channel", errno);
	cq_attr.channel = c->completions;
	c->cq = ibv_create_cq_ex(c->id->verbs, &cq_attr);
	if (!c->cq)
		return fail("ibv_create_cq_ex", errno);
	if (ibv_req_notify_cq(ibv_cq_ex_to_cq(c->cq), 0))
		return fail("ibv_req_notify_cq", errno);

	/*
	 * Messages are for ourselves; only LOCAL_WRITE is needed, to receive. The
	 * buffers are open to the peer, who needs their rkey.
	 */
	c->out = calloc(1 + MESSAGES, sizeof(*c->out));
	c->buffer = calloc(2, c->size);
	if (!c->out || !c->buffer)
		return fail("calloc", ENOMEM);
	c->in = c->out + 1;
	c->scratch = c->buffer + c->size;
	c->msg_mr = ibv_reg_mr(c->pd, c->out, (1 + MESSAGES) * sizeof(*c->out),
			       IBV_ACCESS_LOCAL_WRITE);
	if (!c->msg_mr)
		return fail("ibv_reg_mr", errno);
	c->buf_mr = ibv_reg_mr(c->pd, c->buffer, 2 * c->size,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ);
	if (!c->buf_mr)
		return fail("ibv_reg_mr", errno);

	qp_attr.pd = c->pd;
	qp_attr.send_cq = ibv_cq_ex_to_cq(c->cq);
	qp_attr.recv_cq = ibv_cq_ex_to_cq(c->cq);
	/* Makes c->id->qp and moves it to INIT; connect or accept do the rest. */
	if (rdma_create_qp_ex(c->id, &qp_attr))
		return fail("rdma_create_qp_ex", errno);
	return 0;
}

/* In the reverse order: nothing can go while something still uses it. */
static void destroy_resources(struct conn *c)
{
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->buf_mr)
		ibv_dereg_mr(c->buf_mr);
	if (c->msg_mr)
		ibv_dereg_mr(c->msg_mr);
	free(c->buffer);
	free(c->out);
	if (c->cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(c->cq));
	if (c->completions)
		ibv_destroy_comp_channel(c->completions);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->id)
		rdma_destroy_id(c->id);
	if (c->listener)
		rdma_destroy_id(c->listener);
	if (c->events)
		rdma_destroy_event_channel(c->events);
}

/*
 * A message can be received only if a buffer is posted for it beforehand. So
 * all are posted before the connection is made: the peer may send at once.
 */
static int post_receives(struct conn *c)
{
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	int i, err;

	for (i = 0; i < MESSAGES; i++) {
		sge = (struct ibv_sge){
			.addr = (uintptr_t)&c->in[i],
			.length = sizeof(c->in[i]),
			.lkey = c->msg_mr->lkey,
		};
		wr = (struct ibv_recv_wr){
			.wr_id = DONE_RECV << i,
			.sg_list = &sge,
			.num_sge = 1,
		};
		err = ibv_post_recv(c->id->qp, &wr, &bad);
		if (err)
			return fail("ibv_post_recv", err);
	}
	return 0;
}

/* ---- the event loop ----------------------------------------------------------- */

/* A second client while the first is served: turned away politely. */
static int connect_request(struct conn *c, struct rdma_cm_id *id)
{
	if (!c->id) {
		c->id = id;
		return 0;
	}
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
	return 1;
}

/* Takes one event of the connection manager. */
static int handle_cm_event(struct conn *c)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int status, ret = 0;

	if (rdma_get_cm_event(c->events, &event))
		return fail("rdma_get_cm_event", errno);
	/* Acknowledge first: an id cannot be destroyed before that. */
	type = event->event;
	status = event->status;
	id = event->id;
	rdma_ack_cm_event(event);

	switch (type) {
	/* client: the way to the server is known */
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		break;
	/* client: ... or is not */
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		fprintf(stderr, "rdma_echo: %s (%d)\n", rdma_event_str(type), status);
		ret = -1;
		break;
	/* nobody listens there, or it did not want us */
	case RDMA_CM_EVENT_REJECTED:
		ret = fail("the peer refused the connection", 0);
		break;
	/* server: a new id for a new client */
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (connect_request(c, id))
			return 0;
		break;
	/* only for ids without a QP: we would have to call rdma_establish() */
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	/* the peer called rdma_disconnect(), or it is gone */
	case RDMA_CM_EVENT_DISCONNECTED:
		break;
	/* after a disconnect: late packets can no longer arrive */
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	/* the device goes away: let go of everything */
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ret = fail("the device was removed", 0);
		break;
	/* the address moved to another device; the connection itself lives on */
	case RDMA_CM_EVENT_ADDR_CHANGE:
		break;
	/* never for connections */
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		break;
	default:
		/* a later librdmacm */
		return 0;
	}
	c->cm[type] = true;
	return ret;
}

/* Looks at the completion that the CQ stands on. */
static int handle_completion(struct conn *c)
{
	uint64_t wr_id = c->cq->wr_id;
	unsigned int i;

	if (c->cq->status == IBV_WC_WR_FLUSH_ERR)
		return 0;	/* the connection ended first; not the cause */
	if (c->cq->status != IBV_WC_SUCCESS)
		return fail(ibv_wc_status_str(c->cq->status), 0);

	c->done |= wr_id;
	for (i = 0; i < MESSAGES; i++) {
		/* Other members are read by functions, if wc_flags asked for them. */
		if (wr_id == (unsigned int)DONE_RECV << i)
			c->received[i] = ibv_wc_read_byte_len(c->cq);
	}
	return 0;
}

/* Takes all completions that are there. */
static int poll_cq(struct conn *c)
{
	struct ibv_poll_cq_attr attr = {};
	int ret, err = 0;

	ret = ibv_start_poll(c->cq, &attr);
	if (ret == ENOENT)
		return 0;	/* none; then there is nothing to end either */
	if (ret)
		return fail("ibv_start_poll", ret);
	do {
		err |= handle_completion(c);
		ret = ibv_next_poll(c->cq);
	} while (!ret);
	ibv_end_poll(c->cq);
	if (ret != ENOENT)
		return fail("ibv_next_poll", ret);
	return err;
}

/*
 * The completion channel woke us. It does so once for each ibv_req_notify_cq():
 * arm it again first and poll after that, or a completion that comes in between
 * would be noticed by nobody.
 */
static int handle_cq_event(struct conn *c)
{
	struct ibv_cq *cq;
	void *context;
	int err;

	if (ibv_get_cq_event(c->completions, &cq, &context))
		return fail("ibv_get_cq_event", errno);
	ibv_ack_cq_events(cq, 1);
	err = ibv_req_notify_cq(cq, 0);
	if (err)
		return fail("ibv_req_notify_cq", err);
	return poll_cq(c);
}

/* One round: sleeps until something happens. @timeout: ms; -1: for ever. */
static int step(struct conn *c, int timeout)
{
	struct pollfd fds[] = {
		{ .fd = c->events->fd, .events = POLLIN },
		{ .fd = c->completions ? c->completions->fd : -1, .events = POLLIN },
	};
	int n;

	n = poll(fds, 2, timeout);
	if (n < 0)
		return errno == EINTR ? 0 : fail("poll", errno);
	if (!n)
		return fail("the peer does not answer", 0);
	/* Completions first: they happened before the connection ended. */
	if (fds[1].revents && handle_cq_event(c))
		return -1;
	if (fds[0].revents && handle_cm_event(c))
		return -1;
	return 0;
}

static int wait_for_event(struct conn *c, enum rdma_cm_event_type type, int timeout)
{
	while (!c->cm[type]) {
		if (step(c, timeout))
			return -1;
	}
	return 0;
}

/* Waits until the request @bit is done, and forgets that it is. */
static int wait_for_completion(struct conn *c, unsigned int bit)
{
	while (!(c->done & bit)) {
		if (c->cm[RDMA_CM_EVENT_DISCONNECTED])
			return fail("the peer disconnected", 0);
		if (step(c, WAIT_MS))
			return -1;
	}
	c->done &= ~bit;
	return 0;
}

/* ---- work requests -------------------------------------------------------------- */

/* Between ibv_wr_start() and ibv_wr_complete() any number may be built. */
static int post_send(struct conn *c, unsigned int wr_id)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(c->id->qp);
	int err;

	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = 0;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, c->msg_mr->lkey, (uintptr_t)c->out, sizeof(*c->out));
	err = ibv_wr_complete(qp);
	return err ? fail("ibv_wr_complete", err) : 0;
}

static int post_rdma(struct conn *c, unsigned int wr_id, uint32_t rkey, uint64_t addr)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(c->id->qp);
	int err;

	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = 0;
	if (wr_id == DONE_WRITE)
		ibv_wr_rdma_write(qp, rkey, addr);
	else
		ibv_wr_rdma_read(qp, rkey, addr);
	ibv_wr_set_sge(qp, c->buf_mr->lkey, (uintptr_t)c->scratch, c->size);
	err = ibv_wr_complete(qp);
	return err ? fail("ibv_wr_complete", err) : 0;
}

/* ---- what is said over the connection ---------------------------------------------- */

/* Bytes that depend on @seed and on their place. */
static char pattern(uint32_t seed, size_t i)
{
	uint32_t x = (uint32_t)i * 2654435761U + seed;

	return x >> 24;
}

static bool has_pattern(const char *p, size_t size, uint32_t seed)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (p[i] != pattern(seed, i)) {
			fprintf(stderr, "rdma_echo: byte %zu is wrong\n", i);
			return false;
		}
	}
	return true;
}

static int send_message(struct conn *c, uint32_t seed, const char *text)
{
	*c->out = (struct message){
		.addr = htobe64((uintptr_t)c->buffer),
		.rkey = htobe32(c->buf_mr->rkey),
		.length = htobe32(c->size),
		.seed = htobe32(seed),
	};
	snprintf(c->out->text, sizeof(c->out->text), "%s", text);
	if (post_send(c, DONE_SEND))
		return -1;
	/* Until then the device may still read *c->out. */
	return wait_for_completion(c, DONE_SEND);
}

/* The @n-th message of the peer. */
static const struct message *receive_message(struct conn *c, int n)
{
	if (wait_for_completion(c, DONE_RECV << n))
		return NULL;
	if (c->received[n] != sizeof(struct message)) {
		fail("a message of the wrong size", 0);
		return NULL;
	}
	c->in[n].text[sizeof(c->in[n].text) - 1] = '\0';
	return &c->in[n];
}

/* Writes a pattern into the peer's buffer and reads back what stands there. */
static int write_and_read_back(struct conn *c, const struct message *peer, uint32_t seed)
{
	uint32_t rkey = be32toh(peer->rkey);
	uint64_t addr = be64toh(peer->addr);
	size_t i;

	for (i = 0; i < c->size; i++)
		c->scratch[i] = pattern(seed, i);
	if (post_rdma(c, DONE_WRITE, rkey, addr) || wait_for_completion(c, DONE_WRITE))
		return -1;

	memset(c->scratch, 0, c->size);
	if (post_rdma(c, DONE_READ, rkey, addr) || wait_for_completion(c, DONE_READ))
		return -1;
	if (!has_pattern(c->scratch, c->size, seed))
		return fail("what was read is not what was written", 0);
	say("wrote %zu bytes to the peer and read them back", c->size);
	return 0;
}

/* The peer says that it has written: its CPU did, ours took no part in it. */
static int check_written(struct conn *c, const struct message *msg)
{
	if (!msg->seed || !has_pattern(c->buffer, c->size, be32toh(msg->seed)))
		return fail("the peer wrote something else", 0);
	say("found what the peer wrote");
	return 0;
}

static bool same_size(const struct conn *c, const struct message *msg)
{
	if (be32toh(msg->length) == c->size)
		return true;
	fail("the peer's buffer has another size (option -s)", 0);
	return false;
}

static int talk_as_client(struct conn *c)
{
	const char *text = "hello, here is my buffer";
	const struct message *echo, *done;

	if (send_message(c, 0, text))
		return -1;
	echo = receive_message(c, 0);
	if (!echo || !same_size(c, echo))
		return -1;
	if (strcmp(echo->text, text))
		return fail("the echo differs", 0);
	say("echo: %s", echo->text);

	if (write_and_read_back(c, echo, 1) || send_message(c, 1, "written"))
		return -1;
	done = receive_message(c, 1);
	return done ? check_written(c, done) : -1;
}

static int talk_as_server(struct conn *c)
{
	const struct message *hello, *done;

	hello = receive_message(c, 0);
	if (!hello || !same_size(c, hello))
		return -1;
	say("message: %s", hello->text);
	if (send_message(c, 0, hello->text))
		return -1;

	done = receive_message(c, 1);
	if (!done || check_written(c, done))
		return -1;
	if (write_and_read_back(c, hello, 2))
		return -1;
	return send_message(c, 2, "written");
}

/* ---- connections ---------------------------------------------------------------------- */

static const struct rdma_conn_param conn_param = {
	.responder_resources = 1,	/* READs that the peer may have under way, */
	.initiator_depth = 1,		/* and those that we may have */
	.retry_count = 7,		/* lost packets: send again so often */
	.rnr_retry_count = 7,		/* no receive posted there: wait, for ever */
};

static int run_client(struct conn *c, const char *host, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct rdma_conn_param param = conn_param;
	int ret;

	if (rdma_getaddrinfo(host, port, &hints, &res))
		return fail("rdma_getaddrinfo", errno);
	if (rdma_create_id(c->events, &c->id, c, RDMA_PS_TCP)) {
		rdma_freeaddrinfo(res);
		return fail("rdma_create_id", errno);
	}

	/* Which of our devices leads to that address? */
	ret = rdma_resolve_addr(c->id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS);
	rdma_freeaddrinfo(res);
	if (ret)
		return fail("rdma_resolve_addr", errno);
	if (wait_for_event(c, RDMA_CM_EVENT_ADDR_RESOLVED, WAIT_MS))
		return -1;
	/* And by which path through the network? */
	if (rdma_resolve_route(c->id, RESOLVE_MS))
		return fail("rdma_resolve_route", errno);
	if (wait_for_event(c, RDMA_CM_EVENT_ROUTE_RESOLVED, WAIT_MS))
		return -1;

	if (create_resources(c) || post_receives(c))
		return -1;
	if (rdma_connect(c->id, &param))
		return fail("rdma_connect", errno);
	if (wait_for_event(c, RDMA_CM_EVENT_ESTABLISHED, WAIT_MS))
		return -1;
	say("connected through %s", ibv_get_device_name(c->id->verbs->device));

	ret = talk_as_client(c);
	/* On errors too: the peer should know. */
	if (rdma_disconnect(c->id))
		return fail("rdma_disconnect", errno);
	if (wait_for_event(c, RDMA_CM_EVENT_DISCONNECTED, WAIT_MS))
		return -1;
	return ret;
}

static int run_server(struct conn *c, const char *host, const char *port)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_PASSIVE,
		.ai_port_space = RDMA_PS_TCP,
	}, *res;
	struct rdma_conn_param param = conn_param;
	int ret;

	if (rdma_getaddrinfo(host, port, &hints, &res))
		return fail("rdma_getaddrinfo", errno);
	if (rdma_create_id(c->events, &c->listener, c, RDMA_PS_TCP)) {
		rdma_freeaddrinfo(res);
		return fail("rdma_create_id", errno);
	}
	ret = rdma_bind_addr(c->listener, res->ai_src_addr);
	rdma_freeaddrinfo(res);
	if (ret)
		return fail("rdma_bind_addr", errno);
	if (rdma_listen(c->listener, 1))
		return fail("rdma_listen", errno);
	say("listening on port %s", port);
	if (wait_for_event(c, RDMA_CM_EVENT_CONNECT_REQUEST, -1))
		return -1;

	if (create_resources(c) || post_receives(c)) {
		rdma_reject(c->id, NULL, 0);
		return -1;
	}
	if (rdma_accept(c->id, &param))
		return fail("rdma_accept", errno);
	if (wait_for_event(c, RDMA_CM_EVENT_ESTABLISHED, WAIT_MS))
		return -1;
	say("a client connected through %s", ibv_get_device_name(c->id->verbs->device));

	ret = talk_as_server(c);
	/* The client ends the connection; if we failed, we do. */
	if (!ret)
		ret = wait_for_event(c, RDMA_CM_EVENT_DISCONNECTED, WAIT_MS);
	rdma_disconnect(c->id);
	return ret;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: rdma_echo [-a ADDRESS] [-p PORT] [-s BYTES]          server\n"
		"       rdma_echo [-p PORT] [-s BYTES] HOST                  client\n"
		"The size (64 KiB by default) must be the same on both sides. The server\n"
		"listens on all IPv4 addresses, with -a :: on those of IPv6 too.\n");
	exit(2);
}

int main(int argc, char **argv)
{
	const char *port = PORT, *address = NULL;
	struct conn c = { .size = 64 * 1024 };
	int opt, ret;

	while ((opt = getopt(argc, argv, "a:p:s:")) != -1) {
		switch (opt) {
		case 'a':
			address = optarg;
			break;
		case 'p':
			port = optarg;
			break;
		case 's':
			c.size = strtoul(optarg, NULL, 0);
			if (!c.size || c.size > 1U << 30)
				usage();
			break;
		default:
			usage();
		}
	}
	if (argc - optind > 1)
		usage();

	c.events = rdma_create_event_channel();
	if (!c.events) {
		fail("rdma_create_event_channel", errno);
		return 1;
	}
	if (optind < argc)
		ret = run_client(&c, argv[optind], port);
	else
		ret = run_server(&c, address, port);
	destroy_resources(&c);
	say(ret ? "failed" : "all is well");
	return ret ? 1 : 0;
}
