// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "unit.h"

static struct unit_test *tests, **tests_end = &tests;
static jmp_buf failed;

void unit_add(struct unit_test *t)
{
	*tests_end = t;
	tests_end = &t->next;
}

void unit_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	longjmp(failed, 1);
}

void unit_note(const char *fmt, ...)
{
	va_list ap;

	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* With arguments: only the tests whose names contain one of them. */
static int wanted(const struct unit_test *t, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strstr(t->name, argv[i]))
			return 1;
	return argc < 2;
}

/* Apart from main(), whose variables would not survive a longjmp(). */
static int run(const struct unit_test *t)
{
	if (setjmp(failed))
		return 0;
	t->run();
	return 1;
}

int main(int argc, char **argv)
{
	const char *file = strrchr(argv[0], '/');
	const struct unit_test *t;
	int n = 0, bad = 0, ok;

	/* A crash must not swallow what was said before it. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	file = file ? file + 1 : argv[0];
	for (t = tests; t; t = t->next) {
		if (!wanted(t, argc, argv))
			continue;
		ok = run(t);
		bad += !ok;
		printf("%s %d - %s.%s\n", ok ? "ok" : "not ok", ++n, file, t->name);
	}
	printf("1..%d\n", n);
	return bad || !n ? EXIT_FAILURE : EXIT_SUCCESS;
}
