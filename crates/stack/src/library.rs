//! A stack in a shared library, and its ends as the engine drives them.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::sync::Arc;

use fairhaul_cc::{Fault, StackEnd, StackSetup, StackState, StackText, Transmit};
use fairhaul_controller::{ExportedStruct, SharedLibrary};
use fairhaul_units::{Ecn, Time};

use crate::raw::{
    End, FAILED, Interface, KEYS, LOG, OPENS, RETRANSMITS, RawDatagram, RawSetting, RawSetup, RawState,
    SYMBOL, UNKNOWN, VERSION,
};

/// Room for a text of a library.
const MOST_TEXT: usize = 1024;

// SAFETY: the version is the first field of the struct in `fairhaul_stack.h`, and counts the layouts that it has had.
unsafe impl ExportedStruct for Interface {
    const SYMBOL: &[u8] = SYMBOL;
    const VERSION: u32 = VERSION;
    const ABSENT: &str = "it exports no FAIRHAUL_STACK (fairhaul_stack.h)";

    fn of_version(version: u32) -> String {
        format!(
            "it was compiled for version {version} of fairhaul_stack.h, and this is {VERSION}: take the header anew \
             (fairhaul new-stack writes it), and compile it again"
        )
    }
}

/// A stack in a shared library, or in this program.
pub struct StackLibrary {
    interface: Interface,
    /// Its name, its release, and a number that differs where the file differs.
    pub identity: String,
    _library: Option<SharedLibrary<Interface>>,
}

impl StackLibrary {
    /// Loads a file.
    ///
    /// # Errors
    /// Why it is no stack.
    pub fn open(file: &Path) -> Result<StackLibrary, String> {
        let library = SharedLibrary::<Interface>::open(file)?;
        let from = format!("library {:016x}", library.digest);
        Ok(StackLibrary::with(library.exported, &from, Some(library)))
    }

    /// A stack that is a part of this program.
    pub fn linked(interface: Interface) -> StackLibrary {
        StackLibrary::with(interface, "linked", None)
    }

    fn with(interface: Interface, from: &str, library: Option<SharedLibrary<Interface>>) -> StackLibrary {
        // SAFETY: both are texts, by the header.
        let [name, release] = [interface.name, interface.release].map(|text| unsafe { text_at(text) });
        StackLibrary { interface, identity: format!("{name} {release}, {from}"), _library: library }
    }

    /// What the network adds to its datagrams.
    pub fn headers(&self) -> u32 {
        self.interface.headers
    }

    /// A new end: `role` 0 sends, 1 receives.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn create(
        self: &Arc<Self>,
        role: u32,
        setup: &StackSetup,
        settings: &[(CString, CString)],
    ) -> Result<LibraryEnd, String> {
        let raw =
            settings.iter().map(|(name, value)| RawSetting { name: name.as_ptr(), value: value.as_ptr() });
        let raw: Vec<RawSetting> = raw.collect();
        let &StackSetup { packet, seed, now, records } = setup;
        let (now, settings, setting_count) = (now.as_ps(), raw.as_ptr(), raw.len());
        let records = records.into();
        let setup = RawSetup { role, packet, seed, now, settings, setting_count, records };
        let mut error = [0; MOST_TEXT];
        // SAFETY: the setup and its texts live during the call, and the buffer has the room that is said.
        let end = unsafe { (self.interface.create)(&raw const setup, error.as_mut_ptr(), MOST_TEXT) };
        if end.is_null() {
            let why = buffered(&mut error);
            return Err(if why.is_empty() { "create gives no end, and no reason".to_owned() } else { why });
        }
        Ok(LibraryEnd { library: Arc::clone(self), end })
    }
}

