//! TCP's two ends. Neither knows a link or an event queue: they are told the time and asked what
//! to send.

mod datagrams;
mod hystart;
mod pacer;
mod profile;
mod proportion;
mod rate;
mod receiver;
mod rtt;
mod runs;
mod scoreboard;
mod sender;

pub use datagrams::Datagrams;
pub use hystart::HyStart;
pub use pacer::Pacer;
pub use profile::Profile;
pub use proportion::Proportion;
pub use rate::RateSampler;
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use runs::Runs;
pub use scoreboard::{DUP_THRESHOLD, Scoreboard};
pub use sender::{Outcome, Poll, Sender};
