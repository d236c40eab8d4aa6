//! Whether a run has to end early: because it was asked to stop, or because it takes too much memory.

use fairhaul_units::Time;

use super::Engine;
use crate::control::RunError;

impl Engine {
    /// Publishes the time; ends the run where it was asked to stop, or takes too much memory.
    #[inline(never)]
    pub(super) fn check_limits(&mut self, now: Time) -> Result<(), RunError> {
        if self.control.report_time(now) {
            return Err(RunError::Stopped);
        }
        if self.network.limits.is_due() {
            let connections: u64 =
                self.connections.iter().flatten().map(|connection| connection.memory()).sum();
            let bytes = connections + self.network.memory();
            if self.network.limits.count(bytes) || self.network.limits.is_halted() {
                return Err(RunError::Full { at: now, what: self.what_fills(bytes) });
            }
        }
        Ok(())
    }

    /// What takes this amount of memory.
    fn what_fills(&self, bytes: u64) -> String {
        let open = || self.connections.iter().flatten();
        let waiting: u64 = open().map(|connection| connection.waiting()).sum();
        let most = open().max_by_key(|connection| connection.waiting());
        let of = most.map_or(String::new(), |connection| {
            format!(
                ", {} of them from flow \"{}\"",
                connection.waiting(),
                self.scenario.flows[connection.flow() as usize].name
            )
        });
        let before = self.network.longest_queue().filter(|(_, waiting)| *waiting > 0);
        let before = before.map_or(String::new(), |(link, waiting)| {
            format!(" ({waiting} are queued at link \"{}\")", self.scenario.links[link].name)
        });
        format!(
            "the packets and connections of this run take {} MB of memory, more than its limit: {waiting} \
             packets are in flight{of}{before}; limit the window or a queue, or lower the rate",
            bytes / 1_000_000
        )
    }
}
