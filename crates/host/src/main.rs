//! `fairhaul-host`: spoken to by JSON lines.

fn main() {}
