/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The opcodes once more, written down from the standard and not from the
 * module: headers in wire order, one letter each.
 */
#ifndef ROVE_TESTS_OPS_H
#define ROVE_TESTS_OPS_H

#include "wire/opcode.h"

struct op {
	u8 code;
	const char *hdrs;	/* see op_hdr_len() */
	const char *part;	/* first, middle, last, only; "" for none */
	bool payload;
};

static const struct op ops[] = {
	{ 0x00, "",   "first",  true },		/* RC SEND */
	{ 0x01, "",   "middle", true },
	{ 0x02, "",   "last",   true },
	{ 0x03, "I",  "last",   true },
	{ 0x04, "",   "only",   true },
	{ 0x05, "I",  "only",   true },
	{ 0x06, "R",  "first",  true },		/* RC WRITE */
	{ 0x07, "",   "middle", true },
	{ 0x08, "",   "last",   true },
	{ 0x09, "I",  "last",   true },
	{ 0x0a, "R",  "only",   true },
	{ 0x0b, "RI", "only",   true },
	{ 0x0c, "R",  "only",   false },	/* READ */
	{ 0x0d, "E",  "first",  true },
	{ 0x0e, "",   "middle", true },
	{ 0x0f, "E",  "last",   true },
	{ 0x10, "E",  "only",   true },
	{ 0x11, "E",  "",       false },	/* ACK */
	{ 0x12, "EK", "",       false },	/* atomics */
	{ 0x13, "A",  "only",   false },
	{ 0x14, "A",  "only",   false },
	{ 0x16, "V",  "last",   true },		/* SEND with invalidate */
	{ 0x17, "V",  "only",   true },
	{ 0x1c, "FR", "only",   false },	/* FLUSH */
	{ 0x1d, "R",  "only",   true },		/* ATOMIC WRITE */
	{ 0x20, "",   "first",  true },		/* UC SEND */
	{ 0x21, "",   "middle", true },
	{ 0x22, "",   "last",   true },
	{ 0x23, "I",  "last",   true },
	{ 0x24, "",   "only",   true },
	{ 0x25, "I",  "only",   true },
	{ 0x26, "R",  "first",  true },		/* UC WRITE */
	{ 0x27, "",   "middle", true },
	{ 0x28, "",   "last",   true },
	{ 0x29, "I",  "last",   true },
	{ 0x2a, "R",  "only",   true },
	{ 0x2b, "RI", "only",   true },
	{ 0x64, "D",  "only",   true },		/* UD SEND */
	{ 0x65, "DI", "only",   true },
	{ 0x81, "",   "",       true },		/* CNP */
	{ 0xa0, "X",   "first",  true },		/* XRC, as RC */
	{ 0xa1, "X",   "middle", true },
	{ 0xa2, "X",   "last",   true },
	{ 0xa3, "XI",  "last",   true },
	{ 0xa4, "X",   "only",   true },
	{ 0xa5, "XI",  "only",   true },
	{ 0xa6, "XR",  "first",  true },
	{ 0xa7, "X",   "middle", true },
	{ 0xa8, "X",   "last",   true },
	{ 0xa9, "XI",  "last",   true },
	{ 0xaa, "XR",  "only",   true },
	{ 0xab, "XRI", "only",   true },
	{ 0xac, "XR",  "only",   false },
	{ 0xad, "E",   "first",  true },
	{ 0xae, "",    "middle", true },
	{ 0xaf, "E",   "last",   true },
	{ 0xb0, "E",   "only",   true },
	{ 0xb1, "E",   "",       false },
	{ 0xb2, "EK",  "",       false },
	{ 0xb3, "XA",  "only",   false },
	{ 0xb4, "XA",  "only",   false },
	{ 0xb6, "XV",  "last",   true },
	{ 0xb7, "XV",  "only",   true },
};

static inline const struct op *op_find(u8 code)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].code == code)
			return &ops[i];
	return NULL;
}

static inline u32 op_hdr_len(const struct op *op)
{
	const char *h;
	u32 len = 12;

	for (h = op->hdrs; *h; h++)
		len += *h == 'D' ? 8 :		/* DETH */
		       *h == 'R' ? 16 :		/* RETH */
		       *h == 'A' ? 28 :		/* AtomicETH */
		       *h == 'E' ? 4 :		/* AETH */
		       *h == 'K' ? 8 :		/* AtomicAckETH */
		       4;			/* I: ImmDt, V: IETH, F: FETH */
	return len;
}

#endif /* ROVE_TESTS_OPS_H */
