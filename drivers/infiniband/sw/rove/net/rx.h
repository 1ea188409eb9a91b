/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_NET_RX_H
#define ROVE_NET_RX_H

#include "../wire/parse.h"

struct sk_buff;

/*
 * For rove_sock_init(): gives the packets of an skb to the QPs they are for, and
 * frees it. @why: not NONE if all of it is to be dropped.
 */
void rove_rx(struct sk_buff *skb, enum rove_drop why);

#endif /* ROVE_NET_RX_H */
