/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets with a known ICRC: the bytes from the IP header to the last byte of
 * payload, then the ICRC as on the wire. The last one was sent by a NIC.
 */
#ifndef ROVE_TESTS_VECTORS_H
#define ROVE_TESTS_VECTORS_H

struct rove_icrc_vector {
	const char *name;
	const char *packet[6];	/* pieces, hexadecimal */
	const char *icrc;
};

static const struct rove_icrc_vector rove_icrc_vectors[] = {
	{
		.name = "IPv4 UC SEND ONLY",
		.packet = {
			"45010040047840004011b4d5c0a80007c0a80007",
			"c00012b7002caca2",
			"2460ffff000000d300cf1710",
			"4630818be28935d90e9a95505401be885e500000",
		},
		.icrc = "78f353f3",
	}, {
		.name = "IPv6 UC SEND ONLY",
		.packet = {
			"6e21face002c11ff20220000000000000000000000001023",
			"20230000000000000000000000001024",
			"c00012b7002caca2",
			"2460ffff000000d300cf1710",
			"4630818be28935d90e9a95505401be885e500000",
		},
		.icrc = "3e5b743b",
	}, {
		.name = "IPv4 CNP",
		.packet = {
			"45c2003c718c4000401191610a0011010a001201",
			"000012b700280000",
			"8100ffff4000011800000000",
			"00000000000000000000000000000000",
		},
		.icrc = "82fd002a",
	},
};

#endif /* ROVE_TESTS_VECTORS_H */
