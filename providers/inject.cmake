# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Makes rdma-core build our provider without a change to its sources:
#
#   cmake -S RDMA_CORE -B BUILD -GNinja \
#         -DCMAKE_PROJECT_rdma-core_INCLUDE=/path/to/providers/inject.cmake
#   ninja -C BUILD rove-rdmav34
#
# CMake reads this file at rdma-core's project() call. rdma_provider() does not
# exist by then, so the rest waits for the end of rdma-core's own CMakeLists.
# Arguments of a deferred call expand late: the path is kept in a variable.
set(ROVE_PROVIDERS "${CMAKE_CURRENT_LIST_DIR}")
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL
  include "${ROVE_PROVIDERS}/rove/provider.cmake")
