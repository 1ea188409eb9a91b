# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Included by ../inject.cmake into rdma-core's build; paths are absolute, since
# the current directories are rdma-core's.
get_filename_component(ROVE_DIR "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)
get_filename_component(ROVE_TOP "${ROVE_DIR}/../.." ABSOLUTE)
set(ROVE_UAPI "${ROVE_TOP}/include/uapi/rdma/rove-abi.h")
set(ROVE_MODULE "${ROVE_TOP}/drivers/infiniband/sw/rove")
set(ROVE_KABI "${BUILD_INCLUDE}/kernel-abi/rove-abi.h")

# One ABI header for both sides: the provider sees the module's own.
rdma_create_symlink("${ROVE_UAPI}" "${BUILD_INCLUDE}/rdma/rove-abi.h")
rdma_make_dir("${BUILD_INCLUDE}/kernel-abi")
add_custom_command(
  OUTPUT "${ROVE_KABI}"
  COMMAND "${PYTHON_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/buildlib/make_abi_structs.py"
          "${ROVE_UAPI}" "${ROVE_KABI}"
  DEPENDS "${ROVE_UAPI}" "${PROJECT_SOURCE_DIR}/buildlib/make_abi_structs.py")

# ring/ is the module's, built a second time from the same files.
include_directories("${ROVE_MODULE}")
rdma_provider(rove
  "${ROVE_DIR}/rove.c"
  "${ROVE_DIR}/verbs.c"
  "${ROVE_DIR}/domain.c"
  "${ROVE_DIR}/qp.c"
  "${ROVE_DIR}/post.c"
  "${ROVE_DIR}/cq.c"
  "${ROVE_DIR}/srq.c"
  "${ROVE_MODULE}/ring/cqe.c"
  "${ROVE_KABI}")
install(FILES "${ROVE_DIR}/man/rove.7" DESTINATION "${CMAKE_INSTALL_MANDIR}/man7")
