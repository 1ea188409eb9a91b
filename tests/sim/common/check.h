/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What must be true, or the simulation ends there and says how to see it again. */
#ifndef ROVE_TESTS_CHECK_H
#define ROVE_TESTS_CHECK_H

void sim_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));

#define CHECK(cond, ...) do {						\
	if (!(cond))							\
		sim_fail(__FILE__, __LINE__, __VA_ARGS__);		\
} while (0)

#endif /* ROVE_TESTS_CHECK_H */
