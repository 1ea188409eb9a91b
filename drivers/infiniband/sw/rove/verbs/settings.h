/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What an administrator can set: /sys/class/infiniband/LINK/ports/1/settings. */
#ifndef ROVE_VERBS_SETTINGS_H
#define ROVE_VERBS_SETTINGS_H

struct attribute_group;
struct rove_dev;

/* One of ib_device_ops.port_groups. */
extern const struct attribute_group rove_settings_group;

/* As they are when a link is made. */
void rove_settings_default(struct rove_dev *dev);

#endif /* ROVE_VERBS_SETTINGS_H */
