//! What a library does with the calls of an engine.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::any::Any;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use fairhaul_cc::{Fault, StackEnd, StackSetup, StackState, StackText};
use fairhaul_units::{Ecn, Time};

use crate::Settings;
use crate::raw::{
    End, FAILED, Interface, LOG, NEVER, OPENS, RETRANSMITS, RawDatagram, RawSetup, RawState, UNKNOWN, VERSION,
};

/// What an end does in its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opens the connection and sends.
    Sender,
    /// It receives.
    Receiver,
}

/// What an end is made with.
#[derive(Debug)]
pub struct Setup {
    /// What it does.
    pub role: Role,
    /// What both ends are made with.
    pub common: StackSetup,
    /// The settings of the scenario.
    pub settings: Settings,
}

/// An end of a transport stack that a library exports.
pub trait Exported: StackEnd + 'static {
    /// The name of the stack, with a zero behind it.
    const NAME: &'static CStr;
    /// Its release, with a zero behind it.
    const RELEASE: &'static CStr;
    /// What the network adds to a datagram: 28 bytes for UDP over IPv4, none if the stack gives IP packets.
    const HEADERS: u32 = 28;
    /// Whether a connection can have several streams; if not, a setting `streams` of more than one is refused.
    const HAS_STREAMS: bool = true;

    /// A new end.
    ///
    /// # Errors
    /// Why it cannot be made. A setting that it has not read is refused by the caller.
    fn new(setup: &mut Setup) -> Result<Self, String>
    where
        Self: Sized;
}

/// Exports a type that implements [`Exported`] as the stack of this library.
#[macro_export]
macro_rules! export_stack {
    ($end:ty) => {
        #[allow(unsafe_code, missing_docs, reason = "no other symbol of the library has this name")]
        #[unsafe(no_mangle)]
        pub static FAIRHAUL_STACK: $crate::raw::Interface = $crate::interface::<$end>();
    };
}

/// The functions of a stack, for [`export_stack!`](crate::export_stack).
pub const fn interface<S: Exported>() -> Interface {
    Interface {
        version: VERSION,
        headers: S::HEADERS,
        name: S::NAME.as_ptr(),
        release: S::RELEASE.as_ptr(),
        create: create::<S>,
        destroy: destroy::<S>,
        receive: receive::<S>,
        transmit: transmit::<S>,
        on_timer: on_timer::<S>,
        write: write::<S>,
        read: read::<S>,
        state: state::<S>,
        reason: reason::<S>,
        record: Some(record::<S>),
    }
}

/// An end, and why it cannot go on if it has panicked.
struct Held<S> {
    end: S,
    failure: Option<String>,
}

impl<S> Held<S> {
    /// Does what may panic, unless that has happened before.
    fn guarded<T>(&mut self, otherwise: T, act: impl FnOnce(&mut S) -> T) -> T {
        if self.failure.is_some() {
            return otherwise;
        }
        catch_unwind(AssertUnwindSafe(|| act(&mut self.end))).unwrap_or_else(|panic| {
            self.failure = Some(text_of(&*panic));
            otherwise
        })
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let fault = panic.downcast_ref::<Fault>().map(|fault| fault.what.clone());
    let text = panic.downcast_ref::<String>().cloned();
    let fixed = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    fault.or(text).or(fixed).unwrap_or_else(|| "the stack panicked".to_owned())
}

/// The end behind a handle.
///
/// # Safety
/// `create` of the same type made the handle, it was not given to `destroy`, and nothing else uses it.
unsafe fn held<'a, S>(end: End) -> &'a mut Held<S> {
    // SAFETY: the handle is a `Box<Held<S>>`, by the promise of the caller.
    unsafe { &mut *end.cast::<Held<S>>() }
}

/// Copies a text to a buffer, with its zero, as much of it as there is room for.
///
/// # Safety
/// `into` has room for that many bytes.
unsafe fn put_text(text: &str, into: *mut c_char, room: usize) {
    let Some(most) = room.checked_sub(1) else { return };
    let bytes = &text.as_bytes()[..text.len().min(most)];
    // SAFETY: by the promise of the caller.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr().cast(), into, bytes.len());
        *into.add(bytes.len()) = 0;
    }
}

