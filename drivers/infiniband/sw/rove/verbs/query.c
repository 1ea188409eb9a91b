// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <net/addrconf.h>
#include <rdma/ib_mad.h>
#include <rdma/rove-abi.h>
#include <rdma/uverbs_ioctl.h>
#include "../mem/memwr.h"
#include "../obj/dev.h"
#include "../obj/qp.h"
#include "query.h"
#include "v_cq.h"

/* There is no firmware: the interface's version tells most. */
#define FW_MAJOR	ROVE_ABI_VERSION

/* The number that stands for no vendor; and what part of it. */
#define VENDOR_ID	0xffffff
#define VENDOR_PART_ID	ROVE_DRIVER_ID

/* Objects are limited by memory. Numbers have 24 bits. */
#define MANY		0xffff00

/* How long an ACK may take, at worst: 4.096 us << 12. */
#define ACK_DELAY	12

static void fill_limits(struct ib_device_attr *attr)
{
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = ~(u64)(PAGE_SIZE - 1);
	attr->max_qp = MANY;
	attr->max_qp_wr = ROVE_MAX_WR;
	attr->max_send_sge = ROVE_MAX_SGE;
	attr->max_recv_sge = ROVE_MAX_SGE;
	attr->max_sge_rd = ROVE_MAX_SGE;
	attr->max_cq = MANY;
	attr->max_cqe = ROVE_MAX_CQE;
	attr->max_mr = MANY;
	attr->max_mw = MANY;
	attr->max_fast_reg_page_list_len = ROVE_FAST_PAGES;
	attr->max_pd = MANY;
	attr->max_ah = MANY;
	attr->max_mcast_grp = MANY;
	attr->max_mcast_qp_attach = MANY;
	attr->max_total_mcast_qp_attach = MANY;
	attr->max_qp_rd_atom = ROVE_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = ROVE_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = MANY;
	attr->max_srq = MANY;
	attr->max_srq_wr = ROVE_MAX_WR;
	attr->max_srq_sge = ROVE_MAX_SGE;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	attr->max_pkeys = ROVE_PKEY_TABLE_LEN;
}

static void fill_paging(struct ib_device_attr *attr)
{
	struct ib_odp_caps *caps = &attr->odp_caps;

	if (!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		return;
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
					       IB_ODP_SUPPORT_SRQ_RECV;
	caps->per_transport_caps.uc_odp_caps = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
					       IB_ODP_SUPPORT_WRITE;
	caps->per_transport_caps.rc_odp_caps = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
					       IB_ODP_SUPPORT_SRQ_RECV | IB_ODP_SUPPORT_WRITE |
					       IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC;
	caps->per_transport_caps.xrc_odp_caps = caps->per_transport_caps.rc_odp_caps;
	caps->per_transport_caps.rc_odp_caps |= IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE;
}

int rove_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct rove_dev *dev = rove_dev_of(ib);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = (u64)FW_MAJOR << 32;
	addrconf_addr_eui48((u8 *)&attr->sys_image_guid, dev->ndev->dev_addr);
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = VENDOR_PART_ID;
	attr->hw_ver = 1;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_UD_AV_PORT_ENFORCE |
				 IB_DEVICE_BAD_PKEY_CNTR |
				 IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_FLUSH_GLOBAL |
				 IB_DEVICE_ATOMIC_WRITE |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_XRC;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	fill_paging(attr);
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->local_ca_ack_delay = ACK_DELAY;
	/* Time stamps are CLOCK_MONOTONIC; the clock is told in kHz. */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = NSEC_PER_SEC / 1000;
	fill_limits(attr);
	return 0;
}

int rove_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index >= ROVE_PKEY_TABLE_LEN)
		return -EINVAL;
	*pkey = READ_ONCE(rove_dev_of(ib)->pkeys[index]);
	return 0;
}

int rove_get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->pkey_tbl_len = ROVE_PKEY_TABLE_LEN;
	immutable->gid_tbl_len = ROVE_GID_TABLE_LEN;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

enum rdma_link_layer rove_get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

void rove_get_dev_fw_str(struct ib_device *ib, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.0.0", FW_MAJOR);
}
