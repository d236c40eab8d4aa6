//! The stack as scenarios find it: linked into this program, and called by the functions of a library.

use std::ffi::CString;
use std::sync::Arc;

use fairhaul_cc::{OwnKind, OwnKinds, OwnMaker, OwnValue, OwnValues};
use fairhaul_stack::{StackLibrary, StackOfLibrary};
use fairhaul_tcp_stack::FUNCTIONS;

/// The kinds with which a reader knows the stack, whatever name it is given.
pub fn kinds() -> OwnKinds {
    OwnKinds { stacks: Some(Arc::new(Kind)), ..OwnKinds::default() }
}

#[derive(Debug)]
struct Kind;

impl OwnKind for Kind {
    fn with(&self, values: &OwnValues) -> Result<Arc<dyn OwnMaker>, String> {
        let text = |text: &str| CString::new(text).expect("a drawn text has no zero");
        let settings = values.iter().filter_map(|(name, value)| match value {
            OwnValue::Text(value) if name == "flow" => Some((text(name), text(value))),
            _ => None,
        });
        let library = Arc::new(StackLibrary::linked(FUNCTIONS));
        Ok(Arc::new(StackOfLibrary { library, streams: 1, settings: settings.collect() }))
    }
}
