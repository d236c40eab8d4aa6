//! The tests of the eBPF ports, as one program; each file compares one property with the Rust controllers.

mod bbr3;
mod common;
mod damage;
mod prague;
mod random;
mod ranges;
mod same;
mod socket;
mod tables;
mod xcp;
