# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# The pieces that do not depend on the checkout's sources: the root tree,
# kernels, the source of rdma-core.
#
# A piece is a folder CACHE/NAME-KEY.  The key is a hash of all that the piece
# is made from, the text of the function that builds it included, so that a
# change makes a new piece and never half of one.  A piece is there when its
# stamp is, which is written last.

readonly SUITE=trixie
readonly LINUX_SUITE=$SUITE-backports

# ---------------------------------------------------------------- the cache

# Keys are asked for again and again, and nest: remembered once known.
declare -A KEY

piece_dir() {
	echo "$CACHE/$1-$(piece_key "$1")"
}

piece_ready() {
	[ -e "$(piece_dir "$1")/.lab-stamp" ]
}

piece_key() {
	learn_key "$1"
	echo "${KEY[$1]}"
}

learn_key() {
	[ -n "${KEY[$1]:-}" ] || KEY[$1]=$("key_$1" | hash_of)
}

# Build the piece if it is not there.  What it depends on must be there.
need_piece() {
	learn_key "$1"
	if piece_ready "$1"; then
		touch -c "$(piece_dir "$1")/.lab-stamp"
	else
		with_lock "piece-$1" make_piece "$1"
	fi
}

# Everything that a kernel needs to boot and to have modules built for it.
need_kernel() {
	need_piece root
	case $(kernel_kind "$1") in
	uml)
		# First: the compiler's version is part of the key.
		host_compiler
		need_piece src
		need_piece initramfs
		;;
	stock)
		need_command qemu-system-x86_64 qemu-system-x86
		;;
	esac
	need_piece "$1"
}

make_piece() {
	local name=$1 dir

	dir=$(piece_dir "$name")
	[ ! -e "$dir/.lab-stamp" ] || return 0
	"build_$name" "$dir"
	drop_old_pieces "$name" "$dir"
}

# A finished folder takes its name in one step.
commit_piece() {
	local tmp=$1 dir=$2

	touch "$tmp/.lab-stamp"
	sync -f "$tmp"
	rm -rf --one-file-system "$dir"
	mv -T "$tmp" "$dir"
}

# An empty folder to build a piece in; what an interrupted build left goes.
fresh_tmp() {
	rm -rf --one-file-system "$1.tmp"
	mkdir -p "$1.tmp"
	echo "$1.tmp"
}

# Other checkouts may use other versions of a piece: only what nobody has
# built or used for two weeks goes.
drop_old_pieces() {
	local old

	for old in "$CACHE/$1"-????????????; do
		if [ ! -d "$old" ] || [ "$old" = "$2" ]; then
			continue
		fi
		[ -n "$(find "$old/.lab-stamp" -mtime -14 2>/dev/null)" ] && continue
		say "dropping $old, unused for two weeks"
		rm -rf --one-file-system "$old"
	done
}

# ------------------------------------------------------------ the host's own

# need_command COMMAND PACKAGE: install what the host lacks.
need_command() {
	command -v "$1" >/dev/null || install_host "$2"
}

install_host() {
	say "installing $* on this machine"
	host_apt_lists
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends "$@" >/dev/null </dev/null ||
		die "cannot install $*"
}

# With empty lists apt knows no package, and indextargets prints nothing.
host_apt_lists() {
	[ -z "${APT_LISTS_FRESH:-}" ] || return 0
	command -v apt-get >/dev/null || die "this needs a Debian-like machine with apt"
	apt-get update -qq >/dev/null || say "apt-get update failed; going on with the old lists"
	APT_LISTS_FRESH=1
}

host_compiler() {
	need_command gcc gcc
	need_command make make
	need_command flex flex
	need_command bison bison
	need_command bc bc
	need_command patch patch
	need_command xz xz-utils
	[ -e /usr/include/libelf.h ] || install_host libelf-dev
	[ -e /usr/include/x86_64-linux-gnu/sys/types.h ] || install_host libc6-dev
}

# -------------------------------------------------------------- the root tree

key_root() {
	echo "$SUITE"
	grep -v '^#' "$LAB/packages"
	declare -f build_root debootstrap_tree
}

