#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# NFS over RDMA: the kernel's server in A, its client in B.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
# shellcheck source=/dev/null
. "$SELFTESTS/ulp_lib.sh"
need_pair
need_commands rpc.nfsd rpc.mountd rpcbind exportfs mount.nfs losetup
need_modules nfsd nfs nfsv4 rpcrdma

readonly PORT=20049 EXPORT=$T/export MOUNT=$T/mount
DAEMONS=()
FILES=2000 OPERATIONS=3000
[ -z "$QUICK" ] || FILES=200 OPERATIONS=300

# Network namespaces alone, since "ip netns exec" makes one of mounts for each command.
in_net() {
	local pid=$1
	shift

	nsenter --net="/proc/$pid/ns/net" "$@"
}
server() { in_net "$NET_A" "$@"; }
client() { in_net "$NET_B" "$@"; }

hold_namespaces() {
	"${AT_A[@]}" sleep infinity &
	NET_A=$!
	"${AT_B[@]}" sleep infinity &
	NET_B=$!
	DAEMONS+=("$NET_A" "$NET_B")
	wait_until 5 entered "$NET_A" && wait_until 5 entered "$NET_B"
}

# "ip netns exec" has become the program.
entered() { [ "$(cat "/proc/$1/comm")" = sleep ]; }

# ------------------------------------------------------------------ the server

# A file system of its own, whose pages the server sends as they lie in its cache.
make_export() {
	local image=$T/image

	mkdir -p "$EXPORT" "$MOUNT" && truncate -s 400M "$image" || return
	if [ -x /sbin/mkfs.ext4 ]; then
		mkfs.ext4 -q -F "$image"
	else
		busybox mke2fs -F "$image" >/dev/null
	fi && mount -t ext4 -o loop "$image" "$EXPORT" && mkdir "$EXPORT/data"
}

start_nfsd() {
	mkdir -p /var/lib/nfs /run/rpcbind
	touch /var/lib/nfs/{etab,rmtab,state}
	grep -q ' /proc/fs/nfsd ' /proc/mounts && umount /proc/fs/nfsd
	server mount -t nfsd nfsd /proc/fs/nfsd || return
	server rpcbind -f -w &
	DAEMONS+=($!)
	wait_until 10 listens "$NET_A" 111 || { echo "no rpcbind"; return 1; }
	server exportfs -o rw,no_root_squash,no_subtree_check,async,insecure,fsid=0 "*:$EXPORT" ||
		return
	server rpc.mountd --foreground --port 20048 &
	DAEMONS+=($!)
	wait_until 10 listens "$NET_A" 20048 || { echo "no mountd"; return 1; }
	# Clients of an earlier life do not get more time to claim what they had.
	server rpc.nfsd --rdma=$PORT --grace-time 10 --lease-time 10 8 || return
	cat /proc/fs/nfsd/portlist
	grep -q "rdma $PORT" /proc/fs/nfsd/portlist
}

stop_nfsd() {
	no_mount
	server rpc.nfsd 0
	server exportfs -ua
	kill "${DAEMONS[@]}"
	wait "${DAEMONS[@]}"
	umount /proc/fs/nfsd
	umount "$EXPORT"
} >/dev/null 2>&1

trap 'stop_nfsd; cleanup' EXIT

# ------------------------------------------------------------------ the client

# What a test before left when it failed.
no_mount() {
	while grep -q " $MOUNT " /proc/mounts; do
		timeout -k 5 "$LIMIT" umount -f -l "$MOUNT" || return
	done
}

# mount_nfs VERSION: version 4 knows the exported folder as its root.  In a network
# namespace a client gives up when there is no network (since Linux 6.16), if not told
# otherwise.
mount_nfs() {
	local version=$1 path=/ options=vers=$1,rdma,port=$PORT

	[ "$version" != 3 ] ||
		path=$EXPORT options+=,nolock,mountproto=tcp,mountport=20048
	no_mount && { try_mount "$options,fatal_neterrors=none" || try_mount "$options"; } || return
	grep " $MOUNT " /proc/mounts
	grep " $MOUNT nfs" /proc/mounts | grep ',proto=rdma,' | grep -q ",vers=$version,"
}

try_mount() {
	client timeout -k 5 "$LIMIT" mount -t nfs -o "$1" "$IP_A:$path" "$MOUNT"
}

unmount_nfs() {
	timeout -k 5 "$LIMIT" umount "$MOUNT" && leaves_no_qps
}

# mounted VERSION COMMAND...
mounted() {
	local version=$1
	shift

	mount_nfs "$version" && "$@" && unmount_nfs
}

# Small files and large ones, links, names of all lengths.
make_tree() {
	python3 - "$1" "$FILES" <<-'PY'
	import os, random, sys
	root, count = sys.argv[1], int(sys.argv[2])
	pick = random.Random(count)
	for i in range(count):
	    folder = os.path.join(root, f"d{i % 37}", "x" * (i % 50 + 1))
	    os.makedirs(folder, exist_ok=True)
	    path = os.path.join(folder, f"file{i}" + "y" * (200 if i % 300 == 5 else 0))
	    size = pick.choice((0, pick.randrange(200), pick.randrange(5000), pick.randrange(40000)))
	    if i % 200 == 0:
	        size = 1000000 + pick.randrange(3000000)
	    with open(path, "wb") as f:
	        f.write(pick.randbytes(size))
	    os.chmod(path, pick.choice((0o600, 0o644, 0o755)))
	    if i % 20 == 1:
	        os.symlink(os.path.basename(path), path + ".symlink")
	    if i % 20 == 2:
	        os.link(path, path + ".link")
	PY
}

