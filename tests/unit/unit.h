/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A small test harness. Each test_*.c is a program of its own:
 *
 *	TEST(adds_up)
 *	{
 *		CHECK_EQ(1 + 1, 2);
 *	}
 *
 * A check that fails ends its test; those behind it run all the same. Checks may
 * sit in helpers, not in other threads.
 */
#ifndef ROVE_TESTS_UNIT_H
#define ROVE_TESTS_UNIT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct unit_test {
	const char *name;
	void (*run)(void);
	struct unit_test *next;
};

void unit_add(struct unit_test *t);
void unit_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void unit_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define TEST(fn)							\
	static void fn(void);						\
	static struct unit_test unit_##fn = { .name = #fn, .run = fn };	\
	static void __attribute__((constructor)) unit_add_##fn(void)	\
	{								\
		unit_add(&unit_##fn);					\
	}								\
	static void fn(void)

#define CHECK(cond) do {						\
	if (!(cond))							\
		unit_fail(__FILE__, __LINE__, "%s", #cond);		\
} while (0)

#define CHECK_EQ(a, b) do {						\
	unsigned long long a_ = (unsigned long long)(a);		\
	unsigned long long b_ = (unsigned long long)(b);		\
									\
	if (a_ != b_)							\
		unit_fail(__FILE__, __LINE__, "%s is %#llx, not %s (%#llx)", \
			  #a, a_, #b, b_);				\
} while (0)

#define CHECK_MEM(a, b, n) do {						\
	if (memcmp(a, b, n))						\
		unit_fail(__FILE__, __LINE__, "%s differs from %s", #a, #b); \
} while (0)

/* What is to be filled in holds anything before, as on a stack: no bool, and nothing right. */
#define DIRTY(p)	memset(p, 0xfe, sizeof(*(p)))

/* Numbers that look random and are the same in each run; @seed: not 0. */
static inline uint32_t unit_rand(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

#endif /* ROVE_TESTS_UNIT_H */
