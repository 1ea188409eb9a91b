/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_WIRE_BUILD_H
#define ROVE_WIRE_BUILD_H

#include "pkt.h"

/**
 * rove_build() - write BTH and extended headers
 * @hdr: room for ROVE_MAX_HDR bytes
 * @pkt: what to write; opcode decides which fields count, pad is taken from
 *       len; hlen and pad are filled in
 *
 * Return: the bytes written (pkt->hlen).
 */
u32 rove_build(u8 *hdr, struct rove_pkt *pkt);

#endif /* ROVE_WIRE_BUILD_H */
