/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_OPS_H
#define ROVE_VERBS_OPS_H

struct ib_device_ops;

/* All but what net/ answers: query_port, add_gid, del_gid; and dealloc_driver. */
extern const struct ib_device_ops rove_dev_ops;

#endif /* ROVE_VERBS_OPS_H */
