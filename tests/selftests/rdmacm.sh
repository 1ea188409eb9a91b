#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Connections by librdmacm: its own tools, and rsockets.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

MANY=100
[ -z "$QUICK" ] || MANY=10

# rping_at SERVER-ADDRESS CLIENT-ADDRESS OPTION...
rping_at() {
	local bind=$1 to=$2
	shift 2

	pair -r "cm:$RPING_PORT" -- rping -s -a "$bind" "$@" -- rping -c -a "$to" "$@"
}

# The scope of a link-local address is the client's netdev.
rping_link_local() {
	local address

	address=$(a ip -6 -o addr show dev "$EA" scope link | awk '{ sub("/.*", "", $4); print $4; exit }')
	[ -n "$address" ] || return
	rping_at ::0 "$address%$EB" -V -C 10
}

# One server, many clients one after the other.
rping_persistent() {
	local i

	start_server "cm:$RPING_PORT" "$((LIMIT * 10))" rping -s -P -a 0.0.0.0 -V || return
	for ((i = 1; i <= MANY; i++)); do
		run_client "$LIMIT" rping -c -a "$IP_A" -V -C 3
		[ "$CLIENT_STATUS" = 0 ] && continue
		echo "client $i: status $CLIENT_STATUS"
		cat "$T/client" "$T/server"
		return 1
	done
	kill -0 "$SERVER" || { echo "the server is gone"; return 1; }
	stop "$SERVER"
	leaves_nothing
}

# And at the same time.
rping_crowd() {
	local i bad=0
	local -a clients=()

	start_server "cm:$RPING_PORT" "$((LIMIT * 10))" rping -s -P -a 0.0.0.0 -V || return
	for ((i = 0; i < 8; i++)); do
		"${AT_B[@]}" timeout -k 2 "$LIMIT" rping -c -a "$IP_A" -V -C 20 >"$T/client.$i" 2>&1 &
		clients+=($!)
	done
	for i in "${!clients[@]}"; do
		wait "${clients[i]}" && continue
		echo "client $i failed:"
		cat "$T/client.$i"
		bad=1
	done
	stop "$SERVER"
	return "$bad"
}

# Nobody listens: refused at once, not after a time-out.
refused() {
	local begin=$SECONDS

	run_client "$LIMIT" rping -c -a "$IP_A" -C 1 -p 7999
	cat "$T/client"
	echo "status $CLIENT_STATUS after $((SECONDS - begin)) s"
	[ "$(status_text "$CLIENT_STATUS")" = failed ] &&
		[ $((SECONDS - begin)) -lt "$((5 * SLOW))" ] && grep -qi reject "$T/client"
}

# cm_tool TOOL OPTION...: server and client are one program.
cm_tool() {
	local tool=$1 port=$CM_PORT
	shift

	[ "$tool" != udaddy ] || port=$RPING_PORT
	pair -t 60 -r "cm:$port" -- "$tool" -b "$IP_A" "$@" -- "$tool" -s "$IP_A" "$@"
}

# It connects without queue pairs, too, by numbers that it makes up: both ends the same
# ones if nothing is said, which on one device are stale connections.
cmtime() {
	pair -t 60 -r "cm:$CM_PORT" -- cmtime -b "$IP_A" "$@" \
		-- cmtime -s "$IP_A" -q 500000 "$@"
}

cm_tool_v6() {
	local tool=$1 port=$CM_PORT
	shift

	[ "$tool" != udaddy ] || port=$RPING_PORT
	pair -t 60 -r "cm:$port" -- "$tool" -b "$IP6_A" "$@" -- "$tool" -s "$IP6_A" "$@"
}

# stream TOOL OPTION...
stream() {
	local tool=$1
	shift

	pair -t 40 -r "cm:$CM_PORT" -- "$tool" "$@" -- "$tool" -s "$IP_A" "$@" &&
		client_says '^[0-9a-z_]+ +[0-9.]+[kmg]? '
}

# With poll(): a server that hangs up right after its last message is POLLHUP (16)
# to the client, which then does not read that message.  The transfers are over.
stream_async() {
	stream "$@" && return
	[ "$CLIENT_STATUS" = 16 ] && grep -qE '^custom +' "$T/server"
}

# server_client SERVER CLIENT [OPTION...]
server_client() {
	local listener=$1 caller=$2
	shift 2

	pair -r "cm:$CM_PORT" -- "$listener" "$@" -- "$caller" -s "$IP_A" "$@"
}

