//! The engine as WebAssembly, for a page that has no server: a request in JSON goes in, an answer comes out.
//!
//! The module exports four functions. The page writes a request into the bytes that `request_bytes` gives, calls
//! `answer_request`, and reads `answer_length` bytes from `answer_bytes`; [`answer`] describes both texts. One
//! request is answered at a time.

mod answer;
mod edit;
mod exchange;
mod request;

pub use answer::Answer;
pub use edit::Edit;
pub use request::{Request, Session};
