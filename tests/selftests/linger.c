// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD, where packets are lost: a queue pair stays until both programs have
 * come to the destruction of theirs. ibv_rc_pingpong destroys its own as soon as it
 * has all its completions; if the acknowledgement of the peer's last message is lost,
 * nobody is there to repeat it, and the peer fails, over any transport.
 *
 * LINGER is a folder of both programs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define LIMIT_MS	30000

static int files(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void wait_for_peer(const char *folder)
{
	char name[4096];
	int fd, ms;

	snprintf(name, sizeof(name), "%s/%d", folder, getpid());
	fd = open(name, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		return;
	close(fd);
	for (ms = 0; files(folder) < 2 && ms < LIMIT_MS; ms += 10)
		usleep(10000);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*real)(struct ibv_qp *qp) = (int (*)(struct ibv_qp *))dlsym(RTLD_NEXT, "ibv_destroy_qp");
	const char *folder = getenv("LINGER");

	if (folder)
		wait_for_peer(folder);
	return real(qp);
}
