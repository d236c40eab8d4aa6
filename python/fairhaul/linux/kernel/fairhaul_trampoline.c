// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Controllers as eBPF objects (struct_ops) without a compiler of eBPF. The kernel calls an operation of such a controller
// through a trampoline, which an architecture writes as machine code. The trampoline here, for x86-64, stores the
// arguments in an array and calls a function of C, which runs the program in the kernel's interpreter.
// It serves what kernel/bpf/bpf_struct_ops.c requests, with integers and pointers as arguments, and refuses all else.
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/filter.h>
#include <linux/version.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include "fairhaul.h"

u64 fairhaul_recorded_call(struct bpf_prog *prog, u64 *arguments);

enum { ARGUMENTS = 6, SIZE = 96 };

// The programs that a trampoline calls, one list for each time at which they are called.
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
typedef struct bpf_tramp_nodes programs;

static int count(const programs *list)
{
	return list->nr_nodes;
}

static struct bpf_prog *first_of(const programs *list)
{
	return list->nodes[0]->link->prog;
}
#else
typedef struct bpf_tramp_links programs;

static int count(const programs *list)
{
	return list->nr_links;
}

static struct bpf_prog *first_of(const programs *list)
{
	return list->links[0]->link.prog;
}
#endif

// The registers of arguments in their order: their extension from 1, 2 and 4 bytes, because the caller leaves the upper
// bits undefined, and their storage in the array at rbp - 48.
struct instruction {
	u8 length;
	u8 code[4];
};

static const struct instruction from_1[ARGUMENTS] = {
	{ 4, { 0x40, 0x0f, 0xb6, 0xff } },	// movzx edi, dil
	{ 4, { 0x40, 0x0f, 0xb6, 0xf6 } },	// movzx esi, sil
	{ 3, { 0x0f, 0xb6, 0xd2 } },		// movzx edx, dl
	{ 3, { 0x0f, 0xb6, 0xc9 } },		// movzx ecx, cl
	{ 4, { 0x45, 0x0f, 0xb6, 0xc0 } },	// movzx r8d, r8b
	{ 4, { 0x45, 0x0f, 0xb6, 0xc9 } },	// movzx r9d, r9b
};

static const struct instruction from_2[ARGUMENTS] = {
	{ 3, { 0x0f, 0xb7, 0xff } },		// movzx edi, di
	{ 3, { 0x0f, 0xb7, 0xf6 } },		// movzx esi, si
	{ 3, { 0x0f, 0xb7, 0xd2 } },		// movzx edx, dx
	{ 3, { 0x0f, 0xb7, 0xc9 } },		// movzx ecx, cx
	{ 4, { 0x45, 0x0f, 0xb7, 0xc0 } },	// movzx r8d, r8w
	{ 4, { 0x45, 0x0f, 0xb7, 0xc9 } },	// movzx r9d, r9w
};

static const struct instruction from_4[ARGUMENTS] = {
	{ 2, { 0x89, 0xff } },			// mov edi, edi
	{ 2, { 0x89, 0xf6 } },			// mov esi, esi
	{ 2, { 0x89, 0xd2 } },			// mov edx, edx
	{ 2, { 0x89, 0xc9 } },			// mov ecx, ecx
	{ 3, { 0x45, 0x89, 0xc0 } },		// mov r8d, r8d
	{ 3, { 0x45, 0x89, 0xc9 } },		// mov r9d, r9d
};

static const struct instruction store[ARGUMENTS] = {
	{ 4, { 0x48, 0x89, 0x7d, 0xd0 } },	// mov [rbp-48], rdi
	{ 4, { 0x48, 0x89, 0x75, 0xd8 } },	// mov [rbp-40], rsi
	{ 4, { 0x48, 0x89, 0x55, 0xe0 } },	// mov [rbp-32], rdx
	{ 4, { 0x48, 0x89, 0x4d, 0xe8 } },	// mov [rbp-24], rcx
	{ 4, { 0x4c, 0x89, 0x45, 0xf0 } },	// mov [rbp-16], r8
	{ 4, { 0x4c, 0x89, 0x4d, 0xf8 } },	// mov [rbp-8], r9
};

