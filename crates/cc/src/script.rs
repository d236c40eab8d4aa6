//! Event scripts: a controller without a network, driven by the lines of a text.
//!
//! Two implementations of a controller are compared by running both over one script and comparing their windows line by
//! line. A line is a time since the start, an event and its values:
//!
//! ```text
//! 0 s      sent 10
//! 40 ms    ack 2 rtt 40 ms
//! 45 ms    ack 1 rtt 45 ms marked 1
//! 50 ms    lost 1
//! 60 ms    app-limited
//! 300 ms   timeout
//! ```
//!
//! Amounts are packets, or bytes. Packets are acknowledged and lost in the order in which they were sent. The sender of a
//! script does what every sender owes its controller ([`ScriptedSender`]).

mod line;
mod sender;

use std::fmt::Write as _;

use fairhaul_units::{Bytes, Time};

pub use line::{ScriptEvent, ScriptLine};
pub use sender::ScriptedSender;

use crate::{ControllerChoice, Pacing, Window};

/// In what a script counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amounts {
    /// Packets.
    Packets,
    /// Bytes; a packet has that many.
    Bytes(Bytes),
}

impl Amounts {
    /// How much of it one packet is.
    pub(crate) fn of_packet(self) -> u64 {
        match self {
            Amounts::Packets => 1,
            Amounts::Bytes(packet) => packet.0,
        }
    }

    /// The payload of a packet: 1200 bytes, the least that QUIC sends, where a script counts packets.
    pub(crate) fn payload(self) -> Bytes {
        match self {
            Amounts::Packets => Bytes(1200),
            Amounts::Bytes(packet) => packet,
        }
    }
}

/// The controller's answer to every line of `script`, as a table with a line for each: the time in seconds, window and
/// threshold, the pacing rate per second, and the event. `initial_window` is in packets.
///
/// # Errors
/// The first line that cannot be read, or that cannot happen.
pub fn run_script(
    script: &str,
    choice: &ControllerChoice,
    initial_window: f64,
    amounts: Amounts,
) -> Result<String, String> {
    let mut sender = ScriptedSender::new(choice.build(), initial_window, amounts);
    let mut table = String::from("      time_s         cwnd     ssthresh  pacing_rate  event\n");
    for (index, text) in script.lines().enumerate() {
        let at_line = |what: String| format!("line {}: {what}", index + 1);
        let Some(line) = ScriptLine::read(text).map_err(at_line)? else { continue };
        sender.process(&line).map_err(at_line)?;
        table += &row(&line, &sender, amounts);
    }
    Ok(table)
}

fn row(line: &ScriptLine, sender: &ScriptedSender, amounts: Amounts) -> String {
    let Window { cwnd, ssthresh } = sender.window();
    let number = |packets: f64| match amounts {
        _ if packets.is_infinite() => "inf".to_owned(),
        Amounts::Packets => format!("{packets:.4}"),
        Amounts::Bytes(packet) => format!("{:.0}", packets * packet.0 as f64),
    };
    let rate = match sender.pacing() {
        Pacing::None => "-".to_owned(),
        Pacing::Even(gap) => number(1.0 / gap.as_secs()),
        Pacing::Blocks { round, .. } => number(cwnd / round.as_secs()),
    };
    let since_start = line.at.since(Time::ZERO).as_secs();
    let (cwnd, ssthresh) = (number(cwnd), number(ssthresh));
    let mut row = String::new();
    writeln!(row, "{since_start:>12.6} {cwnd:>12} {ssthresh:>12} {rate:>12}  {}", line.text)
        .expect("a string takes every line");
    row
}
