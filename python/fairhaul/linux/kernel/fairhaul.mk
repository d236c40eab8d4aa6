# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Fairhaul's files in the program: all that were copied to this folder. Files whose names end with _user are compiled as
# code of the host, which may call the C library.
fairhaul-names := $(basename $(notdir $(wildcard $(srctree)/arch/um/drivers/fairhaul_*.c)))
obj-y += $(addsuffix .o,$(filter-out fairhaul_facts fairhaul_trampoline fairhaul_calls,$(fairhaul-names)))
obj-$(CONFIG_BPF_JIT) += fairhaul_trampoline.o fairhaul_calls.o
