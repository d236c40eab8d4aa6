//! When an application hands packets to its sender, where that is not all at once.

use fairhaul_units::{Chance, Span, Time};

use crate::plan::wait;
use crate::{Flow, Traffic};

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
    chance: Chance,
    /// The number of the next packet.
    next: u64,
    /// When this time on began, how long the application had been on before, and how long it lasts.
    began: Time,
    before: Span,
    lasts: Span,
}

impl Source {
    /// The source of the `index`-th flow, which starts on at `start`; `None` where it has all to send
    /// from the start.
    pub fn of(flow: &Flow, index: u32, start: Time, seed: u64) -> Option<Source> {
        let (rate, law) = match flow.traffic {
            Traffic::OnOff { rate, on, off } => (rate, Some((on, off))),
            Traffic::Cbr { rate } => (rate, None),
            _ => return None,
        };
        let mut chance = Chance::stream(seed, "source", index.into());
        let lasts = law.map_or(Span::ZERO, |(on, _)| wait(on.as_secs(), &mut chance));
        let every = rate.on_wire(flow.packet);
        Some(Source { every, law, chance, next: 0, began: start, before: Span::ZERO, lasts })
    }

    /// When the next packet is ready; never earlier than the one before.
    pub fn next_at(&mut self) -> Time {
        let due = self.every * self.next;
        self.next += 1;
        if let Some((on, off)) = self.law {
            while due >= self.before + self.lasts {
                self.began += self.lasts + wait(off.as_secs(), &mut self.chance);
                self.before += self.lasts;
                self.lasts = wait(on.as_secs(), &mut self.chance);
            }
        }
        self.began + (due - self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn times(traffic: &str, controller: &str, count: usize) -> Vec<f64> {
        let text = format!(
            r#"
            duration = "10 s"
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
        let mut source = Source::of(&scenario.flows[0], 0, start, 1).unwrap();
        (0..count).map(|_| source.next_at().as_secs()).collect()
    }

    #[test]
    fn a_constant_rate_of_8_mbit_per_s_is_a_packet_of_1000_bytes_each_millisecond() {
        let found = times(r#"{ kind = "cbr", rate = "8 Mbit/s" }"#, "", 1001);
        assert_eq!((found[0], found[1], found[1000]), (1.0, 1.001, 2.0));
    }

    #[test]
    fn an_application_on_for_a_quarter_of_the_time_writes_a_quarter_of_its_rate() {
        let traffic = r#"{ kind = "onoff", rate = "8 Mbit/s", on = "100 ms", off = "300 ms" }"#;
        let found = times(traffic, "controller = \"reno\"", 500_000);
        // 500 s on in 5000 periods of 100 ms, each with 300 ms off: 2000 s. The time off of 5000 periods has
        // sigma sqrt(5000) x 0.3 = 21 s, their number sqrt(5000) = 71 periods of 0.3 s = 21 s: together 30 s.
        let took = found[found.len() - 1] - 1.0;
        assert!((took - 2000.0).abs() < 90.0, "{took}");
        // Breaks of more than a packet time: 5000, sigma 71.
        let breaks = found.windows(2).filter(|pair| pair[1] - pair[0] > 0.00101).count();
        assert!((4787..5213).contains(&breaks), "{breaks}");
    }
}
