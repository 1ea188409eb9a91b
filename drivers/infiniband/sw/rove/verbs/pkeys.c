// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * InfiniBand has a subnet manager that writes a port's P_Key table; Ethernet has none,
 * and rdma(8) no word for it. So the files that the core shows read-only in
 * /sys/class/infiniband/LINK/ports/1/pkeys have neighbours in partitions/ that can be
 * written.
 */
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>
#include <rdma/ib_sysfs.h>
#include <rdma/ib_verbs.h>
#include "../obj/dev.h"
#include "../proto/pkey.h"
#include "pkeys.h"

/* Of all links: two that write at once must not make two entries the same. */
static DEFINE_MUTEX(table_lock);

static struct ib_port_attribute entries[ROVE_PKEY_TABLE_LEN];

static ssize_t show_entry(struct ib_device *ib, u32 port, struct ib_port_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(rove_dev_of(ib)->pkeys[attr - entries]));
}

/* 0, or a key that is not there yet. table_lock held. */
static int check(const struct rove_dev *dev, unsigned int index, u16 pkey)
{
	unsigned int i;

	if (pkey && !rove_pkey_valid(pkey))
		return -EINVAL;
	for (i = 0; pkey && i < ROVE_PKEY_TABLE_LEN; i++)
		if (i != index && dev->pkeys[i] == pkey)
			return -EEXIST;
	return 0;
}

static ssize_t store_entry(struct ib_device *ib, u32 port, struct ib_port_attribute *attr,
			   const char *buf, size_t count)
{
	struct ib_event ev = {
		.device = ib,
		.element.port_num = port,
		.event = IB_EVENT_PKEY_CHANGE,
	};
	struct rove_dev *dev = rove_dev_of(ib);
	unsigned int index = attr - entries;
	u16 pkey;
	int err;

	err = kstrtou16(buf, 0, &pkey);
	if (err)
		return err;
	mutex_lock(&table_lock);
	err = check(dev, index, pkey);
	if (!err)
		WRITE_ONCE(dev->pkeys[index], pkey);
	mutex_unlock(&table_lock);
	if (err)
		return err;
	/* The core reads the table anew. */
	ib_dispatch_event(&ev);
	return count;
}

static struct attribute *attrs[ROVE_PKEY_TABLE_LEN + 1];

const struct attribute_group rove_pkeys_group = {
	.name = "partitions",
	.attrs = attrs,
};

static char names[ROVE_PKEY_TABLE_LEN][4];

void rove_pkeys_init(void)
{
	unsigned int i;

	for (i = 0; i < ROVE_PKEY_TABLE_LEN; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		entries[i].attr.name = names[i];
		entries[i].attr.mode = 0644;
		entries[i].show = show_entry;
		entries[i].store = store_entry;
		attrs[i] = &entries[i].attr;
	}
}
