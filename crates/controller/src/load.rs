//! Controllers from shared libraries, for an engine.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::{CStr, CString};
use std::fmt;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

use fairhaul_cc::{
    AckEvent, Congestion, Controller, Fault, Needs, Own, OwnKind, OwnMaker, OwnValue, OwnValues, Pacing,
    Window,
};
use fairhaul_units::Time;

use crate::raw::{
    Failure, Handle, Interface, RawAck, RawCongestion, RawPacing, RawValue, RawWindow, SYMBOL, VERSION,
};
use crate::shared_library::{ExportedStruct, SharedLibrary};

const LIBRARY: &str = "library";

/// Controllers in shared libraries: `library` names the file, and every other key is a parameter.
#[derive(Clone, Debug)]
pub struct LibraryKind {
    /// The folder that the paths of libraries begin from.
    pub folder: PathBuf,
    /// The library, where the user has named it elsewhere.
    pub library: Option<PathBuf>,
}

impl OwnKind for LibraryKind {
    fn with(&self, values: &OwnValues) -> Result<Arc<dyn OwnMaker>, String> {
        let named = values.iter().find(|(name, _)| name == LIBRARY).map(|(_, value)| value);
        let file = match (&self.library, named) {
            (Some(_), Some(_)) => return Err(format!("`{LIBRARY}`: the file is named already")),
            (Some(file), None) => file.clone(),
            (None, Some(OwnValue::Text(file))) => self.folder.join(file),
            (None, _) => return Err(format!("`{LIBRARY}` is missing: the file, such as \"libmine.so\"")),
        };
        let loaded = Loaded::open(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let values = values.iter().filter(|(name, _)| name != LIBRARY).cloned().collect();
        let maker = Maker { loaded: Arc::new(loaded), values };
        maker.controller(0)?;
        Ok(Arc::new(maker))
    }
}

// SAFETY: the version is the first field of the struct in `raw.rs`, and counts the layouts that it has had.
unsafe impl ExportedStruct for Interface {
    const SYMBOL: &[u8] = SYMBOL;
    const VERSION: u32 = VERSION;
    const ABSENT: &str = "it exports no controller; use fairhaul_controller::export!";

    fn of_version(version: u32) -> String {
        format!(
            "it was compiled for version {version} of the interface, and this is {VERSION}: \
             make the crate anew with fairhaul new-controller, and compile it again"
        )
    }
}

type Loaded = SharedLibrary<Interface>;

/// The text of a failure, which the library gets back.
fn text_of(library: &Loaded, failure: Failure) -> Option<String> {
    if failure.is_null() {
        return None;
    }
    // SAFETY: the library has made the text, and gets it back once.
    unsafe {
        let text = CStr::from_ptr(failure).to_string_lossy().into_owned();
        (library.exported.forget)(failure);
        Some(text)
    }
}

struct Maker {
    loaded: Arc<Loaded>,
    values: OwnValues,
}

impl Maker {
    fn controller(&self, stream: u64) -> Result<LibraryController, String> {
        let text =
            |text: &str| CString::new(text).map_err(|_| format!("{text:?}: a text without zeros is wanted"));
        let names = self.values.iter().map(|(name, _)| text(name)).collect::<Result<Vec<_>, _>>()?;
        let texts = self.values.iter().map(|(_, value)| match value {
            OwnValue::Text(given) => text(given),
            _ => Ok(CString::default()),
        });
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        let raw = names.iter().zip(&texts).zip(&self.values).map(|((name, text), (_, value))| {
            let (kind, number, whole) = match value {
                OwnValue::Number(number) => (0, *number, 0),
                OwnValue::Whole(whole) => (1, 0.0, *whole),
                OwnValue::Switch(switch) => (2, 0.0, i64::from(*switch)),
                OwnValue::Text(_) => (3, 0.0, 0),
            };
            RawValue { name: name.as_ptr(), kind, number, whole, text: text.as_ptr() }
        });
        let raw: Vec<RawValue> = raw.collect();
        let mut handle = ptr::null_mut();
        // SAFETY: the values and their texts live during the call.
        let failure =
            unsafe { (self.loaded.exported.make)(raw.as_ptr(), raw.len(), stream, &raw mut handle) };
        match text_of(&self.loaded, failure) {
            Some(text) => Err(text),
            None => Ok(LibraryController { loaded: Arc::clone(&self.loaded), handle }),
        }
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "library {:016x} {:?}", self.loaded.digest, self.values)
    }
}

