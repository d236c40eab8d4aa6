//! The functions that the kernel calls; `fairhaul.h` in `python/fairhaul/linux/kernel` is the other side.

#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::cell::UnsafeCell;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use super::carrier::Carrier;
use super::outputs::shared_clock;

/// Counted up with every change of [`Interface`].
const VERSION: u32 = 3;
/// A time that never comes.
const NEVER: u64 = u64::MAX;

/// A packet that is due at a host, or at a queue of the kernel.
#[repr(C)]
struct DuePacket {
    bytes: *const u8,
    length: u32,
    host: u32,
    mark: u32,
}

/// `struct fairhaul_path`.
#[repr(C)]
struct Interface {
    version: u32,
    start: extern "C" fn(u64),
    send: unsafe extern "C" fn(u32, *const u8, u32, u32, u32, u64) -> u64,
    dropped: extern "C" fn(u32, u64),
    advance: extern "C" fn(u64) -> u64,
    receive: unsafe extern "C" fn(*mut DuePacket) -> i32,
    read: unsafe extern "C" fn(u32, *mut *const u8) -> usize,
    write: unsafe extern "C" fn(u32, *const u8, usize) -> i32,
    input: unsafe extern "C" fn(*mut u8, usize) -> isize,
    quiet: extern "C" fn() -> i32,
    clock: *mut u64,
}

// SAFETY: the clock is written by the program alone, and is never read here.
unsafe impl Sync for Interface {}
// SAFETY: as above.
unsafe impl Send for Interface {}

/// The carrier of this process.
struct OfProcess(UnsafeCell<Carrier>);

// SAFETY: the program has one processor, and calls with its interrupts off, so that no two calls overlap.
unsafe impl Sync for OfProcess {}
// SAFETY: as above.
unsafe impl Send for OfProcess {}

static CARRIER: OnceLock<OfProcess> = OnceLock::new();
static INTERFACE: OnceLock<Interface> = OnceLock::new();

/// Calls `act` with the carrier.
fn with<T>(act: impl FnOnce(&mut Carrier) -> T) -> T {
    let carrier = CARRIER.get().expect("the program has called fairhaul_network first");
    // SAFETY: calls do not overlap, and none of them calls back.
    act(unsafe { &mut *carrier.0.get() })
}

/// The network of this process, for the request in its environment; null if there is none, with the reason on standard
/// error.
#[unsafe(no_mangle)]
extern "C" fn fairhaul_network() -> *const () {
    match Carrier::of_environment() {
        Ok(carrier) => {
            CARRIER.get_or_init(|| OfProcess(UnsafeCell::new(carrier)));
            ptr::from_ref(INTERFACE.get_or_init(interface)).cast()
        }
        Err(error) => {
            eprintln!("fairhaul: {error}");
            ptr::null()
        }
    }
}

fn interface() -> Interface {
    Interface {
        version: VERSION,
        start,
        send,
        dropped,
        advance,
        receive,
        read,
        write,
        input,
        quiet,
        clock: shared_clock(),
    }
}

extern "C" fn start(origin_ns: u64) {
    with(|carrier| carrier.start(origin_ns));
}

unsafe extern "C" fn send(
    host: u32,
    bytes: *const u8,
    length: u32,
    segment: u32,
    mark: u32,
    now_ns: u64,
) -> u64 {
    // SAFETY: the device passes a packet of this length, which is valid during the call.
    let packet = unsafe { slice::from_raw_parts(bytes, length as usize) };
    with(|carrier| carrier.send(host as u8, packet, segment as usize, mark, now_ns))
}

extern "C" fn dropped(mark: u32, now_ns: u64) {
    with(|carrier| carrier.dropped(mark, now_ns));
}

extern "C" fn advance(now_ns: u64) -> u64 {
    with(|carrier| carrier.advance(now_ns).unwrap_or(NEVER))
}

unsafe extern "C" fn receive(packet: *mut DuePacket) -> i32 {
    with(|carrier| {
        let Some((host, mark, length, bytes)) = carrier.receive() else { return 0 };
        let due = DuePacket { bytes: bytes.as_ptr(), length, host: host.into(), mark };
        // SAFETY: the device passes a place for a packet.
        unsafe { packet.write(due) };
        1
    })
}

unsafe extern "C" fn read(text: u32, bytes: *mut *const u8) -> usize {
    with(|carrier| {
        let text = carrier.read(text);
        // SAFETY: the device passes a place for a pointer.
        unsafe { bytes.write(text.as_ptr()) };
        text.len()
    })
}

unsafe extern "C" fn write(text: u32, bytes: *const u8, length: usize) -> i32 {
    // SAFETY: the device passes a piece of this length, which is valid during the call.
    let piece = unsafe { slice::from_raw_parts(bytes, length) };
    with(|carrier| {
        carrier.write(text, piece).err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO))
    })
}

unsafe extern "C" fn input(bytes: *mut u8, size: usize) -> isize {
    // SAFETY: the device passes room for this number of bytes, which is valid during the call.
    let room = unsafe { slice::from_raw_parts_mut(bytes, size) };
    with(|carrier| match carrier.input(room) {
        Ok(length) => length as isize,
        Err(error) => -(error.raw_os_error().unwrap_or(libc::EIO) as isize),
    })
}

extern "C" fn quiet() -> i32 {
    with(|carrier| carrier.is_quiet().into())
}
