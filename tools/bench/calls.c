// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Microseconds of a system call (getppid); of asking a kernel thread through a mapped
 * page: see limit/rove_limit.c; and one way from a process that writes to one that sleeps
 * in read(), typically, on this CPU and on the first one. And what holds up a program that
 * does nothing but look at the clock: how many times in a second, and how long, typically.
 *
 *	calls syscall | doorbell | wake | held
 *	calls answer	the other one of "wake": writes to its output what it reads
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double syscalls(int count)
{
	double begin = now_us();
	int i;

	for (i = 0; i < count; i++)
		syscall(SYS_getppid);
	return (now_us() - begin) / count;
}

/* How long is asked, us: where the two never run at the same time an answer takes a tick. */
#define ASKING_US	10e6

/* Less than 0 if there is no such page, or nobody answers. */
static double doorbells(uint32_t count)
{
	int fd = open("/dev/rove_limit", O_RDWR);
	uint32_t *page;
	double begin;
	uint32_t i;

	if (fd < 0)
		return -1;
	page = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -1;
	/* The thread has to get a CPU first. */
	begin = now_us();
	for (i = 0; i <= count; i++) {
		__atomic_store_n(&page[0], i + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&page[1], __ATOMIC_ACQUIRE) != i + 1) {
			if (now_us() - begin > ASKING_US)
				return i ? ASKING_US / i : -1;
		}
		if (!i)
			begin = now_us();
	}
	return (now_us() - begin) / count;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define WAKES	20000

static void answer(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1 && write(STDOUT_FILENO, &c, 1) == 1)
		;
}

/* Each sleeps until the other one writes. Less than 0 if that cannot be. */
static double wakes(const char *self)
{
	static double took[WAKES];
	int there[2], back[2], i;
	double begin;
	pid_t child;
	char c = 0;

	if (pipe(there) || pipe(back))
		return -1;
	child = fork();
	if (child < 0)
		return -1;
	if (!child) {
		close(there[1]);
		dup2(there[0], STDIN_FILENO);
		dup2(back[1], STDOUT_FILENO);
		execlp("taskset", "taskset", "-c", "0", self, "answer", NULL);
		_exit(1);
	}
	close(back[1]);
	/* Not while it begins. */
	if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
		return -1;
	for (i = 0; i < WAKES; i++) {
		begin = now_us();
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return -1;
		took[i] = now_us() - begin;
	}
	close(there[1]);
	waitpid(child, NULL, 0);
	qsort(took, WAKES, sizeof(*took), ascending);
	return took[WAKES / 2] / 2;
}

/* What takes longer than any look at the clock, us. */
#define HELD_US		8
#define HELD_MAX	100000

#ifdef __x86_64__
/* No system call, as the kernel's clock may be. */
static uint64_t ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static uint64_t ticks(void)
{
	return now_us() * 1000;
}
#endif

static double ticks_per_us(void)
{
	double begin = now_us(), end;
	uint64_t first = ticks();

	do
		end = now_us();
	while (end - begin < 200000);
	return (ticks() - first) / (end - begin);
}

/* For so many seconds: times, and us of each, ascending. */
static int held(int seconds, double *us)
{
	double rate = ticks_per_us();
	uint64_t last = ticks(), now, end = last + seconds * 1e6 * rate;
	int n = 0;

	for (; last < end; last = now) {
		now = ticks();
		if (now - last > HELD_US * rate && n < HELD_MAX)
			us[n++] = (now - last) / rate;
	}
	qsort(us, n, sizeof(*us), ascending);
	return n;
}

static int print_held(void)
{
	static double us[HELD_MAX];
	const int seconds = 2;
	int n = held(seconds, us);

	printf("%d %.1f\n", n / seconds, n ? us[n / 2] : 0);
	return 0;
}

int main(int argc, char **argv)
{
	double us;

	if (argc == 2 && !strcmp(argv[1], "answer")) {
		answer();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "held"))
		return print_held();
	if (argc == 2 && !strcmp(argv[1], "syscall")) {
		us = syscalls(20000);
	} else if (argc == 2 && !strcmp(argv[1], "doorbell")) {
		us = doorbells(200000);
	} else if (argc == 2 && !strcmp(argv[1], "wake")) {
		us = wakes(argv[0]);
	} else {
		fprintf(stderr, "usage: calls syscall | doorbell | wake | held\n");
		return 2;
	}
	if (us < 0) {
		fprintf(stderr, "calls: %s: no answer\n", argv[1]);
		return 1;
	}
	printf("%.3f\n", us);
	return 0;
}
