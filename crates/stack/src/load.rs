//! Transport stacks of scenarios: which library is meant, and what it is made with.

use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairhaul_cc::{Own, OwnKind, OwnMaker, OwnValue, OwnValues, STACK, StackEnd, StackMaker, StackSetup};
use fairhaul_units::{Time, hint};

use crate::library::StackLibrary;

/// The setting that says over how many streams data are spread. A stack gets it, too, and refuses it if it has one stream.
const STREAMS: &str = "streams";
const MOST_STREAMS: i64 = 100;
/// The largest packet of the ends that are made to check settings: that of Ethernet.
const ETHERNET: u32 = 1500;

/// Stacks in shared libraries.
#[derive(Clone, Debug)]
pub struct StackKind {
    /// The folder that the paths of libraries begin from.
    pub folder: PathBuf,
    /// The folder of the stacks that have names: `libfairhaul_<name>.so`.
    pub named: PathBuf,
}

impl StackKind {
    fn file(&self, stack: &str) -> Result<PathBuf, String> {
        if stack.contains('/') || Path::new(stack).extension().is_some() {
            return Ok(self.folder.join(stack));
        }
        let names = self.names();
        if names.iter().any(|name| name == stack) {
            return Ok(self.named.join(format!("libfairhaul_{stack}.so")));
        }
        let nearest = match &names[..] {
            [] => "this installation has none with a name".to_owned(),
            names => hint(stack, names.iter().map(String::as_str)),
        };
        Err(format!("unknown stack; {nearest}; a library of your own is a path such as \"./libmine.so\""))
    }

    /// The stacks that have names, in order.
    fn names(&self) -> Vec<String> {
        let Ok(entries) = self.named.read_dir() else { return Vec::new() };
        let name = |file: String| Some(file.strip_prefix("libfairhaul_")?.strip_suffix(".so")?.to_owned());
        let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = files.filter_map(name).collect();
        names.sort();
        names
    }
}

impl OwnKind for StackKind {
    fn with(&self, values: &OwnValues) -> Result<Arc<dyn OwnMaker>, String> {
        let (mut file, mut streams, mut settings) = (None, 1, Vec::new());
        for (name, value) in values {
            match (&**name, value) {
                (STACK, OwnValue::Text(stack)) => {
                    file = Some(self.file(stack)?);
                    continue;
                }
                (STREAMS, &OwnValue::Whole(count)) if (1..=MOST_STREAMS).contains(&count) => {
                    streams = count as u32;
                }
                (STREAMS, _) => {
                    return Err(format!("streams: wanted a whole number from 1 to {MOST_STREAMS}"));
                }
                _ => {}
            }
            let text = match value {
                OwnValue::Number(number) => number.to_string(),
                OwnValue::Whole(whole) => whole.to_string(),
                OwnValue::Switch(switch) => switch.to_string(),
                OwnValue::Text(text) => text.clone(),
            };
            let c_text = |text: &str| CString::new(text).map_err(|_| format!("{name}: a zero byte"));
            settings.push((c_text(name)?, c_text(&text)?));
        }
        let file = file.ok_or("the stack is missing")?;
        let library = StackLibrary::open(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let maker = StackOfLibrary { library: Arc::new(library), streams, settings };
        maker.ends(&StackSetup { packet: ETHERNET, seed: 0, now: Time::ZERO, records: false })?;
        Ok(Arc::new(maker))
    }
}

/// A stack with its settings, for the flows of a scenario.
pub struct StackOfLibrary {
    /// What has its functions.
    pub library: Arc<StackLibrary>,
    /// Over how many streams data are spread.
    pub streams: u32,
    /// Names and values, which its ends are made with.
    pub settings: Vec<(CString, CString)>,
}

impl fmt::Debug for StackOfLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stack {} {} {:?}", self.library.identity, self.streams, self.settings)
    }
}

impl OwnMaker for StackOfLibrary {
    fn build(&self, _: u64) -> Box<dyn Own> {
        unreachable!("a stack has no controller that an engine calls")
    }

    fn stack(&self) -> Option<&dyn StackMaker> {
        Some(self)
    }
}

impl StackMaker for StackOfLibrary {
    fn ends(&self, setup: &StackSetup) -> Result<[Box<dyn StackEnd>; 2], String> {
        let end = |role| self.library.create(role, setup, &self.settings);
        Ok([Box::new(end(0)?), Box::new(end(1)?)])
    }

    fn headers(&self) -> u32 {
        self.library.headers()
    }

    fn streams(&self) -> u32 {
        self.streams
    }

    fn identity(&self) -> String {
        self.library.identity.clone()
    }
}
