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

static ssize_t show_bool(const bool *setting, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(*setting));
}

static ssize_t store_bool(bool *setting, const char *buf, size_t count)
{
	bool value;
	int err = kstrtobool(buf, &value);

	if (err)
		return err;
	WRITE_ONCE(*setting, value);
	return count;
}

static ssize_t same_host_show(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			      char *buf)
{
	return show_bool(&rove_dev_of(ib)->same_host, buf);
}

static ssize_t same_host_store(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			       const char *buf, size_t count)
{
	return store_bool(&rove_dev_of(ib)->same_host, buf, count);
}

static IB_PORT_ATTR_RW(same_host);

static ssize_t udp_csum_show(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			     char *buf)
{
	return show_bool(&rove_dev_of(ib)->udp_csum, buf);
}

static ssize_t udp_csum_store(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			      const char *buf, size_t count)
{
	return store_bool(&rove_dev_of(ib)->udp_csum, buf, count);
}

static IB_PORT_ATTR_RW(udp_csum);

static struct attribute *attrs[] = {
	&ib_port_attr_same_host.attr,
	&ib_port_attr_udp_csum.attr,
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
