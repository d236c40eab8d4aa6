//! The keys of a flow whose ends are programs.

use super::*;

table! {
    ProgramKeys: "{ sender = …, receiver = … }",
        "A text is split at white space, a list is taken as it is. A path with `/` begins at the folder of the scenario, and \
         a name alone is looked for in `/usr/local/bin`, `/usr/bin` and `/bin`. In arguments `$FAIRHAUL_PEER`, \
         `$FAIRHAUL_ADDRESS` and `$FAIRHAUL_PORT` are replaced by their values.";
    sender: CommandLine = required, "The program that sends the data; it is started at `start`.";
    receiver: CommandLine = required, "The program that receives them; it is started before the run, and has to listen within a second.";
}
