//! The receiver's side of accurate feedback [RFC 9768, 3.2]: the counters, and what each acknowledgement carries of them.

use fairhaul_experiment::{AccEcnOption, Middlebox};
use fairhaul_units::{AccurateEcn, Ack, Data, Ecn};

/// Packets with CE that had arrived when a connection opens, by agreement (r.cep), and bytes with ECT(0), CE and ECT(1).
pub(super) const FIRST_CEP: u64 = 5;
pub(super) const FIRST_BYTES: [u32; 3] = [1, 0, 1];
/// Packets with CE after which an acknowledgement leaves at once [RFC 9768, 3.2.2.5.1].
const CE_AT_ONCE: u64 = 2;
/// Acknowledgements with the option after a change, and bytes after which it is sent in any case [LINUX].
const AFTER_CHANGE: u8 = 2;
const BYTES_PER_OPTION: u64 = 1 << 22;

/// See the module.
#[derive(Clone, Debug)]
pub struct AccEcnFeedback {
    /// Of a data packet, bytes.
    headers: u32,
    option: AccEcnOption,
    middlebox: Middlebox,
    cep: u64,
    /// With ECT(0), CE and ECT(1).
    bytes: [u32; 3],
    last: Ecn,
    /// Packets with CE since the last acknowledgement.
    marked: u64,
    /// Acknowledgements that are yet to carry the option, and bytes since the last that did.
    due: u8,
    since_option: u64,
}

impl AccEcnFeedback {
    /// That of a connection that has just opened, whose data packets have headers of that many bytes.
    pub fn new(option: AccEcnOption, middlebox: Middlebox, headers: u32) -> AccEcnFeedback {
        AccEcnFeedback {
            headers,
            option,
            middlebox,
            cep: FIRST_CEP,
            bytes: FIRST_BYTES,
            last: Ecn::NotCapable,
            marked: 0,
            due: AFTER_CHANGE,
            since_option: 0,
        }
    }

    /// Data arrive: whether that is to be acknowledged at once, because the codepoint changes or marks have accumulated.
    pub fn arrives(&mut self, data: &Data) -> bool {
        let ecn = if self.middlebox == Middlebox::ClearsEcn { Ecn::NotCapable } else { data.ecn };
        let payload = data.payload(self.headers) as u32;
        self.since_option += u64::from(payload);
        let counter = match ecn {
            Ecn::NotCapable => None,
            Ecn::Capable => Some(0),
            Ecn::Marked => Some(1),
            Ecn::CapableL4s => Some(2),
        };
        if let Some(counter) = counter {
            self.bytes[counter] = self.bytes[counter].wrapping_add(payload) & 0xff_ffff;
        }
        if ecn == Ecn::Marked {
            self.cep += u64::from(data.packets);
            self.marked += u64::from(data.packets);
        }
        let changes = std::mem::replace(&mut self.last, ecn) != ecn;
        if changes {
            self.due = AFTER_CHANGE;
        }
        changes || self.marked >= CE_AT_ONCE
    }

