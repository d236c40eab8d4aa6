//! The two ends of a TCP connection, sender and receiver. Neither knows a link or an event queue: the engine gives
//! them the time and asks what to send.

mod adaptive_delayed_ack;
mod buffer_limits;
mod card;
mod datagrams;
mod fq;
mod hystart;
mod hystart_pp;
mod kernel_timer;
mod loss_detector;
mod pacer;
mod program;
mod prr;
mod rate_sampler;
mod receive_window;
mod receiver;
mod receiver_rtt;
mod rtt;
mod runs;
mod scoreboard;
mod segmentation;
mod send_card;
mod send_tuning;
mod sender;
mod sender_config;
mod time_stamps;

pub use buffer_limits::BufferLimits;
pub use card::Card;
pub use datagrams::Datagrams;
pub use fq::Fq;
pub use hystart::{HyStart, LongestTrain};
pub use hystart_pp::HyStartPp;
pub use loss_detector::{LossDetector, TimerEvent, Timing};
pub use pacer::Pacer;
pub use prr::Prr;
pub use rate_sampler::RateSampler;
pub use receive_window::ReceiveWindow;
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use runs::Runs;
pub use scoreboard::Scoreboard;
pub use segmentation::Segmentation;
pub use send_card::SendCard;
pub use sender::{Outcome, Poll, Sender};
pub use sender_config::SenderConfig;
