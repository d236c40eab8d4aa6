//! A shared library that exports a struct of functions in the layout of C, for an engine.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::fs;
use std::path::Path;

use fairhaul_cc::digest;
use libloading::Library;

/// What a library exports.
///
/// # Safety
/// In every version of it the first field is the version, a `u32`, and all of one version have the same layout.
pub unsafe trait ExportedStruct: Copy {
    /// The name of the symbol.
    const SYMBOL: &[u8];
    /// The version that this program knows.
    const VERSION: u32;
    /// What is said of a library without the symbol.
    const ABSENT: &str;

    /// What is said of a library that was compiled for another version.
    fn of_version(version: u32) -> String;
}

/// A library that stays loaded while something of it is used.
pub struct SharedLibrary<T> {
    /// What it exports.
    pub exported: T,
    /// A number that differs where the file differs.
    pub digest: u64,
    _library: Library,
}

impl<T: ExportedStruct> SharedLibrary<T> {
    /// Loads a file.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(file: &Path) -> Result<SharedLibrary<T>, String> {
        let bytes = fs::read(file).map_err(|error| error.to_string())?;
        let digest = digest(&bytes);
        // A system loads a path once, so a library that was compiled again is loaded from a path of its own.
        let copy = tempfile::Builder::new().prefix("fairhaul-").suffix(".so").tempfile();
        let copy = copy.map_err(|error| error.to_string())?;
        fs::write(copy.path(), &bytes).map_err(|error| error.to_string())?;
        // SAFETY: code of the user's runs, as the user asks for.
        let library = unsafe { Library::new(copy.path()) };
        let library =
            library.map_err(|error| format!("it is not a shared library of this machine ({error})"))?;
        // SAFETY: whatever stands there is looked into only after its version was compared.
        let symbol = unsafe { library.get::<*const T>(T::SYMBOL) };
        let symbol = symbol.map_err(|_| T::ABSENT.to_owned())?;
        // SAFETY: the version is the first field in every version of the struct.
        let version = unsafe { *symbol.cast::<u32>() };
        if version != T::VERSION {
            return Err(T::of_version(version));
        }
        // SAFETY: it has the same version, and therefore the same layout.
        let exported = unsafe { **symbol };
        Ok(SharedLibrary { exported, digest, _library: library })
    }
}
