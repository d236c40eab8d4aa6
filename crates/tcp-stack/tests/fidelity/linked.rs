//! The stack as scenarios find it: linked into this program, and called by the functions of a library.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use fairhaul_cc::{Own, OwnKind, OwnKinds, OwnMaker, OwnValue, OwnValues, StackEnd, StackMaker, StackSetup};
use fairhaul_stack::StackLibrary;
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
        Ok(Arc::new(Maker { library, settings: settings.collect() }))
    }
}

struct Maker {
    library: Arc<StackLibrary>,
    settings: Vec<(CString, CString)>,
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.library.identity, self.settings)
    }
}

impl OwnMaker for Maker {
    fn build(&self, _: u64) -> Box<dyn Own> {
        unreachable!("a stack has no controller that an engine calls")
    }

    fn stack(&self) -> Option<&dyn StackMaker> {
        Some(self)
    }
}

impl StackMaker for Maker {
    fn ends(&self, setup: &StackSetup) -> Result<[Box<dyn StackEnd>; 2], String> {
        let end = |role| self.library.create(role, setup, &self.settings);
        Ok([Box::new(end(0)?), Box::new(end(1)?)])
    }

    fn headers(&self) -> u32 {
        self.library.headers()
    }

    fn identity(&self) -> String {
        self.library.identity.clone()
    }
}
