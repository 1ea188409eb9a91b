/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rove_crc32_le(crc, p, len): the register of a CRC-32 (IEEE, reflected) after
 * @len more bytes; nothing is inverted.
 */
#ifndef ROVE_WIRE_CRC_H
#define ROVE_WIRE_CRC_H

#include "../base.h"

#ifdef __KERNEL__

#include <linux/crc32.h>

/* compat/ may know a faster one. */
#ifndef rove_crc32_le
#define rove_crc32_le(crc, p, len)	crc32_le(crc, p, len)
#endif

#else

static inline u32 rove_crc32_le(u32 crc, const void *p, size_t len)
{
	static const u32 nibble[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const u8 *b = p;

	while (len--) {
		crc ^= *b++;
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return crc;
}

#endif /* __KERNEL__ */

#endif /* ROVE_WIRE_CRC_H */
