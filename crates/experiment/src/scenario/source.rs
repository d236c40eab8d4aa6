//! The source of a flow that is limited by its application: when it hands each packet to its sender.

use fairhaul_units::{Chance, Span, Time};

use super::plan::wait;
use crate::{Scenario, Traffic};

/// The times at which an application has a full packet ready, one after the other, without end.
///
/// Packet k is ready when the application has been on for k times the time of a packet at its
/// rate; so over a long time it writes its rate times its share of time on, to the bit.
#[derive(Clone, Debug)]
pub struct Source {
    /// The time of a packet at the rate.
    every: Span,
    /// Mean times on and off; `None`: always on.
    law: Option<(Span, Span)>,
    /// The only time in which it limits its sender; `None`: all the time.
    limited: Option<LimitedTime>,
    chance: Chance,
    /// The number of the next packet.
    next: u64,
    /// When this time on began, how long the application had been on before, and how long it lasts.
    began: Time,
    before: Span,
    lasts: Span,
    /// The end of the run, after which no time on or off is drawn.
    end: Time,
    /// From then on no packet is ready.
    stops: Time,
}

/// The time in which an application with endless data limits its sender.
#[derive(Clone, Copy, Debug)]
struct LimitedTime {
    until: Time,
    /// Whether it writes nothing.
    is_silent: bool,
}

impl Source {
    /// The source of the flow `index` of `scenario`, which starts on at `start`; `None` where it has all to
    /// send from the start.
    pub fn of(scenario: &Scenario, index: u32, start: Time) -> Option<Source> {
        let flow = &scenario.flows[index as usize];
        let (rate, law) = match flow.traffic {
            Traffic::OnOff { rate, on, off } => (rate, Some((on, off))),
            Traffic::Cbr { rate, .. } => (rate, None),
            Traffic::Limited { rate, from, until } => {
                let (from, until) = ((Time::ZERO + from).max(start), Time::ZERO + until);
                let limited = LimitedTime { until, is_silent: rate.is_none() };
                let every = rate.map_or(Span::ZERO, |rate| rate.on_wire(flow.packet));
                return (start < until).then(|| Source::limited(scenario, every, from, limited));
            }
            _ => return None,
        };
        let mut chance = Chance::stream(scenario.seed, "source", index.into());
        let lasts = law.map_or(Span::ZERO, |(on, _)| wait(on.as_secs(), &mut chance));
        let every = rate.on_wire(flow.packet);
        let end = Time::ZERO + scenario.duration;
        let stops = match flow.traffic {
            Traffic::Cbr { until, .. } => Time::ZERO + until,
            _ => Time::NEVER,
        };
        let (before, limited) = (Span::ZERO, None);
        Some(Source { every, law, limited, chance, next: 0, began: start, before, lasts, end, stops })
    }

    fn limited(scenario: &Scenario, every: Span, from: Time, limited: LimitedTime) -> Source {
        let chance = Chance::stream(scenario.seed, "source", 0); // it draws nothing
        let (law, limited, end) = (None, Some(limited), Time::ZERO + scenario.duration);
        Source {
            every,
            law,
            limited,
            chance,
            next: 0,
            began: from,
            before: Span::ZERO,
            lasts: Span::ZERO,
            end,
            stops: Time::NEVER,
        }
    }

    /// When endless data end that are ready until then; `None`: packets are ready one after the other from the start.
    pub fn endless_until(&self) -> Option<Time> {
        self.limited.map(|_| self.began)
    }

    /// When data are endless again; never, where they are not before.
    pub fn endless_from(&self) -> Time {
        self.limited.map_or(Time::NEVER, |limited| limited.until)
    }

    /// When the next packet is ready, or all of them are; never earlier than the one before. After the end of the run it is
    /// not exact.
    pub fn next_at(&mut self) -> Time {
        let at = self.peek();
        self.next += 1;
        at
    }

    /// How many packets are ready before `time`, from the next one on. The next one then is the first
    /// that is not ready. Its cost is that of the times on, not that of the packets.
    pub fn skip_until(&mut self, time: Time) -> u64 {
        let first = self.next;
        if let Some(limited) = self.limited {
            let time = time.min(limited.until);
            if time > self.began && !limited.is_silent {
                self.next = self.next.max((time - self.began).as_ps().div_ceil(self.every.as_ps()));
            }
            return self.next - first;
        }
        let time = time.min(self.end + Span::from_ps(1)).min(self.stops);
        while self.peek() < time {
            let on = time - self.began;
            let on = self.law.map_or(on, |_| on.min(self.lasts));
            self.next = (self.before + on).as_ps().div_ceil(self.every.as_ps());
        }
        self.next - first
    }

