/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Numbers that look random and follow from a seed. */
#ifndef ROVE_TESTS_RAND_H
#define ROVE_TESTS_RAND_H

#include "base.h"

static inline u64 rand_mix(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline u64 rand_next(u64 *state)
{
	return rand_mix(*state += 0x9e3779b97f4a7c15);
}

#endif /* ROVE_TESTS_RAND_H */