static const u8 enter[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x30 };	// push rbp; mov rbp, rsp; sub rsp, 48
static const u8 array[] = { 0x48, 0x8d, 0x75, 0xd0 };				// lea rsi, [rbp-48]
static const u8 first[] = { 0x48, 0xbf };					// mov rdi, (8 bytes)
static const u8 target[] = { 0x48, 0xb8 };					// mov rax, (8 bytes)
static const u8 leave[] = { 0xff, 0xd0, 0xc9, 0xc3 };				// call rax; leave; ret

bool bpf_jit_supports_kfunc_call(void)
{
	return true;
}

static u64 run(struct bpf_prog *prog, u64 *arguments)
{
	struct bpf_tramp_run_ctx context = {};
	u64 start, result = 0;

	start = bpf_trampoline_enter(prog)(prog, &context);
	if (start)
		result = fairhaul_records_calls() ? fairhaul_recorded_call(prog, arguments) :
						    prog->bpf_func(arguments, prog->insnsi);
	bpf_trampoline_exit(prog)(prog, start, &context);
	return result;
}

static u8 *put(u8 *to, const void *bytes, size_t length)
{
	memcpy(to, bytes, length);
	return to + length;
}

static u8 *put_instruction(u8 *to, const struct instruction *instruction)
{
	return put(to, instruction->code, instruction->length);
}

static bool served(const struct btf_func_model *model, u32 flags, programs *lists)
{
	int i;

#ifdef BPF_TRAMP_F_INDIRECT
	if (!(flags & BPF_TRAMP_F_INDIRECT))
		return false;
#endif
	if (flags & (BPF_TRAMP_F_RESTORE_REGS | BPF_TRAMP_F_CALL_ORIG) || count(&lists[BPF_TRAMP_FENTRY]) != 1 ||
	    count(&lists[BPF_TRAMP_FEXIT]) || count(&lists[BPF_TRAMP_MODIFY_RETURN]) || model->nr_args > ARGUMENTS)
		return false;
	for (i = 0; i < model->nr_args; i++)
		if (model->arg_size[i] > sizeof(u64) || model->arg_flags[i] & BTF_FMODEL_STRUCT_ARG)
			return false;
	return true;
}

int arch_bpf_trampoline_size(const struct btf_func_model *model, u32 flags, programs *lists, void *func);

int arch_bpf_trampoline_size(const struct btf_func_model *model, u32 flags, programs *lists, void *func)
{
	return SIZE;
}

int arch_prepare_bpf_trampoline(struct bpf_tramp_image *trampoline, void *image, void *image_end,
				const struct btf_func_model *model, u32 flags, programs *lists, void *func)
{
	u64 function = (u64)run, program;
	u8 *to = image;
	int i;

	if (!served(model, flags, lists))
		return -ENOTSUPP;
	if (image_end - image < SIZE)
		return -E2BIG;
	program = (u64)first_of(&lists[BPF_TRAMP_FENTRY]);
	to = put(to, enter, sizeof(enter));
	for (i = 0; i < model->nr_args; i++) {
		if (model->arg_size[i] == 1)
			to = put_instruction(to, &from_1[i]);
		else if (model->arg_size[i] == 2)
			to = put_instruction(to, &from_2[i]);
		else if (model->arg_size[i] == 4)
			to = put_instruction(to, &from_4[i]);
		to = put_instruction(to, &store[i]);
	}
	to = put(to, array, sizeof(array));
	to = put(put(to, first, sizeof(first)), &program, sizeof(program));
	to = put(put(to, target, sizeof(target)), &function, sizeof(function));
	to = put(to, leave, sizeof(leave));
	memset(to, 0x90, SIZE - (to - (u8 *)image));	// nop
	return SIZE;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
// The memory for trampolines belongs to modules there, which the program has none of.
void *bpf_jit_alloc_exec(unsigned long size)
{
	return __vmalloc_node_range(size, PAGE_SIZE, VMALLOC_START, VMALLOC_END, GFP_KERNEL, PAGE_KERNEL_EXEC,
				    VM_FLUSH_RESET_PERMS, NUMA_NO_NODE, __builtin_return_address(0));
}

void bpf_jit_free_exec(void *memory)
{
	vfree(memory);
}
#endif
