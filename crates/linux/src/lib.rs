//! The emulated network of the engine `linux`, as a shared library in the program that is Linux.
//!
//! The program is User-Mode Linux: the kernel's own code as an ordinary process, whose clock stands still while it
//! computes. Its network device (`python/fairhaul/linux/kernel/fairhaul_device.c`) calls this library for every packet that
//! a host sends, and at every time at which something happens in the network. So the links, queues and impairments of the
//! simulator act on the kernel's packets at their exact times, without a system call.
//!
//! The library runs on the kernel's stack, with its interrupts off, on one processor.

#![cfg(target_os = "linux")]

mod card;
mod carrier;
mod interface;
mod outputs;