# A TCP program, unchanged, on rsockets.
preload() {
	local lib

	lib=$(find /usr/lib -name librspreload.so | head -n 1)
	[ -n "$lib" ] || skip "no librspreload.so"
	cat >"$T/echo.py" <<-'PY'
	import ctypes, socket, sys
	role, address = sys.argv[1:]
	data = bytes((i * 7) & 255 for i in range(300000))
	def receive(s, n):
	    got = b""
	    while len(got) < n:
	        part = s.recv(n - len(got))
	        assert part, "closed early"
	        got += part
	    return got
	# Not by Python's own ways, which ask for SOCK_CLOEXEC, of which rsockets knows
	# nothing: it then leaves the program with TCP.
	libc = ctypes.CDLL(None, use_errno=True)
	def opened(fd):
	    assert fd >= 0, ctypes.get_errno()
	    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
	s = opened(libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
	if role == "server":
	    s.bind((address, 7000))
	    s.listen(1)
	    print("listening", flush=True)
	    c = opened(libc.accept(s.fileno(), None, None))
	    c.sendall(receive(c, len(data)))
	    c.recv(1)
	else:
	    s.connect((address, 7000))
	    s.sendall(data)
	    assert receive(s, len(data)) == data
	    print("the same")
	s.close()
	PY
	over_rove pair -r log:listening -- env "LD_PRELOAD=$lib" python3 "$T/echo.py" server "$IP_A" \
		-- env "LD_PRELOAD=$lib" python3 "$T/echo.py" client "$IP_A" && client_says "the same"
}

itself() {
	AT_B=("${AT_A[@]}")
	"$@"
}

# The example, as it is: it tells itself whether all bytes are right.
# example ADDRESS [OPTION...]: of both ends.
example() {
	local source=$SELFTESTS/../../tools/examples/rdma_echo.c address=$1
	shift

	[ -e "$source" ] || skip "no examples"
	[ -x "$T/rdma_echo" ] || gcc -O2 -o "$T/rdma_echo" "$source" -lrdmacm -libverbs || return
	pair -r "cm:$CM_PORT" -- "$T/rdma_echo" -a "${LISTEN:-0.0.0.0}" "$@" -- "$T/rdma_echo" "$@" "$address"
}

example_v6() { LISTEN=:: example "$IP6_A"; }

# Sizes that differ are told, and nobody waits for ever.
example_differs() {
	example "$IP_A" && start_server "cm:$CM_PORT" "$LIMIT" "$T/rdma_echo" -s 4096 || return
	run_client "$LIMIT" "$T/rdma_echo" -s 8192 "$IP_A"
	wait "$SERVER"
	local status=$?
	cat "$T/client" "$T/server"
	[ "$CLIENT_STATUS" = 1 ] && [ "$status" = 1 ]
}

t "rping" rping_at 0.0.0.0 "$IP_A" -C 100
t "rping -V" rping_at 0.0.0.0 "$IP_A" -V -C 100
t "rping -V -S 65535" rping_at 0.0.0.0 "$IP_A" -V -S 65535 -C "$MANY"
t "rping, IPv6" need_ipv6 rping_at ::0 "$IP6_A" -V -C 10
t "rping, link-local IPv6" need_ipv6 rping_link_local
t "rping, server bound to the address" rping_at "$IP_A" "$IP_A" -V -C 10
t "rping -q, program's own queue pair" rping_at 0.0.0.0 "$IP_A" -q -V -C 10
t "rping to the own address" itself rping_at 0.0.0.0 "$IP_A" -V -C 100
t "rping to the own address, IPv6" need_ipv6 itself rping_at ::0 "$IP6_A" -V -C 10
t "rping -P, $MANY clients in turn" rping_persistent
t "rping -P, 8 clients at once" rping_crowd
t "rping to a port where nobody listens" refused
t "ucmatose -c $MANY" cm_tool ucmatose -c "$MANY"
t "ucmatose, IPv6" need_ipv6 cm_tool_v6 ucmatose -f ipv6 -c 10
t "ucmatose -C 100 -S 5000" cm_tool ucmatose -c 2 -C 100 -S 5000
t "ucmatose to the own address" itself cm_tool ucmatose -c 10
t "udaddy" cm_tool udaddy
t "udaddy -c 100" cm_tool udaddy -c "$MANY"
t "udaddy, IPv6" need_ipv6 cm_tool_v6 udaddy -f ipv6 -c 10
# As often as without -C it takes minutes.
t "rstream" stream rstream -S 4000 -C 200
t "rstream -T a" stream_async rstream -T a -S 4000 -C 200
for option in b n r v; do
	t "rstream -T $option" stream rstream -T "$option" -S 4000 -C 200
done
t "rstream -T v -S all" stream rstream -T v -S all -C 100
t "rstream -T v -S 65537" stream rstream -T v -S 65537 -C 50
t "riostream" stream riostream -S 4000 -C 200
t "riostream -T a" stream_async riostream -T a -S 4000 -C 200
for option in b n v; do
	t "riostream -T $option" stream riostream -T "$option" -S 4000 -C 200
done
t "a TCP program over rsockets" preload
t "cmtime" cmtime -c "$MANY"
t "rdma_server, rdma_client" server_client rdma_server rdma_client
t "rdma_xserver, rdma_xclient with RC" server_client rdma_xserver rdma_xclient -c r
t "rdma_echo, the example" example "$IP_A"
t "rdma_echo of 1 MiB" example "$IP_A" -s 1048576
t "rdma_echo, IPv6" need_ipv6 example_v6
t "rdma_echo, two sizes" example_differs
t "nothing is left" leaves_nothing
run_tests
