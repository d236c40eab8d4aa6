//! What a library does with the calls of an engine.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::any::Any;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use fairhaul_cc::{AckEvent, Congestion, Controller, Fault, OwnValue, Window};
use fairhaul_units::Time;

use crate::Given;
use crate::raw::{
    Failure, Handle, Interface, RawAck, RawCongestion, RawNeeds, RawPacing, RawValue, RawWindow, VERSION,
};

/// A controller that a library exports.
pub trait Exported: Controller + Clone + Send + 'static {
    /// A fresh controller. `stream` differs between connections and seeds, for random numbers.
    ///
    /// # Errors
    /// Why it does not take these values.
    fn new(given: &Given, stream: u64) -> Result<Self, String>;
}

/// Exports a type that implements [`Exported`] as the controller of this library.
#[macro_export]
macro_rules! export {
    ($controller:ty) => {
        #[allow(unsafe_code, missing_docs, reason = "no other symbol of the library has this name")]
        #[unsafe(no_mangle)]
        pub static FAIRHAUL_CONTROLLER: $crate::raw::Interface = $crate::interface::<$controller>();
    };
}

/// The functions of a controller, for [`export!`].
pub const fn interface<C: Exported>() -> Interface {
    Interface {
        version: VERSION,
        make: make::<C>,
        copy: copy::<C>,
        drop: discard::<C>,
        forget,
        needs: needs::<C>,
        on_ack: on_ack::<C>,
        on_slow_start: on_slow_start::<C>,
        on_delivery: on_delivery::<C>,
        on_congestion: on_congestion::<C>,
        on_timeout: on_timeout::<C>,
        on_recovered: on_recovered::<C>,
        mode: mode::<C>,
        pacing: pacing::<C>,
    }
}

/// Does what may fail or panic; the text of either.
fn guarded(act: impl FnOnce() -> Result<(), String>) -> Failure {
    let text = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => return ptr::null_mut(),
        Ok(Err(text)) => text,
        Err(panic) => reason(&*panic),
    };
    CString::new(text.replace('\0', "")).unwrap_or_default().into_raw()
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let fault = panic.downcast_ref::<Fault>().map(|fault| fault.what.clone());
    let text = panic.downcast_ref::<String>().cloned();
    let fixed = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    fault.or(text).or(fixed).unwrap_or_else(|| "the controller panicked".to_owned())
}

/// The controller behind a handle.
///
/// # Safety
/// `make` or `copy` of the same type made the handle, it was not given to `drop`, and nothing else uses it.
unsafe fn controller<'a, C>(handle: Handle) -> &'a mut C {
    // SAFETY: the handle is a `Box<C>`, by the promise of the caller.
    unsafe { &mut *handle.cast::<C>() }
}

/// Calls a method with a window, which it may change.
///
/// # Safety
/// The promise of [`controller`], and `window` is valid.
unsafe fn moved<C>(handle: Handle, window: *mut RawWindow, act: impl FnOnce(&mut C, &mut Window)) -> Failure {
    guarded(|| {
        // SAFETY: both are promised by the caller.
        let (controller, shown) = unsafe { (controller::<C>(handle), &mut *window) };
        let mut window = Window::from(*shown);
        act(controller, &mut window);
        *shown = window.into();
        Ok(())
    })
}

unsafe extern "C" fn make<C: Exported>(
    values: *const RawValue,
    count: usize,
    stream: u64,
    made: *mut Handle,
) -> Failure {
    guarded(|| {
        // SAFETY: the engine passes as many values as it says, and a place for the handle.
        let values = (0..count).map(|index| unsafe { value(&*values.add(index)) }).collect();
        let given = Given::new(values);
        let fresh = C::new(&given, stream)?;
        given.check()?;
        // SAFETY: as above.
        unsafe { *made = Box::into_raw(Box::new(fresh)).cast() };
        Ok(())
    })
}

/// # Safety
/// The texts are valid.
unsafe fn value(raw: &RawValue) -> (String, OwnValue) {
    // SAFETY: the texts of a value are valid during the call, by the promise of the engine.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let value = match raw.kind {
        0 => OwnValue::Number(raw.number),
        1 => OwnValue::Whole(raw.whole),
        2 => OwnValue::Switch(raw.whole != 0),
        _ => OwnValue::Text(text(raw.text)),
    };
    (text(raw.name), value)
}

