# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What is built from the checkout: the module for each kernel, the provider.
#
# Nothing is written into the checkout.  Its sources are copied to a folder in
# the cache and built there, one folder for each checkout, kernel and kind, so
# that the next build compiles only what changed.

build_base() {
	echo "$CACHE/build/$(basename "$CHECKOUT")-$(echo "$CHECKOUT" | hash_of)"
}

# copy_sources TARGET FOLDER...: a file that did not change keeps its time, one
# that did gets the present one.  The times of the checkout are not used: a
# file changed while make ran would be older than its object.
copy_sources() {
	local target=$1 pattern
	local -a keep=()
	shift

	need_command rsync rsync
	# What builds leave: not copied, and not deleted at the target.
	for pattern in '*.o' '*.ko' '*.a' '*.mod' '*.mod.c' '.*.cmd' '*.symvers' \
		'modules.order' '.module-common.*' '*.d' '__pycache__'; do
		keep+=("--exclude=$pattern")
	done
	mkdir -p "$target"
	(cd "$CHECKOUT" && rsync -rlpR --checksum --delete "${keep[@]}" "$@" "$target/")
}

# A quick look whether anything changed since the last good build: names,
# sizes and times of all files.
sources_state() {
	(cd "$CHECKOUT" && find "$@" -type f -printf '%p %s %T@ %m\n' 2>/dev/null | sort) | hash_of
}

# unless_same STAMP STATE COMMAND...
unless_same() {
	local stamp=$1 state=$2
	shift 2

	[ "$(cat "$stamp" 2>/dev/null)" = "$state" ] && return
	rm -f "$stamp"
	"$@" || return
	echo "$state" >"$stamp"
}

# ------------------------------------------------------------------ the module

readonly MODULE_SOURCES=(Kbuild drivers include compat tools/bench/limit tests/selftests/crc32)

module_dir() {
	echo "$(build_base)/module-$1"
}

# Build the module for a kernel.  Prints what the compiler says.
build_module() {
	local kernel=$1 dir

	[ -e "$CHECKOUT/Kbuild" ] || die "no Kbuild in $CHECKOUT: no module to build"
	dir=$(module_dir "$kernel")
	mkdir -p "$dir"
	unless_same "$dir/stamp" \
		"$(piece_dir "$kernel") $(sources_state "${MODULE_SOURCES[@]}")" \
		compile_module "$kernel" "$dir"
}

compile_module() {
	local kernel=$1 dir=$2 have
	local -a sources=()

	for have in "${MODULE_SOURCES[@]}"; do
		[ ! -e "$CHECKOUT/$have" ] || sources+=("$have")
	done
	# Objects made for another kernel are worth nothing.
	if [ "$(cat "$dir/kernel" 2>/dev/null)" != "$(piece_dir "$kernel")" ]; then
		rm -rf "$dir/src"
		piece_dir "$kernel" >"$dir/kernel"
	fi
	copy_sources "$dir/src" "${sources[@]}" || return
	kernel_make "$kernel" "$dir/src" modules || return
	find "$dir/src" -name '*.ko' | grep -q . || {
		say "the build made no .ko file"
		return 1
	}
}

# kernel_make KERNEL FOLDER TARGET...: kbuild on a folder outside the kernel.
# Messages name files as they are called in the checkout.
kernel_make() (
	set -o pipefail
	# The three lines on pahole are about BTF, which is not made here.
	run_kbuild "$@" 2>&1 |
		sed -u "/^warning: pahole version differs/,+2d; s|$2/||g; s|/build/||g" >&2
)

run_kbuild() {
	local kernel=$1 folder=$2 release
	local -a args=("-j$(nproc)" --no-print-directory -s CONFIG_WERROR=y ROVE_LAB=y)
	shift 2

	# Without BTF, which would want pahole and a vmlinux.
	case $(kernel_kind "$kernel") in
	uml)
		make -C "$(piece_dir "$kernel")" "${args[@]}" ARCH=um CC=gcc HOSTCC=gcc \
			M="$folder" "$@"
		;;
	stock)
		release=$(cat "$(piece_dir "$kernel")/release")
		in_tree "$kernel" "$folder:/build" \
			make -C "/usr/src/linux-headers-$release" "${args[@]}" \
			CONFIG_DEBUG_INFO_BTF_MODULES= M=/build "$@"
		;;
	esac
}