build_root() {
	local dir=$1 tmp

	need_command mmdebstrap mmdebstrap
	tmp=$(fresh_tmp "$dir")
	step "root tree (Debian $SUITE)" "$CACHE/log/root" debootstrap_tree "$tmp" ||
		die "cannot make the root tree"
	mkdir "$tmp/lab" "$tmp/rove" "$tmp/build"
	resolve_versions "$tmp"
	commit_piece "$tmp" "$dir"
}

# The mirror that this machine uses itself.
find_mirror() {
	local codename mirror

	if [ -n "${ROVE_MIRROR:-}" ]; then
		echo "${ROVE_MIRROR%/}"
		return
	fi
	# shellcheck disable=SC1091
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016 # apt expands these
	mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' |
		awk -v c="$codename" '$1 == c { print $2; exit }')
	[ -n "$mirror" ] || die "apt names no mirror for '$codename'; set ROVE_MIRROR"
	echo "${mirror%/}"
}

check_mirror() {
	local out

	out=$(mktemp)
	if ! /usr/lib/apt/apt-helper download-file \
		"$1/dists/$SUITE/InRelease" "$out" >/dev/null 2>&1; then
		rm -f "$out"
		die "the mirror $1 has no Debian $SUITE; set ROVE_MIRROR to one that has"
	fi
	rm -f "$out"
}

debootstrap_tree() {
	local tree=$1 mirror list keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	local -a proxies=()

	host_apt_lists
	[ -e "$keyring" ] || install_host debian-archive-keyring
	mirror=$(find_mirror) || return
	check_mirror "$mirror" || return
	list=$(grep -v '^#' "$LAB/packages" | tr -s ' \n' ',' | sed 's/^,//; s/,$//')
	mapfile -t proxies < <(apt-config dump |
		sed -n 's/^\(Acquire::https\?::Proxy.*\)$/--aptopt=\1/p')

	# A mount namespace, so that nothing of the host stays mounted in a tree
	# whose making was interrupted.  The package lists stay: the kernels are
	# found by them.
	unshare -m mmdebstrap --mode=root --variant=minbase --keyring="$keyring" \
		--skip=cleanup/apt/lists "${proxies[@]}" --include="$list" \
		"$SUITE" "$tree" \
		"deb $mirror $SUITE main" \
		"deb $mirror $SUITE-updates main" \
		"deb $mirror $LINUX_SUITE main" \
		"deb-src $mirror $SUITE main"
}

# apt with the host's settings (proxies and the like) and the tree's lists.
tree_apt() {
	local tree=$1 tool=$2
	shift 2

	mkdir -p "$CACHE/apt/partial"
	"$tool" -q \
		-o Dir::Etc::sourcelist="$tree/etc/apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::Etc::trustedparts=/usr/share/keyrings \
		-o Dir::State="$tree/var/lib/apt" \
		-o Dir::State::status="$tree/var/lib/dpkg/status" \
		-o Dir::Cache="$CACHE/apt" \
		-o Dir::Cache::archives="$CACHE/apt" \
		-o APT::Sandbox::User=root "$@"
}

# Old kernels vanish from the archive, so versions are asked for and not
# written down.  Asked once, when the tree is made, since all keys hang on it.
resolve_versions() {
	local tree=$1

	mkdir -p "$tree/etc/lab"
	{
		echo "LINUX_SOURCE=$(depends_of "$tree" linux-source/$LINUX_SUITE 'linux-source-[0-9.]*')"
		echo "LINUX_SOURCE_VERSION=$(version_of "$tree" linux-source/$LINUX_SUITE)"
		echo "STOCK=$(depends_of "$tree" linux-image-amd64/$SUITE 'linux-image-[0-9][^ ,]*')"
		echo "STOCK73=$(depends_of "$tree" linux-image-amd64/$LINUX_SUITE 'linux-image-[0-9][^ ,]*')"
		# shellcheck disable=SC2016 # dpkg expands these
		echo "RDMA_CORE=$(dpkg-query --admindir="$tree/var/lib/dpkg" \
			-W -f '${source:Version}' libibverbs1)"
	} >"$tree/etc/lab/versions"
	if grep -q '=$' "$tree/etc/lab/versions"; then
		cat "$tree/etc/lab/versions" >&2
		die "the mirror lacks one of these packages"
	fi
}