impl OwnMaker for Maker {
    fn build(&self, stream: u64) -> Box<dyn Own> {
        let built = self.controller(stream);
        Box::new(built.unwrap_or_else(|what| Fault { at: None, what }.raise()))
    }
}

struct LibraryController {
    loaded: Arc<Loaded>,
    handle: Handle,
}

// SAFETY: an exported controller is `Send`.
unsafe impl Send for LibraryController {}

impl LibraryController {
    /// Calls a function of the library with the window, which it may change.
    fn with(
        &self,
        window: &mut Window,
        now: Time,
        call: impl FnOnce(&Interface, Handle, *mut RawWindow) -> Failure,
    ) {
        let mut shown = RawWindow::from(*window);
        let failure = call(&self.loaded.exported, self.handle, &raw mut shown);
        self.check(failure, Some(now));
        *window = Window { cwnd: shown.cwnd.max(1.0), ssthresh: shown.ssthresh };
        if !shown.cwnd.is_finite() || shown.ssthresh.is_nan() {
            let what = format!("the window is {} packets, and the threshold {}", shown.cwnd, shown.ssthresh);
            Fault { at: Some(now), what }.raise();
        }
    }

    fn check(&self, failure: Failure, at: Option<Time>) {
        if let Some(what) = text_of(&self.loaded, failure) {
            Fault { at, what }.raise();
        }
    }
}

impl Drop for LibraryController {
    fn drop(&mut self) {
        // SAFETY: nothing uses the handle any more.
        unsafe { (self.loaded.exported.drop)(self.handle) }
    }
}

impl Controller for LibraryController {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let raw = RawAck::from(ack);
        // SAFETY: here and below, the library gets its own handle, and pointers that live during the call.
        self.with(window, ack.now, |to, handle, window| unsafe {
            (to.on_ack)(handle, window, &raw const raw)
        });
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        let raw = RawAck::from(ack);
        // SAFETY: as above.
        self.with(window, ack.now, |to, handle, window| unsafe {
            (to.on_slow_start)(handle, window, &raw const raw)
        });
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let raw = RawAck::from(ack);
        // SAFETY: as above.
        self.with(window, ack.now, |to, handle, window| unsafe {
            (to.on_delivery)(handle, window, &raw const raw)
        });
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        let raw = RawCongestion::from(event);
        // SAFETY: as above.
        self.with(window, event.now, |to, handle, window| unsafe {
            (to.on_congestion)(handle, window, &raw const raw)
        });
    }

    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        let raw = RawCongestion::from(event);
        // SAFETY: as above.
        self.with(window, event.now, |to, handle, window| unsafe {
            (to.on_timeout)(handle, window, &raw const raw)
        });
    }

    fn on_recovered(&mut self, window: &mut Window, now: Time) {
        // SAFETY: as above.
        self.with(window, now, |to, handle, window| unsafe {
            (to.on_recovered)(handle, window, now.as_ps())
        });
    }

    fn needs(&self) -> Needs {
        // SAFETY: as above.
        unsafe { (self.loaded.exported.needs)(self.handle) }.into()
    }

    fn mode(&self) -> Option<u8> {
        let mut mode = -1;
        // SAFETY: as above.
        self.check(unsafe { (self.loaded.exported.mode)(self.handle, &raw mut mode) }, None);
        u8::try_from(mode).ok()
    }

    fn pacing(&self, window: &Window) -> Pacing {
        let (shown, mut pacing) = (RawWindow::from(*window), RawPacing::default());
        // SAFETY: as above.
        let failure =
            unsafe { (self.loaded.exported.pacing)(self.handle, &raw const shown, &raw mut pacing) };
        self.check(failure, None);
        pacing.into()
    }
}

impl Own for LibraryController {
    fn copied(&self) -> Box<dyn Own> {
        let mut handle = ptr::null_mut();
        // SAFETY: as above.
        let failure = unsafe { (self.loaded.exported.copy)(self.handle, &raw mut handle) };
        self.check(failure, None);
        Box::new(LibraryController { loaded: Arc::clone(&self.loaded), handle })
    }
}
