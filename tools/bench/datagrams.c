// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What plain UDP sockets do between two hosts: the stack, the NIC and what carries the
 * frames, with nothing of RDMA in it.
 *
 *	datagrams sink PEER			until "source" there has ended
 *	datagrams source PEER SECONDS PIECE	prints MiB a second that the sink has taken
 *	datagrams pong PEER BYTES MORE		until "ping" there has ended
 *	datagrams ping PEER BYTES MORE COUNT	prints us of half a round trip, typically
 *
 * Source gives the stack as many pieces at once as go into a call (UDP_SEGMENT), and sink
 * takes what was gathered (UDP_GRO). Ping and pong never sleep. What they send is BYTES long,
 * and with it goes another datagram of MORE bytes, fewer than BYTES: as the ACK of what came
 * before does.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PORT		5555
#define CALL_BYTES	62000
#define WINDOW_BYTES	(3L << 20)	/* not reported yet */
#define REPORT_BYTES	(1L << 20)	/* for each so many the sink sends a report */
#define BUFFER_BYTES	(16 << 20)
#define PING_BYTES	1024	/* at most */
#define PATIENCE_S	5

static char data[65536];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void set(int fd, int level, int option, const void *value, socklen_t len)
{
	if (setsockopt(fd, level, option, value, len))
		err(1, "setsockopt %d", option);
}

static int open_socket(const char *peer)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), bytes = BUFFER_BYTES;

	if (fd < 0 || bind(fd, (void *)&addr, sizeof(addr)))
		err(1, "port %d", PORT);
	if (!inet_aton(peer, &addr.sin_addr) || connect(fd, (void *)&addr, sizeof(addr)))
		err(1, "%s", peer);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	return fd;
}

static void wait_at_most(int fd, double seconds)
{
	struct timeval t = { .tv_sec = seconds, .tv_usec = (seconds - (long)seconds) * 1e6 };

	set(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* An empty datagram ends it. A report is how much has come, in units of REPORT_BYTES. */
static void sink(int fd)
{
	unsigned int reports = 0;
	long sum = 0;
	ssize_t n;
	int on = 1;

	set(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	for (;;) {
		n = recv(fd, data, sizeof(data), 0);
		if (n <= 0)
			return;
		for (sum += n; sum >= REPORT_BYTES; sum -= REPORT_BYTES)
			reports++;
		if (sum < n)
			send(fd, &reports, sizeof(reports), 0);
	}
}

static void source(int fd, double seconds, int piece)
{
	long sent = 0, forgiven = 0, taken = 0;
	unsigned int reports = 0;
	double begin = now(), end;
	ssize_t n;
	int i;

	set(fd, IPPROTO_UDP, UDP_SEGMENT, &piece, sizeof(piece));
	wait_at_most(fd, 0.2);
	for (end = begin; end - begin < seconds; end = now()) {
		while (sent - forgiven - taken < WINDOW_BYTES) {
			n = send(fd, data, CALL_BYTES / piece * piece, 0);
			if (n > 0)
				sent += n;
			else if (errno != ENOBUFS && errno != EAGAIN)
				err(1, "send");
		}
		if (recv(fd, &reports, sizeof(reports), 0) == sizeof(reports))
			taken = reports * REPORT_BYTES;
		else
			forgiven = sent - taken;	/* lost */
		/* ...or late. */
		if (forgiven > sent - taken)
			forgiven = sent - taken;
	}
	printf("%.1f\n", taken / (end - begin) / (1 << 20));
	piece = 0;
	set(fd, IPPROTO_UDP, UDP_SEGMENT, &piece, sizeof(piece));
	for (i = 0; i < 5; i++)
		send(fd, data, 0, 0);
}

static void cut_and_gather(int fd, int bytes)
{
	int on = 1;

	set(fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof(bytes));
	set(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
}

/* An empty datagram ends it. */
static void pong(int fd, int bytes, int more)
{
	ssize_t n;

	cut_and_gather(fd, bytes);
	for (;;) {
		n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
		if (!n)
			return;
		if (n >= bytes)
			send(fd, data, bytes + more, 0);
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void ping(int fd, int bytes, int more, int count)
{
	double *took = calloc(count, sizeof(*took)), begin;
	int i;

	if (!took || count < 1)
		errx(2, "count");
	cut_and_gather(fd, bytes);
	for (i = 0; i < count; i++) {
		begin = now();
		send(fd, data, bytes + more, 0);
		while (recv(fd, data, sizeof(data), MSG_DONTWAIT) < bytes) {
			if (now() - begin > PATIENCE_S)
				errx(1, "no answer");
		}
		took[i] = now() - begin;
	}
	qsort(took, count, sizeof(*took), by_size);
	printf("%.2f\n", took[count / 2] / 2 * 1e6);
	for (i = 0; i < 5; i++)
		send(fd, data, 0, 0);
}

static int length(const char *text)
{
	int bytes = atoi(text);

	if (bytes < 0 || bytes > PING_BYTES)
		errx(2, "%s: not from 0 to %d", text, PING_BYTES);
	return bytes;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 3)
		errx(2, "see the comment at its beginning");
	fd = open_socket(argv[2]);
	if (!strcmp(argv[1], "sink"))
		sink(fd);
	else if (!strcmp(argv[1], "pong") && argc == 5)
		pong(fd, length(argv[3]), length(argv[4]));
	else if (!strcmp(argv[1], "source") && argc == 5)
		source(fd, atof(argv[3]), atoi(argv[4]));
	else if (!strcmp(argv[1], "ping") && argc == 6)
		ping(fd, length(argv[3]), length(argv[4]), atoi(argv[5]));
	else
		errx(2, "see the comment at its beginning");
	return 0;
}
