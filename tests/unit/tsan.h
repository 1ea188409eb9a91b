/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The thread sanitizer takes volatile accesses for plain ones, and so for races. */
#include "base.h"

#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

/*
 * It knows no fences either. What they order here are relaxed accesses only, so
 * nothing is hidden from it.
 */
#pragma GCC diagnostic ignored "-Wtsan"
