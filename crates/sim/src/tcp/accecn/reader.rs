//! The sender's side of accurate feedback [RFC 9768, A.2; LINUX, __tcp_accecn_process]: how many packets were marked.
//!
//! Three bits count packets modulo 8. Where one acknowledgement delivers more than seven packets, they may have wrapped: the
//! counters of bytes decide, or without them the larger number is assumed, unless acknowledgements usually deliver many: then
//! none that could have counted them was lost.

use fairhaul_units::{Ack, EcnCounters};

use super::feedback::{FIRST_BYTES, FIRST_CEP};

/// From this number of packets in one acknowledgement on, the share of marked bytes says how often the bits have wrapped.
const SURE: u64 = 16;
/// Packets in an acknowledgement on average above which a lost one is not assumed, and the weight of the last one in that
/// average, as a power of two [LINUX].
const MANY: u64 = 4;
const WEIGHT: u32 = 6;
/// Payload after which an option that has never come is not awaited any more.
const WITHOUT_OPTION: u64 = 8_000_000;

/// Whether the option is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionState {
    Unseen,
    Works,
    Ignored,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// This number of the packets that it delivers was marked, or more.
    Marked(u64),
    /// A middlebox clears the three bits: nothing can be said of marks, and data must not be sent with ECT any more.
    Mangled,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct AccEcnReader {
    cep: u64,
    /// With ECT(0), CE and ECT(1).
    bytes: [u32; 3],
    option: OptionState,
    delivered: u64,
    /// Marked packets among the packets that the last acknowledgement delivered.
    marked: u64,
    /// Packets that an acknowledgement delivers on average, in units of 2^-6.
    usual: u64,
}

impl Default for AccEcnReader {
    fn default() -> AccEcnReader {
        AccEcnReader {
            cep: FIRST_CEP,
            bytes: FIRST_BYTES,
            option: OptionState::Unseen,
            delivered: 0,
            marked: 0,
            usual: 0,
        }
    }
}

impl AccEcnReader {
    /// Marked packets among the packets that the last acknowledgement delivered.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// The next acknowledgement is not read.
    pub fn skip(&mut self) {
        self.marked = 0;
    }

    /// Reads an acknowledgement that delivers a number of packets and their payload; `mss`: that of a full one; `is_sure`: all
    /// deliveries are known, by SACK or because nothing is missing.
    pub fn read(&mut self, ack: &Ack, packets: u64, bytes: u64, mss: u64, is_sure: bool) -> Reading {
        self.marked = 0;
        let Some(ace) = ack.accurate.ace() else { return Reading::Marked(0) };
        let is_first = self.delivered == 0;
        self.delivered += bytes;
        if is_first && packets > 0 && ace == 0 {
            return Reading::Mangled;
        }
        let marked_bytes = self.read_option(ack);
        if packets == 0 {
            return Reading::Marked(0);
        }
        let last = packets << WEIGHT;
        self.usual =
            if self.usual == 0 { last } else { ((self.usual << WEIGHT) - self.usual + last) >> WEIGHT };
        let delta = u64::from(ace).wrapping_sub(self.cep) % 8;
        let assumes_loss = self.usual <= MANY << WEIGHT;
        self.marked = decide(delta, packets, (bytes, marked_bytes), mss, is_sure, assumes_loss);
        self.cep += self.marked;
        Reading::Marked(self.marked)
    }

    /// How many bytes were marked since the last option; `None`: there is none that can be believed.
    fn read_option(&mut self, ack: &Ack) -> Option<u64> {
        let Some(EcnCounters { ect0, ce, ect1 }) = ack.counters() else {
            if self.option == OptionState::Unseen && self.delivered > WITHOUT_OPTION {
                self.option = OptionState::Ignored;
            }
            return None;
        };
        if self.option == OptionState::Unseen {
            // Both begin with 1, so a zero is not the receiver's.
            let is_zeroed = ect0 == Some(0) || ect1 == Some(0);
            self.option = if is_zeroed { OptionState::Ignored } else { OptionState::Works };
        }
        if self.option == OptionState::Ignored {
            return None;
        }
        let (mut changed, mut fell, mut of_ce) = (0, false, 0);
        for (index, (field, last)) in [ect0, ce, ect1].into_iter().zip(&mut self.bytes).enumerate() {
            let Some(field) = field else { continue };
            let delta = field.wrapping_sub(*last) & 0xff_ffff;
            *last = field;
            changed += usize::from(delta > 0);
            fell |= delta >= 1 << 23;
            of_ce = if index == 1 { delta } else { of_ce };
        }
        // Differs from [LINUX]: several counters may have changed since the last option that came.
        (!fell && (changed > 0 || of_ce == 0)).then_some(u64::from(of_ce))
    }
}

