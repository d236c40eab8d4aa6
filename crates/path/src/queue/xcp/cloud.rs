//! The routers between two XCP routers that do not understand XCP [XCP-I]: the second XCP router represents them by
//! a virtual router, whose capacity and queue it estimates from the traffic that arrives.

use fairhaul_units::{CongestionHeader, Span, TICK, Time, tick};

use super::XcpRule;
use super::allocator::{XcpAllocator, next_after};

/// Most of that: with alpha = 0.4 a fifth more in an interval.
const MOST_PROBE: f64 = 0.5;

/// What the second router knows of the links between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cloud {
    allocator: XcpAllocator,
    /// The smallest delay ever, and in the interval under way, in ticks.
    base: u16,
    least: Option<u16>,
    /// What stood above the smallest in the interval before, seconds.
    standing: f64,
    /// Used instead of the value of the rule, where nothing has queued for a while.
    probe: f64,
}

impl Cloud {
    pub fn new(now: Time) -> Cloud {
        Cloud {
            allocator: XcpAllocator::new(now),
            base: u16::MAX,
            least: None,
            standing: 0.0,
            probe: MOST_PROBE,
        }
    }

    /// A packet arrives that came through.
    pub fn on_arrival(&mut self, rule: &XcpRule, now: Time, size: u32, header: &CongestionHeader) {
        self.advance(rule, now);
        let delay = tick(now).wrapping_sub(header.left);
        self.base = self.base.min(delay);
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        self.allocator.on_arrival(rule, size, Some(header));
    }

    /// It leaves the router.
    pub fn on_departure(&mut self, rule: &XcpRule, now: Time, size: u32, header: &mut CongestionHeader) {
        self.advance(rule, now);
        self.allocator.on_departure(size, header);
    }

    fn advance(&mut self, rule: &XcpRule, now: Time) {
        while self.allocator.ends <= now {
            let before = *self;
            self.control(rule);
            let mut moved = before;
            moved.allocator.ends = self.allocator.ends;
            if *self == moved {
                // Nothing comes through, and nothing changes any more.
                self.allocator.ends = next_after(self.allocator.ends, self.allocator.interval, now);
            }
        }
    }

    // Unclear in [XCP-I]: how to find the bandwidth that the cloud has for XCP. While packets queue in it,
    // that is its throughput; otherwise the cloud may have more, and a higher rate is tried.
    fn control(&mut self, rule: &XcpRule) {
        let through = self.allocator.input_rate();
        let before = self.standing;
        self.standing = self.least.take().map_or(0.0, |least| in_secs(least - self.base));
        // The packets of this interval left the first router within one that is shorter by as much as
        // their delay has grown.
        let interval = self.allocator.interval.as_secs();
        let sent_within = (interval - (self.standing - before)).max(interval / 2.0);
        let rate = through * interval / sent_within;
        let capacity = if self.standing > rule.queueing * 1e-3 {
            self.probe = rule.probe;
            through
        } else {
            let more = self.probe;
            self.probe = (2.0 * more).min(MOST_PROBE);
            through * (1.0 + more)
        };
        self.allocator.standing = self.standing * through;
        self.allocator.control(rule, capacity, rate);
    }
}

fn in_secs(ticks: u16) -> f64 {
    Span::from_ps(u64::from(ticks) * TICK.as_ps()).as_secs()
}
