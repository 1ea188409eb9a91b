// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * there COMMAND...: run it in the other guest, as if it ran here.
 *
 * It has this environment and folder, and an empty standard input; output, exit status and
 * death by a signal come back, signals go there, and when this ends, so does that.
 * "there --end": the other guest ends.
 *
 * In C, since tests run many short commands and an emulated machine takes a second to
 * start an interpreter. agent.py tells what goes over the connection.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT		7000
#define ADDRESS		"192.0.2.2"
#define NAMESPACE	"/run/netns/control"
/* Put there by the lab when the other guest has died, which no packet tells. */
#define GONE		"/lab/run/other-gone"
#define LOOK_MS		2000
/* What a shell makes of a command that could not be run. */
#define FAILED		126

extern char **environ;

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n < 0)
			err(FAILED, "there");
		p += n;
		len -= n;
	}
}

static void check_other(void)
{
	if (!access(GONE, F_OK))
		errx(FAILED, "there: the other guest is gone");
}

static void read_all(int fd, void *data, size_t len)
{
	char *p = data;
	ssize_t n;

	while (len) {
		n = read(fd, p, len);
		if (n <= 0)
			errx(FAILED, "there: the other guest is gone");
		p += n;
		len -= n;
	}
}

/* From the namespace that has the control channel; nothing else is done in it. */
static int connect_there(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int space, fd, on = 1;

	space = open(NAMESPACE, O_RDONLY | O_CLOEXEC);
	if (space < 0 || setns(space, CLONE_NEWNET))
		err(FAILED, "there: %s", NAMESPACE);
	close(space);
	inet_pton(AF_INET, ADDRESS, &to.sin_addr);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(FAILED, "there: no other guest");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static void put_strings(FILE *out, char **strings)
{
	for (; *strings; strings++)
		fwrite(*strings, strlen(*strings) + 1, 1, out);
}

static uint32_t count(char **strings)
{
	uint32_t n = 0;

	while (strings[n])
		n++;
	return htonl(n);
}

/* Numbers of words and of variables, the length of what follows, then all of that. */
static void ask(int fd, char **words)
{
	char *text, *folder = getcwd(NULL, 0);
	uint32_t head[3];
	size_t len;
	FILE *out;

	out = open_memstream(&text, &len);
	if (!out)
		err(FAILED, "there");
	put_strings(out, (char *[]){ folder ? folder : "/", NULL });
	put_strings(out, words);
	put_strings(out, environ);
	fclose(out);
	head[0] = count(words);
	head[1] = count(environ);
	head[2] = htonl(len);
	write_all(fd, head, sizeof(head));
	write_all(fd, text, len);
	free(text);
	free(folder);
}

/* Also those that a shell has its background jobs ignore. */
static int catch_signals(void)
{
	static const int passed_on[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	sigset_t set;
	size_t i;
	int fd;

	sigemptyset(&set);
	for (i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		sigaddset(&set, passed_on[i]);
		signal(passed_on[i], SIG_DFL);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		err(FAILED, "there");
	return fd;
}

static void pass_signal(int from, int to)
{
	struct signalfd_siginfo info;
	unsigned char number;

	read_all(from, &info, sizeof(info));
	number = info.ssi_signo;
	write_all(to, &number, 1);
}

/* End as the command did. */
static void end(int status)
{
	sigset_t none;

	if (status < 0) {
		signal(-status, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		raise(-status);
	}
	exit(status);
}

/* One frame: output, or the status. */
static void take_frame(int fd)
{
	static char content[1 << 16];
	uint32_t len;
	char kind;

	read_all(fd, &kind, 1);
	read_all(fd, &len, sizeof(len));
	len = ntohl(len);
	if (len > sizeof(content))
		errx(FAILED, "there: a frame of %u bytes", len);
	read_all(fd, content, len);
	if (kind == 'x') {
		memcpy(&len, content, sizeof(len));
		end((int32_t)ntohl(len));
	}
	write_all(kind == 'o' ? 1 : 2, content, len);
}

int main(int argc, char **argv)
{
	struct pollfd fds[2];
	int fd;

	if (argc < 2)
		errx(FAILED, "usage: there COMMAND...");
	check_other();
	fd = connect_there();
	fds[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = catch_signals(), .events = POLLIN };
	ask(fd, argv + 1);
	for (;;) {
		switch (poll(fds, 2, LOOK_MS)) {
		case -1:
			err(FAILED, "there");
		case 0:
			check_other();
			continue;
		}
		if (fds[1].revents)
			pass_signal(fds[1].fd, fd);
		if (fds[0].revents)
			take_frame(fd);
	}
}
