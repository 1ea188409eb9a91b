/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ROVE_LINK_H
#define ROVE_LINK_H

/* `rdma link add/del ... type rove`: module init and exit. */
int rove_link_init(void);
void rove_link_exit(void);

#endif /* ROVE_LINK_H */