/// Packets marked, of `packets` with that payload, if their number is `delta` modulo 8 and `marked_bytes` were marked.
fn decide(
    delta: u64,
    packets: u64,
    (bytes, marked_bytes): (u64, Option<u64>),
    mss: u64,
    is_sure: bool,
    assumes_loss: bool,
) -> u64 {
    if packets <= 7 {
        return delta.min(packets);
    }
    let most = packets - packets.wrapping_sub(delta) % 8;
    match marked_bytes {
        None if assumes_loss => most,
        None | Some(0) => delta,
        Some(marked) if packets >= SURE && is_sure => {
            if bytes <= marked {
                return most;
            }
            let share = (marked * packets).div_ceil(bytes);
            most.min(delta + (share & !7))
        }
        Some(marked) if marked > delta * mss => most,
        Some(marked) if marked < most * mss / 2 => delta,
        Some(_) => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::AccurateEcn;

    fn ack(ace: u8, counters: Option<[u32; 3]>) -> Ack {
        let mut ack = Ack { accurate: AccurateEcn::of(ace), ..Ack::default() };
        if let Some(counters) = counters {
            ack.set_counters(counters, false);
        }
        ack
    }

    /// Seven packets at most: the difference modulo 8. From 5: 6 is one, 4 is seven.
    // Requirement: rfc9768-3.2.2-a
    #[test]
    fn up_to_seven_packets_the_three_bits_are_enough() {
        let mut reader = AccEcnReader::default();
        let mut read = |ace| match reader.read(&ack(ace, None), 7, 7000, 1000, true) {
            Reading::Marked(marked) => marked,
            Reading::Mangled => 99,
        };
        assert_eq!([read(5), read(6), read(5), read(5)], [0, 1, 7, 0]);
    }

    /// 20 packets and a difference of 3: 3, 11 or 19 were marked. Without an option 19 are assumed.
    // Requirement: rfc9768-3.2.2.5.2-a, rfc9768-3.2.3.2.5-a
    #[test]
    fn where_the_bits_may_have_wrapped_the_counters_decide() {
        let of = |marked_bytes| decide(3, 20, (20_000, marked_bytes), 1000, true, true);
        assert_eq!(
            [of(None), of(Some(0)), of(Some(3000)), of(Some(11_000)), of(Some(19_000))],
            [19, 3, 3, 11, 19]
        );
        assert_eq!(of(Some(20_000)), 19);
        // Of 12 packets 3 or 11: more than three packets of bytes are eleven, fewer than half of eleven are three.
        let of = |marked_bytes| decide(3, 12, (12_000, Some(marked_bytes)), 1000, true, true);
        assert_eq!([of(3000), of(3001), of(11_000)], [3, 11, 11]);
    }

    /// Acknowledgements of 20 packets without an option: one may be the sum of several only if they are usually smaller.
    // Requirement: rfc9768-3.2.2.5.2-a
    #[test]
    fn where_acknowledgements_usually_deliver_many_the_smaller_number_is_taken() {
        let mut reader = AccEcnReader::default();
        reader.read(&ack(5, None), 1, 1000, 1000, true);
        assert_eq!(reader.read(&ack(0, None), 20, 20_000, 1000, true), Reading::Marked(19));
        (0..20).for_each(|_| _ = reader.read(&ack(0, None), 20, 20_000, 1000, true));
        assert_eq!(reader.read(&ack(3, None), 20, 20_000, 1000, true), Reading::Marked(3));
    }

    /// From 20 packets on in which 0 to 20 full packets are marked, the counters give the number.
    // Requirement: rfc9768-3.2.3-d, rfc9768-3.2.3.2.5-a
    #[test]
    fn with_counters_every_number_of_marks_is_found() {
        for marked in 0..=20u64 {
            let mut reader = AccEcnReader::default();
            reader.read(&ack(5, None), 1, 1000, 1000, true); // a first one with three marks would look cleared
            let counters = Some([1, 1000 * marked as u32, 1 + 1000 * (20 - marked) as u32]);
            let read = reader.read(&ack(((5 + marked) % 8) as u8, counters), 20, 20_000, 1000, true);
            assert_eq!(read, Reading::Marked(marked));
        }
    }

    // Requirement: rfc9768-3.2.2.4-b
    #[test]
    fn a_first_acknowledgement_with_cleared_bits_is_mangled() {
        assert_eq!(AccEcnReader::default().read(&ack(0, None), 1, 1000, 1000, true), Reading::Mangled);
        let mut reader = AccEcnReader::default();
        reader.read(&ack(5, None), 1, 1000, 1000, true);
        assert_eq!(reader.read(&ack(0, None), 4, 4000, 1000, true), Reading::Marked(3));
    }

    /// Zeroed fields in the first option, or none in 8 MB: options are not believed any more, and 19 of 20 are assumed.
    // Requirement: rfc9768-3.2.3-e, rfc9768-3.2.3.2.3-a, rfc9768-3.2.3.2.4-a, rfc9768-3.2.3.2.4-b
    #[test]
    fn an_option_that_a_middlebox_has_changed_or_removed_is_ignored() {
        let wrapped =
            |reader: &mut AccEcnReader, ace| reader.read(&ack(ace, Some([2, 1, 2])), 20, 20_000, 1000, true);
        let mut zeroed = AccEcnReader::default();
        zeroed.read(&ack(5, Some([0, 0, 0])), 1, 1000, 1000, true);
        assert_eq!(wrapped(&mut zeroed, 0), Reading::Marked(19));
        let mut removed = AccEcnReader::default();
        for _ in 0..8002 {
            removed.read(&ack(5, None), 1, 1000, 1000, true);
        }
        assert_eq!(wrapped(&mut removed, 0), Reading::Marked(19));
        assert_eq!(wrapped(&mut AccEcnReader::default(), 0), Reading::Mangled);
        // A counter that fell is not the receiver's.
        let mut fell = AccEcnReader::default();
        fell.read(&ack(5, Some([5000, 5000, 1])), 1, 1000, 1000, true);
        assert_eq!(fell.read(&ack(0, Some([5000, 10, 1])), 20, 20_000, 1000, true), Reading::Marked(19));
    }
}
