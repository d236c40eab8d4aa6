// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// What files of wrappers begin with. Each wrapper passes numbers to one helper, so that the compiled function is the
// helper's arithmetic alone.

#pragma once

#include "fairhaul.bpf.h"

#define PROOF SEC("proof")

// The proof knows this function by what `log2_of` does, which is tested for all inputs by itself.
u32 logarithm(u64 x);
#define log2_of logarithm