# New package lists, and the kernels that they have.
refresh_versions() {
	KEY=()
	step "package lists" "$CACHE/log/refresh" tree_apt "$1" apt-get update &&
		resolve_versions "$1"
}

depends_of() {
	tree_apt "$1" apt-cache show "$2" |
		sed -n "s/^Depends:.*\b\($3\).*/\1/p" | head -n 1
}

version_of() {
	tree_apt "$1" apt-cache show "$2" | sed -n 's/^Version: //p' | head -n 1
}

# version NAME: what resolve_versions found.
version() {
	sed -n "s/^$1=//p" "$(piece_dir root)/etc/lab/versions"
}

# Download packages of the tree's suites into the current folder.
fetch_debs() {
	local tree

	tree=$(piece_dir root)
	tree_apt "$tree" apt-get download "$@" && return
	echo "If the mirror has dropped these versions: lab setup refresh"
	return 1
}

# ---------------------------------------------------------- the kernel source

key_src() {
	version LINUX_SOURCE
	version LINUX_SOURCE_VERSION
	cat "$LAB/uml-crc.patch"
	declare -f build_src unpack_linux
}

build_src() {
	local dir=$1 tmp

	need_command patch patch
	need_command xz xz-utils
	tmp=$(fresh_tmp "$dir")
	step "kernel source ($(version LINUX_SOURCE_VERSION))" "$CACHE/log/src" \
		unpack_linux "$tmp" || die "cannot unpack the kernel source"
	commit_piece "$tmp" "$dir"
}

unpack_linux() {
	local dir=$1 package

	package=$(version LINUX_SOURCE)
	cd "$dir" || return
	fetch_debs "$package" || return
	dpkg-deb --fsys-tarfile "$package"_*.deb |
		tar -xO --wildcards '*/linux-source-*.tar.xz' |
		tar -xJ --strip-components=1 || return
	rm -- "$package"_*.deb
	patch -p1 --fuzz=3 <"$LAB/uml-crc.patch"
}

# ---------------------------------------------------------------- UML kernels

key_perf() { key_uml perf; }
key_kasan() { key_uml kasan; }
key_lockdep() { key_uml lockdep; }
key_profile() { key_uml profile; }
build_perf() { build_uml perf "$1"; }
build_kasan() { build_uml kasan "$1"; }
build_lockdep() { build_uml lockdep "$1"; }
build_profile() { build_uml profile "$1"; }

key_uml() {
	piece_key src
	cat "$LAB/config/base.config"
	options_of "$1"
	gcc -dumpfullversion 2>/dev/null
	declare -f build_uml compile_uml check_config
}

