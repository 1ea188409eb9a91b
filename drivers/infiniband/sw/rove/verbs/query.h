/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_QUERY_H
#define ROVE_VERBS_QUERY_H

#include <rdma/ib_verbs.h>

/* ib_device_ops; query_port is in net/netdev. */
int rove_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata);
int rove_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey);
int rove_get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer rove_get_link_layer(struct ib_device *ib, u32 port);
void rove_get_dev_fw_str(struct ib_device *ib, char *str);

#endif /* ROVE_VERBS_QUERY_H */