    /// An acknowledgement leaves, and reports the marks.
    pub fn stamp(&mut self, ack: &mut Ack) {
        self.marked = 0;
        let clears = self.middlebox == Middlebox::ClearsAce && !ack.opens;
        ack.accurate = AccurateEcn::of(if clears { 0 } else { (self.cep % 8) as u8 });
        let wanted = match self.option {
            AccEcnOption::Never => false,
            // Shows whether options pass [RFC 9768, 3.2.3.2.1].
            _ if ack.opens => true,
            AccEcnOption::Minimum => self.due > 0 || self.since_option >= BYTES_PER_OPTION,
            AccEcnOption::Always => true,
        };
        if self.middlebox == Middlebox::RemovesOption || !wanted {
            return;
        }
        ack.set_counters(self.bytes, self.last.is_l4s());
        if ack.opens {
            return;
        }
        self.due = self.due.saturating_sub(1);
        self.since_option = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{EcnCounters, Sending, Time};

    fn data(ecn: Ecn, packets: u8) -> Data {
        let (stamped, size) = (Time::ZERO, 1000 * u32::from(packets));
        Data { number: 0, stamped, size, packets, sending: Sending::First, ecn, cwr: false, congestion: None }
    }

    /// That of a connection whose packets have 40 B of headers.
    fn begun(option: AccEcnOption, middlebox: Middlebox) -> AccEcnFeedback {
        AccEcnFeedback::new(option, middlebox, 40)
    }

    fn said(feedback: &mut AccEcnFeedback) -> (Option<u8>, Option<EcnCounters>) {
        let mut ack = Ack::default();
        feedback.stamp(&mut ack);
        (ack.accurate.ace(), ack.counters())
    }

    /// It begins with 5 and counts packets with CE modulo 8; bytes are those of the payload, 960 of a packet.
    // Requirement: rfc9768-3.2-a, rfc9768-3.2.2-a, rfc9768-3.2.2.2-a, rfc9768-3.2.3.3-c
    #[test]
    fn marked_packets_and_the_bytes_of_each_codepoint_are_counted() {
        let mut feedback = begun(AccEcnOption::Always, Middlebox::None);
        assert_eq!(said(&mut feedback).0, Some(5));
        feedback.arrives(&data(Ecn::CapableL4s, 1));
        feedback.arrives(&data(Ecn::Marked, 2));
        feedback.arrives(&data(Ecn::Capable, 1));
        feedback.arrives(&data(Ecn::NotCapable, 1));
        let counters = EcnCounters { ect0: Some(961), ce: Some(1920), ect1: Some(961) };
        assert_eq!(said(&mut feedback), (Some(7), Some(counters)));
        feedback.arrives(&data(Ecn::Marked, 3));
        assert_eq!(said(&mut feedback).0, Some(2));
    }

    // Requirement: rfc9768-3.2.2.5.1-a, rfc9768-3.2.2.5.1-b, rfc9768-3.2.2.5.1-c, rfc9768-3.2.2.5.1-f
    #[test]
    fn a_change_of_the_codepoint_and_every_second_mark_are_acknowledged_at_once() {
        let mut feedback = begun(AccEcnOption::Always, Middlebox::None);
        let mut arrives = |ecn, acks: bool| {
            let at_once = feedback.arrives(&data(ecn, 1));
            if acks {
                said(&mut feedback);
            }
            at_once
        };
        assert_eq!([arrives(Ecn::Capable, true), arrives(Ecn::Capable, true)], [true, false]);
        assert_eq!(
            [arrives(Ecn::Marked, true), arrives(Ecn::Marked, false), arrives(Ecn::Marked, true)],
            [true, false, true]
        );
    }

    /// `minimum`: two options after a change, and one after 4 MiB.
    // Requirement: rfc9768-3.2.3.3-c, rfc9768-3.2.3.3-e, rfc9768-3.2.3.3-f
    #[test]
    fn options_follow_changes_or_are_never_sent() {
        let mut least = begun(AccEcnOption::Minimum, Middlebox::None);
        let options = |feedback: &mut AccEcnFeedback| [0; 3].map(|_| said(feedback).1.is_some());
        assert_eq!(options(&mut least), [true, true, false]);
        least.arrives(&data(Ecn::Marked, 1));
        assert_eq!(options(&mut least), [true, true, false]);
        (0..4370).for_each(|_| _ = least.arrives(&data(Ecn::Marked, 1)));
        assert_eq!(options(&mut least), [true, false, false]);
        assert_eq!(options(&mut begun(AccEcnOption::Never, Middlebox::None)), [false; 3]);
        assert_eq!(options(&mut begun(AccEcnOption::Always, Middlebox::RemovesOption)), [false; 3]);
    }

    // Requirement: rfc9768-3.2.3-d, rfc9768-3.2.3.2.1-b
    #[test]
    fn the_answer_to_a_request_has_the_option() {
        let of = |option, middlebox| {
            let mut answer = Ack { opens: true, ..Ack::default() };
            let mut feedback = begun(option, middlebox);
            feedback.stamp(&mut answer);
            (answer.counters(), said(&mut feedback).1.is_some())
        };
        let first = EcnCounters { ect0: Some(1), ce: Some(0), ect1: Some(1) };
        assert_eq!(of(AccEcnOption::Minimum, Middlebox::None), (Some(first), true));
        assert_eq!(of(AccEcnOption::Never, Middlebox::None), (None, false));
        assert_eq!(of(AccEcnOption::Always, Middlebox::RemovesOption), (None, false));
    }

    #[test]
    fn a_middlebox_clears_the_codepoint_or_the_three_bits() {
        let mut bleached = begun(AccEcnOption::Always, Middlebox::ClearsEcn);
        bleached.arrives(&data(Ecn::Marked, 1));
        assert_eq!(said(&mut bleached).0, Some(5));
        assert_eq!(said(&mut begun(AccEcnOption::Always, Middlebox::ClearsAce)).0, Some(0));
    }
}