# in_tree KERNEL BINDS COMMAND...: in the root tree with the headers of a stock
# kernel where they belong.
in_tree() {
	local kernel=$1 binds=$2 tree kbuild
	shift 2

	if [ "$(kernel_kind "$kernel")" = stock ]; then
		tree=$(piece_dir "$kernel")/tree
		binds+=" $tree/usr/src:/usr/src $tree/usr/lib/modules:/usr/lib/modules"
		for kbuild in "$tree"/usr/lib/linux-kbuild-*; do
			binds+=" $kbuild:/usr/lib/${kbuild##*/}"
		done
	fi
	in_root "$(piece_dir root)" "$binds" "$@"
}

# ---------------------------------------------------------------- the provider

readonly PROVIDER_SOURCES=(providers include drivers)

provider_dir() {
	echo "$(build_base)/provider"
}

build_provider() {
	local dir

	[ -e "$CHECKOUT/providers/inject.cmake" ] ||
		die "no providers/inject.cmake in $CHECKOUT: no provider to build"
	need_piece rdma_core
	dir=$(provider_dir)
	mkdir -p "$dir"
	unless_same "$dir/stamp" \
		"$(piece_dir root) $(piece_dir rdma_core) $(sources_state "${PROVIDER_SOURCES[@]}")" \
		compile_provider "$dir"
}

compile_provider() {
	local dir=$1 have
	local -a sources=()

	for have in "${PROVIDER_SOURCES[@]}"; do
		[ ! -e "$CHECKOUT/$have" ] || sources+=("$have")
	done
	if [ "$(cat "$dir/from" 2>/dev/null)" != "$(piece_dir root) $(piece_dir rdma_core)" ]; then
		rm -rf "$dir/build"
		echo "$(piece_dir root) $(piece_dir rdma_core)" >"$dir/from"
	fi
	copy_sources "$dir/src" "${sources[@]}" || return
	mkdir -p "$dir/build"

	run_ninja "$dir" 2>&1 | sed -u 's|/rove/||g' >&2
	return "${PIPESTATUS[0]}"
}

run_ninja() {
	local dir=$1

	# shellcheck disable=SC2016 # for the inner shell
	in_root "$(piece_dir root)" \
		"$dir/src:/rove $dir/build:/build $(piece_dir rdma_core):/usr/src" bash -c '
		cd /build || exit
		[ -e build.ninja ] || cmake -S /usr/src -B /build -GNinja \
			-DCMAKE_BUILD_TYPE=RelWithDebInfo \
			-DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_SYSCONFDIR=/etc \
			-DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu \
			-DNO_MAN_PAGES=1 -DNO_PYVERBS=1 \
			-DPYTHON_EXECUTABLE=/usr/bin/python3 \
			-DCMAKE_PROJECT_rdma-core_INCLUDE=/rove/providers/inject.cmake \
			>configure.log 2>&1 </dev/null ||
			{ status=$?; tail -n 40 configure.log; rm -f build.ninja; exit $status; }
		# The name has the number of the private interface in it.
		target=$(ninja -t targets all | sed -n "s/^\(rove-rdmav[0-9]*\): phony$/\1/p" | head -n 1)
		[ -n "$target" ] || { echo "cmake made no target rove-rdmavNN"; exit 1; }
		ninja --quiet "$target"
	'
}

# The files that a guest needs, copied to a folder, so that the next build does
# not change them under a running guest.
copy_products() {
	local kernel=$1 to=$2

	mkdir -p "$to/modules" "$to/provider"
	find "$(module_dir "$kernel")/src" -name '*.ko' -exec cp -t "$to/modules" {} +
	find "$(provider_dir)/build" -name 'librove-rdmav*.so' -exec cp -L -t "$to/provider" {} +
	echo "driver rove" >"$to/provider/rove.driver"
}

# build_for KERNEL [COPY-TO]: module and provider.  Under a lock, the copy too.
build_for() {
	with_lock "build-$(basename "$(build_base)")" build_for_locked "$@"
}

build_for_locked() {
	build_module "$1" || {
		say "error: the module does not build for the kernel $1"
		return 1
	}
	build_provider || {
		say "error: the provider does not build"
		return 1
	}
	[ -z "${2:-}" ] || copy_products "$1" "$2"
}
