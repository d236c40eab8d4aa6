// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What decides how TCP computes in this program. It is compiled to text only, from which the build reads the values.
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#define FACT(name, value) asm volatile("\n.ascii \"fact " #name " %c0\"" : : "i" ((long)(value)))

enum { MSS = 1460 };

void facts(void);

void facts(void)
{
	FACT(hz, HZ);
	FACT(max_tcp_header, MAX_TCP_HEADER);
	FACT(max_skb_frags, MAX_SKB_FRAGS);
	// The memory that net/ipv4/tcp_input.c, tcp_sndbuf_expand() counts for a packet of the window.
	FACT(send_buffer_per_packet,
	     roundup_pow_of_two(MSS + MAX_TCP_HEADER + SKB_DATA_ALIGN(sizeof(struct skb_shared_info))) +
	     SKB_DATA_ALIGN(sizeof(struct sk_buff)));
}