# A_B has the options of A and of B.
options_of() {
	local part

	for part in ${1//_/ }; do
		cat "$LAB/config/$part.config"
	done
}

# Made in its final place, unlike the other pieces: kbuild can be interrupted
# anywhere and goes on where it stopped.
build_uml() {
	local name=$1 dir=$2

	mkdir -p "$dir"
	step "kernel $name (UML, 4 to 6 minutes)" "$CACHE/log/$name" \
		compile_uml "$name" "$dir" || die "cannot build the kernel $name"
	touch "$dir/.lab-stamp"
}

compile_uml() {
	local name=$1 dir=$2 src version
	local -a kmake

	src=$(piece_dir src)
	kmake=(make -C "$src" O="$dir" ARCH=um CC=gcc HOSTCC=gcc "-j$(nproc)")
	cat "$LAB/config/base.config" "$LAB/config/$name.config" >"$dir/lab.config"

	"${kmake[@]}" KCONFIG_ALLCONFIG="$dir/lab.config" allnoconfig || return
	check_config "$dir/lab.config" "$dir/.config" || return
	"${kmake[@]}" all || return

	# So that modprobe knows what is built in.
	version=$(cat "$dir/include/config/kernel.release")
	mkdir -p "$dir/tree/usr/lib/modules/$version"
	cp "$dir"/modules.builtin* "$dir/modules.order" \
		"$dir/tree/usr/lib/modules/$version/"
	in_root "$(piece_dir root)" "$dir/tree/usr/lib/modules:/usr/lib/modules" \
		depmod "$version"
}

# Those that have modules.
key_ulp() { key_modular ulp; }
key_ulp_kasan() { key_modular ulp_kasan; }
key_ulp_lockdep() { key_modular ulp_lockdep; }
build_ulp() { build_modular ulp "$1"; }
build_ulp_kasan() { build_modular ulp_kasan "$1"; }
build_ulp_lockdep() { build_modular ulp_lockdep "$1"; }

key_modular() {
	key_uml "$1"
	declare -f build_modular compile_modular
}

build_modular() {
	local name=$1 dir=$2

	mkdir -p "$dir"
	step "kernel $name (UML, 5 to 10 minutes)" "$CACHE/log/$name" \
		compile_modular "$name" "$dir" || die "cannot build the kernel $name"
	touch "$dir/.lab-stamp"
}

compile_modular() {
	local name=$1 dir=$2 version

	mkdir -p "$dir/lab/config"
	cp "$LAB/config/base.config" "$dir/lab/config"
	options_of "$name" >"$dir/lab/config/$name.config"
	LAB=$dir/lab compile_uml "$name" "$dir" || return
	make -C "$(piece_dir src)" O="$dir" ARCH=um CC=gcc HOSTCC=gcc \
		INSTALL_MOD_PATH="$dir/tree/usr" DEPMOD=true modules_install || return
	version=$(cat "$dir/include/config/kernel.release")
	rm -f "$dir/tree/usr/lib/modules/$version/build"
	in_root "$(piece_dir root)" "$dir/tree/usr/lib/modules:/usr/lib/modules" \
		depmod "$version"
}

# allnoconfig drops what it cannot satisfy without a word.
check_config() {
	local wanted=$1 got=$2 line lost=0

	while read -r line; do
		case $line in
		CONFIG_*) ;;
		*) continue ;;
		esac
		grep -qxF -- "$line" "$got" && continue
		echo "dropped from the configuration: $line"
		lost=1
	done <"$wanted"
	return "$lost"
}

# --------------------------------------------------------------- stock kernels

key_stock() { key_debian STOCK; }
key_stock73() { key_debian STOCK73; }
build_stock() { build_debian stock "$1"; }
build_stock73() { build_debian stock73 "$1"; }

key_debian() {
	piece_key root
	version "$1"
	cat "$LAB/guest/initramfs-init"
	declare -f build_debian unpack_debian make_initramfs debian_packages
}

build_debian() {
	local name=$1 dir=$2 tmp

	tmp=$(fresh_tmp "$dir")
	step "kernel $name (Debian's $(version "${name^^}"))" "$CACHE/log/$name" \
		unpack_debian "$name" "$tmp" || die "cannot unpack the kernel $name"
	commit_piece "$tmp" "$dir"
}

