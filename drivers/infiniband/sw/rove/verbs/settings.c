// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * `rdma link add` takes no options, and rdma(8) has no parameters of devices: what can be
 * chosen of a link is beside its partitions in sysfs. A change applies to packets and posts
 * from then on.
 */
#include <linux/cpumask.h>
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <rdma/ib_sysfs.h>
#include <rdma/ib_verbs.h>
#include "../obj/dev.h"
#include "../obj/engine.h"
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

static const char * const modes[] = {
	[ROVE_DOORBELL_AUTO] = "auto",
	[ROVE_DOORBELL_INLINE] = "inline",
	[ROVE_DOORBELL_POLL] = "poll",
};

static ssize_t doorbell_show(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%s\n", modes[rove_engine_mode(rove_dev_of(ib)->engine)]);
}

static ssize_t doorbell_store(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			      const char *buf, size_t count)
{
	int mode = sysfs_match_string(modes, buf);

	if (mode < 0)
		return mode;
	rove_engine_set_mode(rove_dev_of(ib)->engine, mode);
	return count;
}

static IB_PORT_ATTR_RW(doorbell);

static ssize_t engine_cpus_show(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
				char *buf)
{
	cpumask_var_t cpus;
	ssize_t len;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	rove_engine_cpus(rove_dev_of(ib)->engine, cpus);
	len = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(cpus));
	free_cpumask_var(cpus);
	return len;
}

static ssize_t engine_cpus_store(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
				 const char *buf, size_t count)
{
	cpumask_var_t cpus;
	int err;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	err = cpulist_parse(buf, cpus);
	if (!err)
		err = rove_engine_set_cpus(rove_dev_of(ib)->engine, cpus);
	free_cpumask_var(cpus);
	return err ?: count;
}

static IB_PORT_ATTR_RW(engine_cpus);

static ssize_t spin_us_show(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%u\n", rove_engine_spin(rove_dev_of(ib)->engine));
}

static ssize_t spin_us_store(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			     const char *buf, size_t count)
{
	u32 us;
	int err = kstrtou32(buf, 0, &us);

	if (err)
		return err;
	if (us > ROVE_SPIN_MAX_US)
		return -ERANGE;
	rove_engine_set_spin(rove_dev_of(ib)->engine, us);
	return count;
}

static IB_PORT_ATTR_RW(spin_us);

static struct attribute *attrs[] = {
	&settings[0].attr.attr,
	&settings[1].attr.attr,
	&ib_port_attr_doorbell.attr,
	&ib_port_attr_engine_cpus.attr,
	&ib_port_attr_spin_us.attr,
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
