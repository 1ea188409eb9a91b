/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the core is given to fill in holds anything before: in the module it is on the stack
 * and __uninitialized. So it does here, and whoever looks at what was not written finds no
 * zero that happens to be right. The memory sanitizer, where it is built in, is told that
 * nothing was written.
 */
#ifndef ROVE_TESTS_DIRTY_H
#define ROVE_TESTS_DIRTY_H

#include "base.h"

#ifndef __has_feature
#define __has_feature(x)	0
#endif
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#endif

/* No bool, no opcode, no enum of ours, and no length that anything is as long as. */
#define SIM_DIRT	0xfe

static inline void sim_dirty_bytes(void *p, size_t len)
{
	memset(p, SIM_DIRT, len);
#if __has_feature(memory_sanitizer)
	__msan_poison(p, len);
#endif
}

#define sim_dirty(p)	sim_dirty_bytes(p, sizeof(*(p)))

#endif /* ROVE_TESTS_DIRTY_H */