    /// When the next packet is ready, which it stays.
    fn peek(&mut self) -> Time {
        if let Some(LimitedTime { until, is_silent }) = self.limited {
            let due = (until - self.began) / self.every.max(Span::from_ps(1)) >= self.next;
            return if due && !is_silent { until.min(self.began + self.every * self.next) } else { until };
        }
        let due = self.every * self.next;
        if let Some((on, off)) = self.law {
            while due >= self.before + self.lasts && self.began <= self.end {
                self.began += self.lasts + wait(off.as_secs(), &mut self.chance);
                self.before += self.lasts;
                self.lasts = wait(on.as_secs(), &mut self.chance);
            }
        }
        let at = self.began + (due - self.before);
        if at < self.stops { at } else { Time::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn source(traffic: &str, controller: &str) -> Source {
        let text = format!(
            r#"
            duration = "1 h"
            [bottleneck]
            rate = "1 Gbit/s"
            delay = "1 ms"
            queue = {{ kind = "droptail", capacity = "10 packets" }}
            [[flow]]
            name = "a"
            traffic = {traffic}
            {controller}
            "#
        );
        let scenario = read(&text, "source.toml", &[]).unwrap().base;
        let start = Time::ZERO + Span::from_s(1);
        Source::of(&scenario, 0, start).unwrap()
    }

    fn times(traffic: &str, controller: &str, count: usize) -> Vec<f64> {
        let mut source = source(traffic, controller);
        (0..count).map(|_| source.next_at().as_secs()).collect()
    }

    #[test]
    fn a_constant_rate_of_8_mbit_per_s_is_a_packet_of_1000_bytes_each_millisecond() {
        let times_s = times(r#"{ kind = "cbr", rate = "8 Mbit/s" }"#, "", 1001);
        assert_eq!((times_s[0], times_s[1], times_s[1000]), (1.0, 1.001, 2.0));
    }

    #[test]
    fn a_constant_rate_ends_before_its_last_time() {
        let mut source = source(r#"{ kind = "cbr", rate = "8 Mbit/s", until = "1.002 s" }"#, "");
        let mut counted = source.clone();
        let times = [0, 1, 2, 3].map(|_| source.next_at());
        assert_eq!(times.map(|at| at < Time::NEVER), [true, true, false, false]);
        assert_eq!(counted.skip_until(Time::ZERO + Span::from_s(9)), 2);
    }

    #[test]
    fn an_application_on_for_a_quarter_of_the_time_writes_a_quarter_of_its_rate() {
        let traffic = r#"{ kind = "onoff", rate = "8 Mbit/s", on = "100 ms", off = "300 ms" }"#;
        let times_s = times(traffic, "controller = \"reno\"", 500_000);
        // 500 s on in 5000 periods of 100 ms, each with 300 ms off: 2000 s. The time off of 5000 periods has
        // sigma sqrt(5000) x 0.3 = 21 s, their number sqrt(5000) = 71 periods of 0.3 s = 21 s: together 30 s.
        let took = times_s[times_s.len() - 1] - 1.0;
        assert!((took - 2000.0).abs() < 90.0, "{took}");
        // Breaks of more than a packet time: 5000, sigma 71.
        let breaks = times_s.windows(2).filter(|pair| pair[1] - pair[0] > 0.00101).count();
        assert!((4787..5213).contains(&breaks), "{breaks}");
    }

    #[test]
    fn packets_are_counted_as_one_by_one_between_any_two_times() {
        for traffic in [
            r#"{ kind = "cbr", rate = "8 Mbit/s" }"#,
            r#"{ kind = "onoff", rate = "8 Mbit/s", on = "5 ms", off = "3 ms" }"#,
            r#"{ kind = "onoff", rate = "80 kbit/s", on = "5 ms", off = "3 ms" }"#,
        ] {
            let controller = if traffic.contains("onoff") { "controller = \"reno\"" } else { "" };
            let mut one_by_one = source(traffic, controller);
            let mut counted = one_by_one.clone();
            let mut next = one_by_one.next_at();
            // Steps of 0 to 9.7 ms; each fourth ends at the time of a packet, which is not before it.
            let mut time = Time::ZERO + Span::from_s(1);
            for step in 0..20_000_u64 {
                time = if step % 4 == 3 { next } else { time + Span::from_us(step * 37 % 9_700) };
                let mut expected = 0;
                while next < time {
                    next = one_by_one.next_at();
                    expected += 1;
                }
                assert_eq!(counted.skip_until(time), expected, "{traffic}, step {step}");
            }
            assert_eq!(counted.next_at(), next);
        }
    }

    #[test]
    fn endless_data_end_for_a_time_in_which_packets_are_ready_at_a_rate() {
        let traffic = r#"{ kind = "limited", rate = "8 Mbit/s", from = "2 s", until = "2.0025 s" }"#;
        let mut limited = source(traffic, "controller = \"reno\"");
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        assert_eq!(limited.endless_until(), Some(at(2_000_000)));
        let mut counted = limited.clone();
        // Packets at 2, 2.001 and 2.002 s, and then all.
        let times = [0, 1, 2, 3].map(|_| limited.next_at());
        assert_eq!(times, [2_000_000, 2_001_000, 2_002_000, 2_002_500].map(at));
        assert_eq!(
            [2_000_000, 2_000_001, 2_002_000, 2_002_500].map(|us| counted.skip_until(at(us))),
            [0, 1, 1, 1]
        );
        assert_eq!(counted.endless_from(), at(2_002_500));
        // A pause has no packets, and a time that is over before the flow starts limits nothing.
        let pause = r#"{ kind = "limited", rate = "0 bit/s", until = "3 s" }"#;
        assert_eq!(source(pause, "controller = \"reno\"").next_at(), at(3_000_000));
    }

    #[test]
    fn a_packet_that_is_ready_long_after_the_run_draws_no_times_until_then() {
        // At 1 bit/s the second packet takes 8000 s on, that are 16,000,000 periods; 3,600,000 fit into the run.
        let traffic = r#"{ kind = "onoff", rate = "1 bit/s", on = "1 ms", off = "1 ms" }"#;
        let mut source = source(traffic, "controller = \"reno\"");
        assert_eq!(source.next_at().as_secs(), 1.0);
        assert!(source.next_at() > source.end);
        assert!(source.began < source.end + Span::from_s(1), "{:?}", source.began);
    }
}
