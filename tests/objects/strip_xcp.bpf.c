// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A device that removes the options of XCP: a program of a network interface (XDP) overwrites them in packets that
// arrive with "no operation", and keeps the checksum of TCP right.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;

struct xdp_md {
	u32 data, data_end;
};

enum { PASS = 2, TCP = 6, KIND = 253, NOTHING = 1, OPTIONS = 40, HEADER = 20, CHECKSUM = 16 };

static u16 folded(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

__attribute__((section("xdp"), used)) int strip(struct xdp_md *packet)
{
	u8 *ip = (u8 *)(long)packet->data, *end = (u8 *)(long)packet->data_end;
	u8 *tcp = ip + HEADER, *option = tcp + HEADER;
	u16 *checksum = (u16 *)(tcp + CHECKSUM);
	u32 length = 0, sum = 0;

	// Hosts send no options of IP.
	if (option > end || ip[0] != 0x45 || ip[9] != TCP)
		return PASS;
	sum = (u16)~*checksum;
	for (u32 at = 0; at + 2 <= OPTIONS; at += 2) {
		u16 *word = (u16 *)(option + at);
		u8 *bytes = (u8 *)word;

		if ((u8 *)(word + 1) > end || HEADER + at >= (u32)(tcp[12] >> 4) * 4)
			break;
		if (!length && option + at + 4 <= end && bytes[0] == KIND && bytes[2] == 0x58 && bytes[1] <= OPTIONS)
			length = bytes[1];
		if (!length)
			continue;
		sum += (u16)~*word;
		*word = NOTHING << 8 | NOTHING;
		sum += *word;
		length = length > 2 ? length - 2 : 0;
	}
	*checksum = ~folded(sum);
	return PASS;
}

__attribute__((section("license"), used)) char license_of_it[] = "Dual MIT/GPL";
