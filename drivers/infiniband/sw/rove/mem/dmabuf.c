// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include "dmabuf.h"
#include "mr.h"

/* What MODULE_IMPORT_NS() comes to; kernels differ in how it is written. */
MODULE_INFO(import_ns, "DMA_BUF");

/* The exporter's mapping is one piece: one block holds any region. */
#define WHOLE_SHIFT	62

struct rove_dmabuf {
	struct dma_buf *buf;
	struct iosys_map map;
	enum dma_data_direction dir;
	unsigned long block;	/* the only one of the region */
};

static int check(const struct dma_buf *buf, u64 offset, u64 length, u64 iova, int access)
{
	u64 end;

	if (!length || check_add_overflow(iova, length, &end) ||
	    check_add_overflow(offset, length, &end) || end > buf->size)
		return -EINVAL;
	if (ib_access_writable(access) && !(buf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return buf->ops->vmap ? 0 : -EOPNOTSUPP;
}

static int map(struct rove_dmabuf *d)
{
	int err;

	err = dma_buf_vmap_unlocked(d->buf, &d->map);
	if (err)
		return err;
	if (d->map.is_iomem) {
		err = -EOPNOTSUPP;
		goto err_unmap;
	}
	/* From now on the CPU works on it, until the region goes. */
	err = dma_buf_begin_cpu_access(d->buf, d->dir);
	if (err)
		goto err_unmap;
	return 0;

err_unmap:
	dma_buf_vunmap_unlocked(d->buf, &d->map);
	return err;
}

int rove_dmabuf_map(struct rove_mr *mr, int fd, u64 offset, u64 length, u64 iova, int access)
{
	struct rove_dmabuf *d;
	int err;

	d = kzalloc_obj(*d, GFP_KERNEL_ACCOUNT);
	if (!d)
		return -ENOMEM;
	d->dir = ib_access_writable(access) ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	d->buf = dma_buf_get(fd);
	if (IS_ERR(d->buf)) {
		err = PTR_ERR(d->buf);
		goto err_free;
	}
	err = check(d->buf, offset, length, iova, access);
	if (err)
		goto err_put;
	err = map(d);
	if (err)
		goto err_put;

	d->block = (unsigned long)d->map.vaddr + offset;
	mr->blocks = &d->block;
	mr->shift = WHOLE_SHIFT;
	mr->offset = 0;
	mr->iova = iova;
	mr->length = length;
	mr->dmabuf = d;
	return 0;

err_put:
	dma_buf_put(d->buf);
err_free:
	kfree(d);
	return err;
}

void rove_dmabuf_unmap(struct rove_mr *mr)
{
	struct rove_dmabuf *d = mr->dmabuf;

	dma_buf_end_cpu_access(d->buf, d->dir);
	dma_buf_vunmap_unlocked(d->buf, &d->map);
	dma_buf_put(d->buf);
	mr->blocks = NULL;
	mr->dmabuf = NULL;
	kfree(d);
}
