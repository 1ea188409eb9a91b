// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module init and exit, in pairs. */
#include <linux/init.h>
#include <linux/module.h>
#include <rdma/rdma_netlink.h>
#include "ip/sock.h"
#include "ip/train.h"
#include "link.h"
#include "net/netdev.h"
#include "net/rx.h"
#include "obj/absent.h"
#include "obj/cq.h"
#include "obj/qp.h"
#include "obj/round.h"
#include "obj/srq.h"
#include "verbs/pkeys.h"

static int __init rove_init(void)
{
	int err;

	rove_compat_init();
	rove_pkeys_init();
	rove_round_init();
	err = rove_train_init();
	if (err)
		goto err_compat;
	err = rove_cq_init();
	if (err)
		goto err_train;
	err = rove_srq_init();
	if (err)
		goto err_cq;
	err = rove_absent_init();
	if (err)
		goto err_srq;
	err = rove_qp_init();
	if (err)
		goto err_absent;
	err = rove_sock_init(rove_rx);
	if (err)
		goto err_qp;
	err = rove_netdev_init();
	if (err)
		goto err_sock;
	err = rove_link_init();
	if (err)
		goto err_netdev;
	return 0;

err_netdev:
	rove_netdev_exit();
err_sock:
	rove_sock_exit();
err_qp:
	rove_qp_exit();
err_absent:
	rove_absent_exit();
err_srq:
	rove_srq_exit();
err_cq:
	rove_cq_exit();
err_train:
	rove_train_exit();
err_compat:
	rove_compat_exit();
	return err;
}

static void __exit rove_exit(void)
{
	rove_link_exit();
	rove_netdev_exit();
	rove_sock_exit();
	rove_qp_exit();
	rove_absent_exit();
	rove_srq_exit();
	rove_cq_exit();
	rove_round_exit();
	rove_train_exit();
	rove_compat_exit();
	/* Objects that were freed by RCU callbacks of this module. */
	rcu_barrier();
}

module_init(rove_init);
module_exit(rove_exit);

MODULE_DESCRIPTION("RDMA over Converged Ethernet v2 on any Ethernet netdev");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_LINK("rove");
