//! Damaged objects cause an error and nothing else, whatever is read from them.

use crate::common::ports;
use fairhaul_ports::{Note, Socket};

/// Reads the object and runs its programs.
fn exercise(elf: &[u8]) {
    let _ = Note::of(elf, None);
    let Ok(mut port) = Socket::new(elf) else { return };
    let names: Vec<String> = port.variables().map(str::to_owned).collect();
    for name in names {
        let value = port.variable(&name).expect("a parameter that the object names");
        port.set_variable(&name, value).expect("its own value");
    }
    let _ = (port.cong_avoid(1), port.ssthresh(), port.release());
}

#[test]
fn a_variable_outside_of_its_section_is_an_error() {
    for object in ports().into_iter().filter(|object| !object.note.parameters.is_empty()) {
        let name = &object.note.parameters[0].name;
        // The entry of the symbol: name (4), kind, visibility and section (4), address (8), size 4 (8).
        let size = 4u64.to_le_bytes();
        let entries: Vec<usize> = (0..object.elf.len() - 24)
            .filter(|&at| object.elf[at + 16..at + 24] == size && at % 8 == 0)
            .collect();
        let mut refused = 0;
        for address in [u64::MAX, u64::MAX - 3, u64::from(u32::MAX), 1 << 20] {
            for &entry in &entries {
                let mut elf = object.elf.to_vec();
                elf[entry + 8..entry + 16].copy_from_slice(&address.to_le_bytes());
                exercise(&elf);
                refused += usize::from(Note::of(&elf, None).is_err());
            }
        }
        assert!(refused >= 4, "{name} of {} is found wherever it is said to be", object.note.name);
    }
}

#[test]
fn objects_cut_off_or_with_a_byte_changed_do_not_panic() {
    for object in ports() {
        for cut in (0..object.elf.len()).step_by(97) {
            exercise(&object.elf[..cut]);
        }
        for at in (0..object.elf.len()).step_by(31) {
            let mut elf = object.elf.to_vec();
            elf[at] ^= 0xff;
            exercise(&elf);
        }
    }
}
