/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_VERBS_MR_H
#define ROVE_VERBS_MR_H

#include <rdma/ib_verbs.h>

struct uverbs_attr_bundle;

/* ib_device_ops; reg_user_mr and the like lack an argument that not all kernels have. */
struct ib_mr *rove_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *rove_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata);
struct ib_mr *rove_reg_dmabuf_mr(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				 int access, struct uverbs_attr_bundle *attrs);
struct ib_mr *rove_rereg_user_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *rove_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg);
int rove_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int num, unsigned int *off);
int rove_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs);
int rove_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);

#endif /* ROVE_VERBS_MR_H */
