// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * `rdma link add` takes no options, and rdma(8) has no parameters of devices: what can be
 * chosen of a link is beside its partitions in sysfs. A change applies to packets from
 * then on.
 */
#include <linux/kstrtox.h>
#include <linux/sysfs.h>
#include <rdma/ib_sysfs.h>
#include <rdma/ib_verbs.h>
#include "../obj/dev.h"
#include "settings.h"

/* A switch, and where in struct rove_dev it is. */
struct setting {
	struct ib_port_attribute attr;
	size_t offset;
};

static bool *value_of(struct ib_device *ib, struct ib_port_attribute *attr)
{
	return (void *)rove_dev_of(ib) + container_of(attr, struct setting, attr)->offset;
}

static ssize_t show(struct ib_device *ib, u32 port, struct ib_port_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(*value_of(ib, attr)));
}

static ssize_t store(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
		     const char *buf, size_t count)
{
	bool value;
	int err = kstrtobool(buf, &value);

	if (err)
		return err;
	WRITE_ONCE(*value_of(ib, attr), value);
	return count;
}

#define SETTING(name)	\
	{ { .attr = { #name, .mode = 0644 }, .show = show, .store = store },	\
	  offsetof(struct rove_dev, name) }

static struct setting settings[] = {
	SETTING(same_host),
	SETTING(udp_csum),
};

static struct attribute *attrs[] = {
	&settings[0].attr.attr,
	&settings[1].attr.attr,
	NULL,
};

const struct attribute_group rove_settings_group = {
	.name = "settings",
	.attrs = attrs,
};

void rove_settings_default(struct rove_dev *dev)
{
	dev->same_host = true;
	dev->udp_csum = true;
}
