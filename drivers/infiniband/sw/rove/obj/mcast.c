// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include "../ip/mcast.h"
#include "dev.h"
#include "mcast.h"
#include "qp.h"

/* Groups and members; readers under RCU. RTNL is taken inside. */
static DEFINE_MUTEX(groups_lock);
static DEFINE_HASHTABLE(groups, 6);

static u32 hash(const union ib_gid *gid)
{
	return jhash(gid->raw, sizeof(gid->raw), 0);
}

static const struct in6_addr *addr_of(const union ib_gid *gid)
{
	return (const struct in6_addr *)gid->raw;
}

static struct rove_mcast *find(const struct rove_dev *dev, const union ib_gid *gid)
{
	struct rove_mcast *m;

	lockdep_assert_held(&groups_lock);
	hash_for_each_possible(groups, m, node, hash(gid)) {
		if (m->dev == dev && !memcmp(&m->gid, gid, sizeof(*gid)))
			return m;
	}
	return NULL;
}

static struct rove_mcast_member *find_member(const struct rove_mcast *m, const struct rove_qp *qp)
{
	struct rove_mcast_member *member;

	list_for_each_entry(member, &m->members, node) {
		if (member->qp == qp)
			return member;
	}
	return NULL;
}

static struct rove_mcast *create(struct rove_dev *dev, const union ib_gid *gid)
{
	struct rove_mcast *m;
	int err;

	m = kzalloc_obj(*m);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->dev = dev;
	m->gid = *gid;
	INIT_LIST_HEAD(&m->members);
	err = rove_mcast_join(dev->ndev, addr_of(gid));
	if (err) {
		kfree(m);
		return ERR_PTR(err);
	}
	hash_add_rcu(groups, &m->node, hash(gid));
	return m;
}

int rove_mcast_attach(struct rove_qp *qp, const union ib_gid *gid)
{
	struct rove_mcast_member *member;
	struct rove_mcast *m;
	int err = 0;

	member = kzalloc_obj(*member);
	if (!member)
		return -ENOMEM;
	member->qp = qp;

	mutex_lock(&groups_lock);
	m = find(qp->dev, gid);
	if (m && find_member(m, qp)) {
		err = -EEXIST;
	} else {
		if (!m)
			m = create(qp->dev, gid);
		err = PTR_ERR_OR_ZERO(m);
	}
	if (!err)
		list_add_tail_rcu(&member->node, &m->members);
	mutex_unlock(&groups_lock);
	if (err)
		kfree(member);
	return err;
}

int rove_mcast_detach(struct rove_qp *qp, const union ib_gid *gid)
{
	struct rove_mcast_member *member = NULL;
	struct rove_mcast *m;

	mutex_lock(&groups_lock);
	m = find(qp->dev, gid);
	if (m)
		member = find_member(m, qp);
	if (!member) {
		mutex_unlock(&groups_lock);
		return -EINVAL;
	}
	list_del_rcu(&member->node);
	kfree_rcu(member, rcu);
	if (list_empty(&m->members)) {
		hash_del_rcu(&m->node);
		rove_mcast_leave(m->dev->ndev, addr_of(gid));
		kfree_rcu(m, rcu);
	}
	mutex_unlock(&groups_lock);
	/* Packets that found it have been taken. */
	synchronize_rcu();
	return 0;
}

/* RCU held. */
static bool is_for(const struct rove_mcast *m, const union ib_gid *gid, struct net_device *ndev)
{
	struct net_device *own = m->dev->ndev;

	return !memcmp(&m->gid, gid, sizeof(*gid)) &&
	       (own == ndev || netdev_has_upper_dev_all_rcu(own, ndev));
}

struct rove_mcast *rove_mcast_next(struct rove_mcast *m, const union ib_gid *gid,
				   struct net_device *ndev)
{
	struct hlist_head *head = &groups[hash_min(hash(gid), HASH_BITS(groups))];
	struct hlist_node *node;

	if (m)
		node = rcu_dereference(hlist_next_rcu(&m->node));
	else
		node = rcu_dereference(hlist_first_rcu(head));
	for (; node; node = rcu_dereference(hlist_next_rcu(node))) {
		m = hlist_entry(node, struct rove_mcast, node);
		if (is_for(m, gid, ndev))
			return m;
	}
	return NULL;
}
