/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The few names that the pure core (wire/, proto/, ring/) takes from outside:
 * the kernel's own in the module, the same ones over libc elsewhere.
 */
#ifndef ROVE_BASE_H
#define ROVE_BASE_H

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

#else

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#define __packed		__attribute__((__packed__))
#define __uninitialized
#define __force
#define fallthrough		__attribute__((__fallthrough__))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define static_assert		_Static_assert
#define DECLARE_FLEX_ARRAY(t, n)	struct { struct { } empty_ ## n; t n[]; }
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define min(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); \
				   a_ < b_ ? a_ : b_; })
#define max(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); \
				   a_ > b_ ? a_ : b_; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#define cpu_to_be16(x)		((__be16)htobe16(x))
#define cpu_to_be32(x)		((__be32)htobe32(x))
#define cpu_to_be64(x)		((__be64)htobe64(x))
#define cpu_to_le32(x)		((__le32)htole32(x))
#define be16_to_cpu(x)		be16toh((u16)(x))
#define be32_to_cpu(x)		be32toh((u32)(x))
#define be64_to_cpu(x)		be64toh((u64)(x))
#define le32_to_cpu(x)		le32toh((u32)(x))

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif /* __KERNEL__ */

#endif /* ROVE_BASE_H */