unsafe extern "C" fn create<S: Exported>(setup: *const RawSetup, error: *mut c_char, room: usize) -> End {
    let made = catch_unwind(|| {
        // SAFETY: the engine passes a setup, and as many settings as it says, with valid texts.
        let raw = unsafe { &*setup };
        let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        let given = (0..raw.setting_count).map(|index| {
            // SAFETY: as above.
            let setting = unsafe { &*raw.settings.add(index) };
            (text(setting.name), text(setting.value))
        });
        let mut setup = Setup {
            role: if raw.role == 0 { Role::Sender } else { Role::Receiver },
            common: StackSetup {
                packet: raw.packet,
                seed: raw.seed,
                now: Time::from_ps(raw.now),
                records: raw.records != 0,
            },
            settings: Settings::new(given.collect()),
        };
        if let Some(count @ 2..) = setup.settings.number("streams", 1..=u32::MAX)?
            && !S::HAS_STREAMS
        {
            return Err(format!("streams = {count}; a connection of {} has one", S::NAME.to_string_lossy()));
        }
        let end = S::new(&mut setup)?;
        setup.settings.check()?;
        Ok(end)
    });
    match made.unwrap_or_else(|panic| Err(text_of(&*panic))) {
        Ok(end) => Box::into_raw(Box::new(Held { end, failure: None })).cast(),
        Err(text) => {
            // SAFETY: the engine says how much room there is.
            unsafe { put_text(&text, error, room) };
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn destroy<S: Exported>(end: End) {
    // SAFETY: the engine gives back what `create` made, once.
    drop(unsafe { Box::from_raw(end.cast::<Held<S>>()) });
}

unsafe extern "C" fn receive<S: Exported>(end: End, now: u64, bytes: *const u8, size: usize, ecn: u32) {
    // SAFETY: here and below, the engine passes its own end, and pointers to as many bytes as it says.
    let (held, bytes) = unsafe { (held::<S>(end), slice::from_raw_parts(bytes, size)) };
    held.guarded((), |end| end.receive(Time::from_ps(now), bytes, Ecn::of_bits(ecn as u8)));
}

unsafe extern "C" fn transmit<S: Exported>(
    end: End,
    now: u64,
    bytes: *mut u8,
    room: usize,
    datagram: *mut RawDatagram,
) -> c_int {
    // SAFETY: as above.
    let (held, into) = unsafe { (held::<S>(end), slice::from_raw_parts_mut(bytes, room)) };
    let Some(given) = held.guarded(None, |end| end.transmit(Time::from_ps(now), into)) else { return 0 };
    let flags = if given.retransmits { RETRANSMITS } else { 0 } | if given.opens { OPENS } else { 0 };
    let not_before = given.not_before.as_ps();
    // SAFETY: as above.
    unsafe { *datagram = RawDatagram { size: given.size, ecn: given.ecn.bits().into(), flags, not_before } };
    1
}

unsafe extern "C" fn on_timer<S: Exported>(end: End, now: u64) {
    // SAFETY: as above.
    unsafe { held::<S>(end) }.guarded((), |end| end.on_timer(Time::from_ps(now)));
}

unsafe extern "C" fn write<S: Exported>(
    end: End,
    now: u64,
    stream: u32,
    bytes: *const u8,
    size: usize,
    fin: c_int,
) -> usize {
    // SAFETY: as above.
    let (held, bytes) = unsafe { (held::<S>(end), slice::from_raw_parts(bytes, size)) };
    held.guarded(0, |end| end.write(Time::from_ps(now), stream, bytes, fin != 0))
}

unsafe extern "C" fn read<S: Exported>(
    end: End,
    now: u64,
    stream: u32,
    bytes: *mut u8,
    room: usize,
) -> usize {
    // SAFETY: as above.
    let (held, into) = unsafe { (held::<S>(end), slice::from_raw_parts_mut(bytes, room)) };
    held.guarded(0, |end| end.read(Time::from_ps(now), stream, into))
}

unsafe extern "C" fn state<S: Exported>(end: End, into: *mut RawState) {
    // SAFETY: as above.
    let held = unsafe { held::<S>(end) };
    let unknown = StackState { timer: Time::from_ps(NEVER), ..StackState::default() };
    let shown = held.guarded(unknown, StackEnd::state);
    let closed = if held.failure.is_some() { FAILED } else { shown.is_closed.into() };
    // SAFETY: as above.
    unsafe {
        *into = RawState {
            timer: shown.timer.as_ps(),
            closed,
            finished: shown.is_finished.map_or(-1, i32::from),
            cwnd: shown.cwnd.unwrap_or(f64::NAN),
            ssthresh: shown.ssthresh.unwrap_or(f64::NAN),
            reductions: shown.reductions.unwrap_or(UNKNOWN),
        };
    }
}

unsafe extern "C" fn reason<S: Exported>(end: End, text: *mut c_char, room: usize) {
    // SAFETY: as above.
    let held = unsafe { held::<S>(end) };
    let why = match &held.failure {
        Some(failure) => failure.clone(),
        None => held.guarded(String::new(), StackEnd::reason),
    };
    // SAFETY: the engine says how much room there is.
    unsafe { put_text(&why, text, room) };
}

unsafe extern "C" fn record<S: Exported>(end: End, kind: u32, bytes: *mut u8, room: usize) -> usize {
    // SAFETY: as above.
    let (held, into) = unsafe { (held::<S>(end), slice::from_raw_parts_mut(bytes, room)) };
    let kind = if kind == LOG { StackText::Log } else { StackText::Keys };
    held.guarded(0, |end| end.record(kind, into))
}