unsafe extern "C" fn copy<C: Exported>(handle: Handle, made: *mut Handle) -> Failure {
    guarded(|| {
        // SAFETY: the engine passes a handle, and a place for another one.
        unsafe { *made = Box::into_raw(Box::new(controller::<C>(handle).clone())).cast() };
        Ok(())
    })
}

unsafe extern "C" fn discard<C: Exported>(handle: Handle) {
    // SAFETY: the engine does not use the handle any more.
    let owned = unsafe { Box::from_raw(handle.cast::<C>()) };
    // A panic while it is dropped cannot be reported.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(owned)));
}

unsafe extern "C" fn forget(failure: Failure) {
    if !failure.is_null() {
        // SAFETY: `guarded` made it, and the engine does not use it any more.
        drop(unsafe { CString::from_raw(failure) });
    }
}

unsafe extern "C" fn needs<C: Exported>(handle: Handle) -> RawNeeds {
    // SAFETY: the engine passes a handle.
    unsafe { controller::<C>(handle) }.needs().into()
}

unsafe extern "C" fn on_ack<C: Exported>(
    handle: Handle,
    window: *mut RawWindow,
    ack: *const RawAck,
) -> Failure {
    // SAFETY: the engine passes a handle, a window and an acknowledgement.
    unsafe {
        moved::<C>(handle, window, |controller, window| controller.on_ack(window, &AckEvent::from(&*ack)))
    }
}

unsafe extern "C" fn on_slow_start<C: Exported>(
    handle: Handle,
    window: *mut RawWindow,
    ack: *const RawAck,
) -> Failure {
    // SAFETY: the engine passes a handle, a window and an acknowledgement.
    unsafe {
        moved::<C>(handle, window, |controller, window| {
            controller.on_slow_start(window, &AckEvent::from(&*ack))
        })
    }
}

unsafe extern "C" fn on_delivery<C: Exported>(
    handle: Handle,
    window: *mut RawWindow,
    ack: *const RawAck,
) -> Failure {
    // SAFETY: the engine passes a handle, a window and an acknowledgement.
    unsafe {
        moved::<C>(handle, window, |controller, window| {
            controller.on_delivery(window, &AckEvent::from(&*ack))
        })
    }
}

unsafe extern "C" fn on_congestion<C: Exported>(
    handle: Handle,
    window: *mut RawWindow,
    event: *const RawCongestion,
) -> Failure {
    // SAFETY: the engine passes a handle, a window and a loss event.
    unsafe {
        moved::<C>(handle, window, |controller, window| {
            controller.on_congestion(window, &Congestion::from(&*event))
        })
    }
}

unsafe extern "C" fn on_timeout<C: Exported>(
    handle: Handle,
    window: *mut RawWindow,
    event: *const RawCongestion,
) -> Failure {
    // SAFETY: the engine passes a handle, a window and a timeout.
    unsafe {
        moved::<C>(handle, window, |controller, window| {
            controller.on_timeout(window, &Congestion::from(&*event))
        })
    }
}

unsafe extern "C" fn on_recovered<C: Exported>(
    handle: Handle,
    window: *mut RawWindow,
    now_ps: u64,
) -> Failure {
    // SAFETY: the engine passes a handle and a window.
    unsafe {
        moved::<C>(handle, window, |controller, window| {
            controller.on_recovered(window, Time::from_ps(now_ps))
        })
    }
}

unsafe extern "C" fn mode<C: Exported>(handle: Handle, mode: *mut i16) -> Failure {
    guarded(|| {
        // SAFETY: the engine passes a handle, and a place for the mode; -1 is none.
        unsafe { *mode = controller::<C>(handle).mode().map_or(-1, i16::from) };
        Ok(())
    })
}

unsafe extern "C" fn pacing<C: Exported>(
    handle: Handle,
    window: *const RawWindow,
    pacing: *mut RawPacing,
) -> Failure {
    guarded(|| {
        // SAFETY: the engine passes a handle, a window, and a place for the pacing.
        unsafe { *pacing = controller::<C>(handle).pacing(&Window::from(*window)).into() };
        Ok(())
    })
}
