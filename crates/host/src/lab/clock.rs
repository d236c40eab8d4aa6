//! The clock of a run: the host's, counted from the start of the run.

use std::io;

use fairhaul_units::{Span, Time};
use nix::errno::Errno;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

const PS_PER_NS: u64 = 1000;

/// The clock of a run, which all its threads share.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// When the run starts, on the host's monotonic clock.
    origin_ns: i64,
}

impl Clock {
    /// The clock of a run that starts `lead` from now.
    pub fn starting_in(lead: Span) -> io::Result<Clock> {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
        Ok(Clock { origin_ns: now.num_nanoseconds() + (lead.as_ps() / PS_PER_NS) as i64 })
    }

    /// When the run starts, on the host's monotonic clock, nanoseconds.
    pub fn origin_ns(&self) -> i64 {
        self.origin_ns
    }

    /// How far the run is; zero before its start.
    pub fn now(&self) -> Time {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every host has this clock");
        self.at(now.num_nanoseconds())
    }

    /// How far the run was when the host's monotonic clock showed `ns`; zero before its start.
    pub fn at(&self, ns: i64) -> Time {
        Time::from_ps(u64::try_from(ns - self.origin_ns).unwrap_or(0) * PS_PER_NS)
    }

    /// Sleeps until `time`; returns at once if it is past.
    pub fn sleep_until(&self, time: Time) {
        let until = TimeSpec::nanoseconds(self.origin_ns + (time.as_ps() / PS_PER_NS) as i64);
        let flags = ClockNanosleepFlags::TIMER_ABSTIME;
        while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &until) == Err(Errno::EINTR) {}
    }
}
