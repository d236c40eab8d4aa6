//! The lab: real sockets, and an emulated path between them.
