//! eBPF ports of the controllers: the objects, and their execution without a kernel.
//!
//! Each `bpf/<name>.bpf.c` is a congestion controller for a running Linux (a `struct_ops` program). `build.rs`
//! compiles it, and this library carries the object. [`Socket`] runs the bytecode of an object on a socket that
//! exists in memory only, so that a test can compare it with the Rust controller of the same name.

mod note;

pub use fairhaul_bpf::{Control, Delivery, Error, NAME_BYTES, Sample, Socket, TableEntry};
pub use note::{Note, PREFIX, PortParameter, has_section};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// A compiled eBPF port that this build carries.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its description.
    pub note: Note,
    /// The ELF file, as the kernel's loader reads it.
    pub elf: &'static [u8],
}

/// All eBPF ports of this build; none if clang was [`MISSING`].
pub fn objects() -> Vec<Object> {
    let read =
        |elf: &&'static [u8]| Object { note: Note::of(elf, None).expect("our own objects have notes"), elf };
    OBJECTS.iter().map(read).collect()
}

/// The eBPF port `name`.
pub fn object(name: &str) -> Option<Object> {
    objects().into_iter().find(|object| object.note.name == name)
}
