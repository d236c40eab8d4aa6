// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A program that gives every connection from a cgroup the controller Scalable TCP when it is opened (sock_ops).

typedef unsigned int u32;

struct bpf_sock_ops {
	u32 op;
};

enum { CONNECT = 3, TCP = 6, CONGESTION = 13 };

static long (*bpf_setsockopt)(void *socket, int level, int option, void *value, int length) = (void *)49;

__attribute__((section("sockops"), used)) int choose(struct bpf_sock_ops *socket)
{
	char name[] = "scalable";

	if (socket->op == CONNECT)
		bpf_setsockopt(socket, TCP, CONGESTION, name, sizeof(name));
	return 1;
}

__attribute__((section("license"), used)) char license_of_it[] = "Dual MIT/GPL";
