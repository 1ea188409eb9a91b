// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "area.h"
#include "dev.h"
#include "engine.h"
#include "uctx.h"

static_assert(sizeof(struct rove_db_page) <= PAGE_SIZE);

int rove_uctx_init(struct rove_uctx *u, struct rove_dev *dev)
{
	u->mem = rove_area_alloc(sizeof(struct rove_db_page));
	if (!u->mem)
		return -ENOMEM;
	u->db = u->mem->addr;
	u->dev = dev;
	xa_init_flags(&u->slots, XA_FLAGS_ALLOC);
	rove_watch_init(u);
	rove_engine_add(dev->engine, u);
	return 0;
}

void rove_uctx_exit(struct rove_uctx *u)
{
	rove_watch_exit(u);
	rove_engine_remove(u->dev->engine, u);
	xa_destroy(&u->slots);
	rove_area_put(u->mem);
}