# 6.12 has the kernel and its modules in linux-image, later ones split them.
debian_packages() {
	local image=$1 version=${1#linux-image-}

	echo "$image linux-headers-$version linux-headers-${version%-amd64}-common"
	echo "linux-kbuild-${version%-amd64}"
	if tree_apt "$(piece_dir root)" apt-cache show "linux-modules-$version" >/dev/null 2>&1; then
		echo "linux-binary-$version linux-modules-$version"
	fi
}

unpack_debian() {
	local name=$1 dir=$2 image version deb

	image=$(version "${name^^}")
	version=${image#linux-image-}
	mkdir "$dir/debs" "$dir/tree"
	cd "$dir/debs" || return
	# shellcheck disable=SC2046 # a list
	fetch_debs $(debian_packages "$image") || return
	for deb in *.deb; do
		dpkg -x "$deb" "$dir/tree" || return
	done
	cd "$dir" || return
	rm -r debs

	# Laid over the root tree, a real /lib would hide its link to usr/lib.
	if [ -d tree/lib ]; then
		mkdir -p tree/usr/lib
		cp -a --link tree/lib/. tree/usr/lib/ && rm -r tree/lib
	fi
	mv tree/boot/vmlinuz-* vmlinuz 2>/dev/null ||
		mv "tree/usr/lib/modules/$version/vmlinuz" vmlinuz || return
	echo "$version" >release
	in_root "$(piece_dir root)" "$dir/tree/usr/lib/modules:/usr/lib/modules" \
		depmod "$version" || return
	make_initramfs "$dir" "$version"
}

# busybox, the init script and the modules that it needs to reach the root
# tree.  For UML, without a version, no modules.
make_initramfs() {
	local dir=$1 version=${2:-}
	local binds="$dir:/lab"

	cp "$LAB/guest/initramfs-init" "$dir/init"
	[ -z "$version" ] || binds+=" $dir/tree/usr/lib/modules:/usr/lib/modules"
	# shellcheck disable=SC2016 # for the inner shell
	in_root "$(piece_dir root)" "$binds" bash -c '
		set -eo pipefail
		version=$1
		mkdir -p /tmp/ird/{bin,modules,proc,sys,dev,mnt}
		cp /bin/busybox /tmp/ird/bin/
		install -m 755 /lab/init /tmp/ird/init
		n=100
		for module in ${version:+virtio_pci 9pnet_virtio 9p overlay virtio_console}; do
			# What is not found is built in: not all packages have the
			# list of those.
			modprobe -S "$version" --show-depends "$module" || true
		done | awk "\$1 == \"insmod\" && !seen[\$2]++ { print \$2 }" |
		while read -r file; do
			base=${file##*/}
			case $file in
			*.xz) xz -dc "$file" >"/tmp/ird/modules/$n-${base%.xz}" ;;
			*) cp "$file" "/tmp/ird/modules/$n-$base" ;;
			esac
			n=$((n + 1))
		done
		cd /tmp/ird
		find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 >/lab/initramfs.gz
	' make_initramfs "$version"
}

# The initramfs of the UML guests is a piece of its own: a change of its script
# must not cost four minutes of compiling.
key_initramfs() {
	piece_key root
	cat "$LAB/guest/initramfs-init"
	declare -f make_initramfs
}

build_initramfs() {
	local dir=$1 tmp

	tmp=$(fresh_tmp "$dir")
	step "initramfs" "$CACHE/log/initramfs" make_initramfs "$tmp" ||
		die "cannot make the initramfs"
	commit_piece "$tmp" "$dir"
}

# ------------------------------------------------------------------- rdma-core

# The provider interface is private to rdma-core: it is built from the source
# of the very version that the tree has.
key_rdma_core() {
	version RDMA_CORE
	declare -f build_rdma_core unpack_rdma_core
}

build_rdma_core() {
	local dir=$1 tmp

	need_command dpkg-source dpkg-dev
	need_command patch patch
	tmp=$(fresh_tmp "$dir")
	step "rdma-core source ($(version RDMA_CORE))" "$CACHE/log/rdma-core" \
		unpack_rdma_core "$tmp" || die "cannot unpack the source of rdma-core"
	commit_piece "$tmp" "$dir"
}

unpack_rdma_core() {
	local dir=$1 version uri file hash got=0

	version=$(version RDMA_CORE)
	cd "$dir" || return
	# Mirrors may lack the .dsc, which apt-get source wants, and still have
	# the tarballs: take the addresses from apt and fetch those alone.
	while read -r uri file _ hash; do
		case $file in *.dsc) continue ;; esac
		/usr/lib/apt/apt-helper download-file "${uri//\'/}" "$file" "$hash" || return
		got=$((got + 1))
	done < <(tree_apt "$(piece_dir root)" apt-get source --print-uris \
		"rdma-core=$version" | grep "^'")
	[ "$got" -ge 2 ] || return
	tar -xf rdma-core_*.orig.tar.* --strip-components=1 || return
	tar -xf rdma-core_*.debian.tar.* || return
	if [ -s debian/patches/series ]; then
		grep -v '^#' debian/patches/series | while read -r file; do
			[ -z "$file" ] || patch -p1 <"debian/patches/$file" || return
		done
	fi
	rm -f -- rdma-core_*
}
