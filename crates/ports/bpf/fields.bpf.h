// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Integer types, and access to fields of the kernel's structures at their offsets in the running kernel.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

// A bit field: only the loader knows its byte and its bits. The byte counts from `pointer`, so this is the start
// of the outermost structure: BITS(tp, inner.field).
#define BITS(pointer, field)                                                                      \
	({                                                                                        \
		const u8 *at = (const u8 *)(pointer) +                                            \
			       __builtin_preserve_field_info((pointer)->field, 0);                \
		u64 value = 0;                                                                    \
		asm("" : "+r"(at));                                                               \
		switch (__builtin_preserve_field_info((pointer)->field, 1)) {                     \
		case 1:                                                                           \
			value = *at;                                                              \
			break;                                                                    \
		case 2:                                                                           \
			value = *(const u16 *)at;                                                 \
			break;                                                                    \
		case 4:                                                                           \
			value = *(const u32 *)at;                                                 \
			break;                                                                    \
		case 8:                                                                           \
			value = *(const u64 *)at;                                                 \
			break;                                                                    \
		}                                                                                 \
		value <<= __builtin_preserve_field_info((pointer)->field, 4);                     \
		value >>= __builtin_preserve_field_info((pointer)->field, 5);                     \
		value;                                                                            \
	})

// The last of the words that a controller has in each socket contains this mark and, in its lowest byte, the mode of
// the controller, if the controller has modes: so the probe of the lab distinguishes it from what other controllers
// keep there.
enum { MODE_WORD = 12 };
#define MODE_MARK 0x6661697268617500ULL

// Whether the running kernel has the field.
#define HAS(pointer, field) __builtin_preserve_field_info((pointer)->field, 2)
