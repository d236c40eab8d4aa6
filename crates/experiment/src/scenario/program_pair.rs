//! The two programs of a flow, for the engines that have a kernel to run them on.

use crate::Flow;

/// The command lines of the ends of a flow: a program, from the folder of the scenario, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramPair {
    /// Of the end that sends the data.
    pub sender: Vec<String>,
    /// Of the end that receives them.
    pub receiver: Vec<String>,
}

impl Flow {
    /// Whether Fairhaul knows its congestion control: a source of datagrams has none, and that of programs is theirs.
    pub fn has_controller(&self) -> bool {
        self.program.is_none() && !matches!(self.traffic, crate::Traffic::Cbr { .. })
    }
}
