//! Controllers from outside the catalogue: what a user brings along, under a name of the user's choice.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{Controller, StackMaker};

/// A controller of any type.
pub trait Own: Any + Controller + Send {
    /// A copy that goes on by itself.
    fn copied(&self) -> Box<dyn Own>;

    /// The memory that it takes, bytes, if that is much.
    fn memory(&self) -> u64 {
        0
    }
}

impl Clone for Box<dyn Own> {
    fn clone(&self) -> Box<dyn Own> {
        self.copied()
    }
}

impl fmt::Debug for dyn Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Own")
    }
}

/// A value that a scenario gives to a parameter of such a controller.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnValue {
    /// A number that is not whole.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// A truth value.
    Switch(bool),
    /// A text.
    Text(String),
}

/// The values of parameters by their names, in the order of the scenario.
pub type OwnValues = Vec<(String, OwnValue)>;

/// What makes controllers of one kind with one set of values. Its `Debug` text identifies both: scenarios with the same
/// text have the same result.
pub trait OwnMaker: Any + fmt::Debug + Send + Sync {
    /// A fresh controller. `stream` differs between connections and seeds, for random numbers.
    fn build(&self, stream: u64) -> Box<dyn Own>;

    /// Whether they call what a user has written, which may take long.
    fn is_users_code(&self) -> bool {
        true
    }

    /// The memory that each of them takes, bytes, if that is much.
    fn memory(&self) -> u64 {
        0
    }

    /// Both ends of connections, where this is no controller but a whole transport stack.
    fn stack(&self) -> Option<&dyn StackMaker> {
        None
    }
}

/// A kind of controller that is known under a name.
pub trait OwnKind: fmt::Debug + Send + Sync {
    /// What makes its controllers with these values.
    ///
    /// # Errors
    /// Why it does not take these values.
    fn with(&self, values: &OwnValues) -> Result<Arc<dyn OwnMaker>, String>;
}

/// The kinds that a reader of scenarios knows beside the catalogue.
#[derive(Debug, Default)]
pub struct OwnKinds {
    /// Controllers, by name.
    pub controllers: BTreeMap<String, Arc<dyn OwnKind>>,
    /// Transport stacks; the value of [`STACK`] is the name or the file of one.
    pub stacks: Option<Arc<dyn OwnKind>>,
}

/// The name under which a kind of stacks finds which stack is meant, beside the settings of that stack.
pub const STACK: &str = "stack";

/// A controller that is not of the catalogue, chosen for a flow.
#[derive(Clone, Debug)]
pub struct OwnChoice {
    /// The name of its kind.
    pub name: String,
    /// The values of its parameters.
    pub values: OwnValues,
    /// What makes it.
    pub maker: Arc<dyn OwnMaker>,
}

/// A number that differs where the bytes of a file differ: FNV-1a.
pub fn digest(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
