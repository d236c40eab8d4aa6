//! The classes of CAKE: which tin a DSCP belongs to, and what part of the rate a tin has [LINUX].

use fairhaul_units::words;

words! {
    /// How many tins there are.
    pub enum Tins {
        /// One.
        BestEffort = "besteffort",
        /// Best effort, bulk, voice.
        Diffserv3 = "diffserv3",
        /// Best effort, bulk, video, voice.
        Diffserv4 = "diffserv4",
    }
}

const CS1: u8 = 8;
const LE: u8 = 1;
const TOS4: u8 = 4;
/// CS6, CS7, EF and VA.
const VOICE: [u8; 4] = [48, 56, 46, 44];
/// CS5 and CS4, in four tins.
const MORE_VOICE: [u8; 2] = [40, 32];
/// AF4x, AF3x, CS3, AF2x and CS2.
const VIDEO: [u8; 11] = [34, 36, 38, 26, 28, 30, 24, 18, 20, 22, 16];

impl Tins {
    /// The shifts of the rate of each: its rate is that of the link divided by 2 that many times.
    pub(super) fn shifts(self) -> &'static [u32] {
        match self {
            Tins::BestEffort => &[0],
            Tins::Diffserv3 => &[0, 4, 2],
            Tins::Diffserv4 => &[0, 4, 1, 2],
        }
    }

    /// The tin of a DSCP.
    pub(super) fn of(self, dscp: u8) -> usize {
        match self {
            Tins::BestEffort => 0,
            _ if dscp == CS1 || dscp == LE => 1,
            Tins::Diffserv3 if VOICE.contains(&dscp) || dscp == TOS4 => 2,
            Tins::Diffserv4 if VOICE.contains(&dscp) || MORE_VOICE.contains(&dscp) => 3,
            Tins::Diffserv4 if VIDEO.contains(&dscp) || dscp == TOS4 => 2,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Best effort, LE, CS1, AF41, CS4, EF.
    #[test]
    fn a_dscp_has_its_tin() {
        let of = |tins: Tins| [0, 1, 8, 34, 32, 46].map(|dscp| tins.of(dscp));
        assert_eq!(of(Tins::BestEffort), [0; 6]);
        assert_eq!(of(Tins::Diffserv3), [0, 1, 1, 0, 0, 2]);
        assert_eq!(of(Tins::Diffserv4), [0, 1, 1, 2, 3, 3]);
    }
}
