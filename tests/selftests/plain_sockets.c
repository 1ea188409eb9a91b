// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Loaded before librspreload.so: sockets are asked for without SOCK_CLOEXEC, of which
 * rsockets knows nothing, so that it would leave the program (Python, say) with TCP.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int) = dlsym(RTLD_NEXT, "socket");

	return next(domain, type & ~SOCK_CLOEXEC, protocol);
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	int (*next)(int, struct sockaddr *, socklen_t *) = dlsym(RTLD_NEXT, "accept");

	(void)flags;
	return next(fd, addr, len);
}
