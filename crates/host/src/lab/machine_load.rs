//! The load of the machine's processors during a run, by all processes.

use std::fs;
use std::io;
use std::time::Instant;

use serde::Serialize;

/// Counters of the machine at one time.
#[derive(Clone, Copy, Debug)]
pub struct MachineCounters {
    at: Instant,
    /// Ticks in which a processor had something to do, and all of them.
    ticks: (u64, u64),
    /// Microseconds in which a task waited for a processor; none if the kernel does not count them.
    waited_us: Option<u64>,
}

/// The load between two times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MachineLoad {
    /// The share of the time of all processors in which they had something to do, as the kernel samples it at its
    /// ticks: a task that runs between them, as the router does, hardly contributes.
    pub busy: f64,
    /// The share of the time in which a runnable task waited for a processor.
    pub waited: Option<f64>,
}

impl MachineCounters {
    /// The counters now.
    pub fn now() -> io::Result<MachineCounters> {
        let pressure = fs::read_to_string("/proc/pressure/cpu").ok();
        Ok(MachineCounters {
            at: Instant::now(),
            ticks: ticks(&fs::read_to_string("/proc/stat")?),
            waited_us: pressure.and_then(|text| waited_us(&text)),
        })
    }

    /// The load since `before`.
    pub fn since(&self, before: &MachineCounters) -> MachineLoad {
        let (busy, all) = (self.ticks.0 - before.ticks.0, self.ticks.1 - before.ticks.1);
        let elapsed_us = (self.at - before.at).as_secs_f64() * 1e6;
        let waited = self.waited_us.zip(before.waited_us);
        MachineLoad {
            busy: busy as f64 / all.max(1) as f64,
            waited: waited.map(|(after, before)| (after - before) as f64 / elapsed_us),
        }
    }
}

/// Of `/proc/stat`: user, nice, system, idle, waiting for devices, interrupts; guests are counted with users.
fn ticks(stat: &str) -> (u64, u64) {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = first.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let all: u64 = ticks.iter().take(8).sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    (all - idle, all)
}

/// Of `/proc/pressure/cpu`: `some avg10=… total=…`.
fn waited_us(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find(|line| line.starts_with("some"))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_130_ticks_110_were_busy_and_half_a_second_was_waited() {
        let stat = "cpu  50 20 30 15 5 4 3 3 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(ticks(stat), (110, 130)); // 50 + 20 + 30 + 4 + 3 + 3
        let pressure = "some avg10=0.65 avg60=4.70 avg300=12.44 total=500000\nfull avg10=0.00 total=0\n";
        assert_eq!(waited_us(pressure), Some(500_000));
    }

    #[test]
    fn a_second_of_work_is_measured() {
        let before = MachineCounters::now().unwrap();
        let begun = Instant::now();
        while begun.elapsed().as_secs_f64() < 1.0 {}
        let load = MachineCounters::now().unwrap().since(&before);
        assert!(load.busy > 0.0 && load.busy <= 1.0, "{load:?}");
        assert!(load.waited.is_none_or(|share| (0.0..=1.01).contains(&share)), "{load:?}");
    }
}
