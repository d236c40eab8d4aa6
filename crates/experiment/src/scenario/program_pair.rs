//! The two programs of a flow, for the engines that have a kernel to run them on.

/// The command lines of the ends of a flow: a program, from the folder of the scenario, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramPair {
    /// Of the end that sends the data.
    pub sender: Vec<String>,
    /// Of the end that receives them.
    pub receiver: Vec<String>,
}
