/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The port's table of partition keys, as an administrator sees it. */
#ifndef ROVE_VERBS_PKEYS_H
#define ROVE_VERBS_PKEYS_H

struct attribute_group;

/* One of ib_device_ops.port_groups. */
extern const struct attribute_group rove_pkeys_group;

void rove_pkeys_init(void);

#endif /* ROVE_VERBS_PKEYS_H */