/// The text at a pointer; a null pointer is an empty one.
///
/// # Safety
/// It is null, or points to a text with a zero behind it.
unsafe fn text_at(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the promise of the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The text that a library has written to a buffer.
fn buffered(buffer: &mut [c_char; MOST_TEXT]) -> String {
    buffer[MOST_TEXT - 1] = 0;
    // SAFETY: there is a zero at its end.
    unsafe { text_at(buffer.as_ptr()) }
}

/// An end of a connection.
pub struct LibraryEnd {
    library: Arc<StackLibrary>,
    end: End,
}

// SAFETY: one thread at a time calls the functions of an end, as the header says.
unsafe impl Send for LibraryEnd {}

impl LibraryEnd {
    fn interface(&self) -> &Interface {
        &self.library.interface
    }

    /// Ends the run because the library has broken the interface.
    fn fault(&self, now: Option<Time>, what: &str) -> ! {
        Fault { at: now, what: format!("{}: {what}", self.library.identity) }.raise()
    }
}

impl Drop for LibraryEnd {
    fn drop(&mut self) {
        // SAFETY: nothing uses the end any more.
        unsafe { (self.interface().destroy)(self.end) }
    }
}

impl StackEnd for LibraryEnd {
    fn receive(&mut self, now: Time, bytes: &[u8], ecn: Ecn) {
        // SAFETY: here and below, the library gets its own end, and pointers to as many bytes as is said.
        unsafe {
            (self.interface().receive)(self.end, now.as_ps(), bytes.as_ptr(), bytes.len(), ecn.bits().into());
        }
    }

    fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit> {
        let mut datagram = RawDatagram::default();
        let (bytes, room) = (into.as_mut_ptr(), into.len());
        // SAFETY: as above.
        let given =
            unsafe { (self.interface().transmit)(self.end, now.as_ps(), bytes, room, &raw mut datagram) };
        let RawDatagram { size, ecn, flags, not_before } = datagram;
        if given == 0 {
            return None;
        }
        if size > room {
            self.fault(Some(now), &format!("transmit gives {size} bytes, and its buffer holds {room}"));
        }
        Some(Transmit {
            size,
            ecn: Ecn::of_bits(ecn as u8),
            not_before: Time::from_ps(not_before),
            retransmits: flags & RETRANSMITS != 0,
            opens: flags & OPENS != 0,
        })
    }

    fn on_timer(&mut self, now: Time) {
        // SAFETY: as above.
        unsafe { (self.interface().on_timer)(self.end, now.as_ps()) }
    }

    fn write(&mut self, now: Time, stream: u32, bytes: &[u8], fin: bool) -> usize {
        // SAFETY: as above.
        let taken = unsafe {
            let (data, size) = (bytes.as_ptr(), bytes.len());
            (self.interface().write)(self.end, now.as_ps(), stream, data, size, fin.into())
        };
        if taken > bytes.len() {
            let given = bytes.len();
            self.fault(Some(now), &format!("write takes {taken} bytes, and is given {given}"));
        }
        taken
    }

    fn read(&mut self, now: Time, stream: u32, into: &mut [u8]) -> usize {
        let room = into.len();
        // SAFETY: as above.
        let read = unsafe { (self.interface().read)(self.end, now.as_ps(), stream, into.as_mut_ptr(), room) };
        if read > room {
            self.fault(Some(now), &format!("read gives {read} bytes, and its buffer holds {room}"));
        }
        read
    }

    fn state(&mut self) -> StackState {
        let mut raw = RawState {
            timer: u64::MAX,
            closed: 0,
            finished: -1,
            cwnd: f64::NAN,
            ssthresh: f64::NAN,
            reductions: UNKNOWN,
        };
        // SAFETY: as above.
        unsafe { (self.interface().state)(self.end, &raw mut raw) };
        if raw.closed == FAILED {
            let why = self.reason();
            self.fault(None, &why);
        }
        StackState {
            timer: Time::from_ps(raw.timer),
            is_closed: raw.closed != 0,
            is_finished: (raw.finished >= 0).then_some(raw.finished != 0),
            cwnd: Some(raw.cwnd).filter(|cwnd| cwnd.is_finite()),
            ssthresh: Some(raw.ssthresh).filter(|ssthresh| !ssthresh.is_nan()),
            reductions: Some(raw.reductions).filter(|count| *count != UNKNOWN),
        }
    }

    fn reason(&mut self) -> String {
        let mut text = [0; MOST_TEXT];
        // SAFETY: as above.
        unsafe { (self.interface().reason)(self.end, text.as_mut_ptr(), MOST_TEXT) };
        buffered(&mut text)
    }

    fn record(&mut self, kind: StackText, into: &mut [u8]) -> usize {
        let Some(record) = self.interface().record else { return 0 };
        let kind = if kind == StackText::Log { LOG } else { KEYS };
        // SAFETY: as above.
        let given = unsafe { record(self.end, kind, into.as_mut_ptr(), into.len()) };
        if given > into.len() {
            let room = into.len();
            self.fault(None, &format!("record gives {given} bytes, and its buffer holds {room}"));
        }
        given
    }
}
