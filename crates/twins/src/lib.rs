//! The kernel's twins of the controllers: the objects, and their execution without a kernel.
//!
//! Each `bpf/<name>.bpf.c` is a congestion controller for a running Linux (a `struct_ops` program).
//! `build.rs` compiles it, and this library carries the object. [`Twin`] runs the very bytecode of
//! an object on a socket that exists in memory alone, so that a test can hold it to the Rust
//! controller of its name.

mod btf;
mod elf;
mod error;
mod machine;
mod note;
mod twin;

pub use error::Error;
pub use note::{Note, Parameter};
pub use twin::{Sample, Twin};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// A compiled twin that this build carries.
#[derive(Clone, Debug)]
pub struct Object {
    /// What it says of itself.
    pub note: Note,
    /// The ELF file, as the kernel's loader takes it.
    pub elf: &'static [u8],
}

/// All twins of this build; none where clang was [`MISSING`].
pub fn objects() -> Vec<Object> {
    let read = |elf: &&'static [u8]| Object { note: Note::of(elf).expect("our own objects have notes"), elf };
    OBJECTS.iter().map(read).collect()
}

/// The twin `name`.
pub fn object(name: &str) -> Option<Object> {
    objects().into_iter().find(|object| object.note.name == name)
}