same_tree() {
	local said

	said=$(diff -rq --no-dereference "$1" "$2") && return
	head -n 20 <<<"$said"
	return 1
}

# Copied there, and read back from the server, not from the client's cache.
copy_tree() {
	local version=$1

	[ -d "$T/tree" ] || make_tree "$T/tree" || return
	rm -rf "$EXPORT/data/tree"
	mount_nfs "$version" && cp -a "$T/tree" "$MOUNT/data/tree" && unmount_nfs || return
	same_tree "$T/tree" "$EXPORT/data/tree" || return
	mount_nfs "$version" && same_tree "$T/tree" "$MOUNT/data/tree" || return
	rm -r "$MOUNT/data/tree" && unmount_nfs && [ ! -e "$EXPORT/data/tree" ]
}

# random_access [WORD]
random_access() {
	local seed

	for seed in 1 2; do
		timeout -k 5 $((LIMIT * 4)) python3 "$SELFTESTS/fsx.py" "$MOUNT/data/fsx" \
			"$OPERATIONS" "$seed" "$@" || return
	done
	rm "$MOUNT/data/fsx"
}

# Large transfers: of the file that the server has, and of the one that it gets.
large_file() {
	make_disk "$EXPORT/data/large" && cmp "$EXPORT/data/large" "$MOUNT/data/large" || return
	dd if="$EXPORT/data/large" of="$MOUNT/data/copy" bs=1M oflag=direct status=none || return
	cmp "$EXPORT/data/large" "$EXPORT/data/copy" && rm "$MOUNT/data/large" "$MOUNT/data/copy"
}

# Seen by both, wherever the space comes from.
on_server() {
	head -c 300000 /dev/urandom >"$MOUNT/data/a" &&
		fallocate -o 100000 -l 50000 -p "$MOUNT/data/a" &&
		cp --reflink=never "$MOUNT/data/a" "$MOUNT/data/b" &&
		cmp "$MOUNT/data/a" "$EXPORT/data/b" && rm "$MOUNT/data/a" "$MOUNT/data/b"
}

# Who holds a lock by way of the client keeps the server's own programs out, and others
# not.
locks() {
	python3 - "$MOUNT/data/lock" "$EXPORT/data/lock" <<-'PY'
	import fcntl, os, sys
	far = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
	fcntl.lockf(far, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
	near = os.open(sys.argv[2], os.O_RDWR)
	fcntl.lockf(near, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 20)
	try:
	    fcntl.lockf(near, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
	except OSError:
	    sys.exit(0)
	sys.exit("the server does not know of the lock")
	PY
}

# What was under way is done when the link is there again.
link_gone() {
	local copy

	[ -d "$T/tree" ] || make_tree "$T/tree" || return
	rm -rf "$EXPORT/data/tree"
	timeout -k 5 $((LIMIT * 4)) cp -a "$T/tree" "$MOUNT/data/tree" >"$T/copied" 2>&1 &
	copy=$!
	wait_until "$LIMIT" test -d "$MOUNT/data/tree/d9" || return
	rdma link del "$1" && leaves_no_qps || return
	client_link "$1" || return
	wait "$copy" || { head -n 20 "$T/copied"; return 1; }
	same_tree "$T/tree" "$EXPORT/data/tree" && rm -r "$MOUNT/data/tree"
}

client_link() {
	if [ "$1" = "$RB" ]; then
		b rdma link add "$RB" type "$TYPE" netdev "$EB"
	else
		a rdma link add "$RA" type "$TYPE" netdev "$EA"
	fi && wait_until 10 both_have_gids
}

lossy() {
	local status=0

	a tc qdisc add dev "$EA" root netem loss 1% || skip "no netem"
	b tc qdisc add dev "$EB" root netem loss 1%
	"$@" || status=$?
	a tc qdisc del dev "$EA" root
	b tc qdisc del dev "$EB" root
	return "$status"
}

if ! { hold_namespaces && make_export && start_nfsd; } >"$T/made" 2>&1; then
	cat "$T/made"
	skip_all "cannot make a server"
fi

for version in 3 4.2; do
	t "NFS $version: a tree of $FILES files" copy_tree "$version"
	t "NFS $version: random access" mounted "$version" random_access
	t "NFS $version: random access, direct" mounted "$version" random_access direct
	t "NFS $version: large files" mounted "$version" large_file
	t "NFS $version: 1 % loss" lossy mounted "$version" large_file
	t "NFS $version: the client's link is deleted and added" mounted "$version" link_gone "$RB"
done
t "NFS 4.2: holes, copies on the server" mounted 4.2 on_server
t "NFS 4.2: locks" mounted 4.2 locks
t "NFS 4.2: the server's link is deleted and added" mounted 4.2 link_gone "$RA"
t "no queue pair is left" leaves_no_qps
run_tests
