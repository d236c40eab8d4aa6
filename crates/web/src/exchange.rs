//! What the module exports, in the layout of C.
#![allow(
    unsafe_code,
    reason = "the names of exports are attributes that Rust calls unsafe; nothing else here is"
)]

use std::cell::RefCell;
use std::sync::Once;

use crate::{Answer, Session};

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Session> = RefCell::new(Session::default());
}

/// Room for a request of `length` bytes.
// No other symbol of the module has this name, and so below.
#[unsafe(no_mangle)]
pub extern "C" fn request_bytes(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        *request = vec![0; length];
        request.as_mut_ptr()
    })
}

/// Answers the request.
#[unsafe(no_mangle)]
pub extern "C" fn answer_request() {
    static HOOK: Once = Once::new();
    HOOK.call_once(keep_the_text_of_a_panic);
    let request = REQUEST.take();
    let answer = SESSION.with_borrow_mut(|session| session.answer(&request));
    ANSWER.set(answer.into_bytes());
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer_bytes() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn answer_length() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// A panic ends the module, because WebAssembly cannot unwind; its text is the answer.
fn keep_the_text_of_a_panic() {
    std::panic::set_hook(Box::new(|panic| {
        ANSWER.set(Answer::failure(&panic.to_string()).into_bytes());
    }));
}
