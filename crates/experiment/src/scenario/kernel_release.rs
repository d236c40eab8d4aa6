//! What differs between releases of Linux in its hosts.

/// A release of Linux; the default is the one that [`crate::HostSettings`] describes otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelRelease {
    /// 5.4, 5.10 and 5.15: bursts on short paths are sized by the pacing rate alone.
    Linux5,
    /// 5.18 to 6.5, 6.1 among them.
    Linux6,
    /// 6.6 to 6.15, 6.12 among them: the receive window counts what packets take in memory.
    #[default]
    Linux6_6,
    /// From 6.16 on, on hosts of at least 4 GB: larger buffers, and more may wait at a card.
    Linux6_16,
}

impl KernelRelease {
    /// Its word in a scenario: the release of long support that it stands for.
    pub fn name(self) -> &'static str {
        match self {
            KernelRelease::Linux5 => "5.15",
            KernelRelease::Linux6 => "6.1",
            KernelRelease::Linux6_6 => "6.12",
            KernelRelease::Linux6_16 => "6.18",
        }
    }

    /// That of a version such as `6.12.117`; `None`: it is none.
    pub fn of_version(version: &str) -> Option<KernelRelease> {
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
        let number: (u32, u32) = (numbers.next()??, numbers.next()??);
        let last = [(5, 17), (6, 5), (6, 15)].into_iter().filter(|last| number > *last).count();
        Some(
            [KernelRelease::Linux5, KernelRelease::Linux6, KernelRelease::Linux6_6, KernelRelease::Linux6_16]
                [last],
        )
    }

    /// The largest size of a receive buffer, bytes (tcp_rmem, on hosts with memory enough).
    pub fn largest_rmem(self) -> u64 {
        if self >= KernelRelease::Linux6_16 { 32 << 20 } else { 6 << 20 }
    }

    /// Whether a burst is longer the shorter the round trip is (tcp_tso_rtt_log, since 5.18).
    pub fn sizes_by_round_trip(self) -> bool {
        self >= KernelRelease::Linux6
    }

    /// Whether half of a receive buffer is payload (tcp_adv_win_scale, up to 6.5); else what was measured.
    pub fn halves_receive_buffer(self) -> bool {
        self < KernelRelease::Linux6_6
    }

    /// The most bytes of a socket that wait at a card (tcp_limit_output_bytes), and whether that also holds for sockets
    /// that pace.
    pub fn most_at_card(self) -> (u64, bool) {
        if self >= KernelRelease::Linux6_16 { (4 << 20, true) } else { (1 << 20, false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_of_the_release_whose_hosts_it_has() {
        let of = |version| KernelRelease::of_version(version).map(KernelRelease::name);
        let versions =
            ["4.18.0-553.el8", "5.15.0-105", "5.18", "6.1.192", "6.5.3", "6.6.0", "6.12.117", "6.18.44-rc1"];
        let names = ["5.15", "5.15", "6.1", "6.1", "6.1", "6.12", "6.12", "6.18"];
        assert_eq!(versions.map(of), names.map(Some));
        assert_eq!([of("x"), of("6"), of("")], [None; 3]);
    }
}
