//! What the engine `linux` does to marks and to their feedback between two hosts: codepoints that the kernel does not send, and
//! middleboxes. Hosts check no sums of TCP there, so these are not kept.

use fairhaul_experiment::Middlebox;
use fairhaul_units::Ecn;

use super::{Network, Travel};
use crate::lab::headers::set_codepoint;
use crate::lab::layout::MarksOnPath;
use crate::lab::tcp_header::TcpHeader;

/// Where the three bits are in a TCP header.
const AE: (usize, u8) = (12, 1);
const CWR_AND_ECE: (usize, u8) = (13, 128 | 64);
/// An option without content.
const PADDING: u8 = 1;

impl Network {
    /// The packet in a slot leaves its host.
    pub(super) fn leave_with_marks(&mut self, slot: u32) {
        let packet = &mut self.packets[slot as usize];
        let marks = self.routes[packet.travel.flow as usize].marks;
        if marks != MarksOnPath::default() {
            marks.leave(&mut packet.travel, &mut packet.bytes);
        }
    }
}

impl MarksOnPath {
    /// A packet leaves its host.
    fn leave(self, travel: &mut Travel, packet: &mut [u8]) {
        let headers = &mut travel.headers;
        if self.ect1 && travel.forward && headers.carries_data() && headers.ecn == Ecn::Capable {
            set_codepoint(packet, Ecn::CapableL4s);
            headers.ecn = Ecn::CapableL4s;
        }
        let opens = headers.segment.is_some_and(|segment| segment.opens);
        match (self.middlebox, travel.forward, opens) {
            (Middlebox::RemovesOption, false, _) => remove_option(packet),
            (Middlebox::ClearsAce, false, false) => clear(packet, &[AE, CWR_AND_ECE]),
            _ => {}
        }
    }

    /// A packet reaches the other host, behind all links.
    pub(super) fn arrive(self, travel: &Travel, packet: &mut [u8]) {
        let opens = travel.headers.segment.is_some_and(|segment| segment.opens);
        match (self.middlebox, travel.forward, opens) {
            (Middlebox::ClearsRequest, true, true) => clear(packet, &[AE, CWR_AND_ECE]),
            (Middlebox::ClearsAe, true, true) => clear(packet, &[AE]),
            (Middlebox::SetsEct, true, true) => set_codepoint(packet, Ecn::Capable),
            (Middlebox::ClearsEcn, true, false) => set_codepoint(packet, Ecn::NotCapable),
            _ => {}
        }
    }
}

/// Where the TCP header of a packet of IPv4 begins.
fn tcp_at(packet: &[u8]) -> usize {
    usize::from(packet[0] & 15) * 4
}

fn clear(packet: &mut [u8], bits: &[(usize, u8)]) {
    let at = tcp_at(packet);
    for (byte, mask) in bits {
        if let Some(byte) = packet.get_mut(at + byte) {
            *byte &= !mask;
        }
    }
}

fn remove_option(packet: &mut [u8]) {
    let at = tcp_at(packet);
    if let Some(place) = TcpHeader::of(packet).and_then(|header| header.accurate_option()) {
        packet[at + place.start..at + place.end].fill(PADDING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::headers::Headers;
    use crate::lab::headers::tests::segment;
    use crate::lab::tcp_header::tests::with_options;
    use fairhaul_units::{Sending, Time};

    const SYN: u8 = 2;
    const OPTION: [u8; 12] = [172, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1];

    /// What the three bits, the option and the codepoint of a packet are at the other host.
    fn passed(marks: MarksOnPath, forward: bool, flags: u8, payload: usize) -> (u8, bool, Ecn) {
        let (from, to) = if forward { (0, 1) } else { (1, 0) };
        let mut packet = with_options(segment(from, to, 7, 0, 0), flags | 128 | 64, &OPTION);
        packet[32] |= 1;
        packet.extend(vec![0; payload]);
        let size = packet.len() as u16;
        packet[2..4].copy_from_slice(&size.to_be_bytes());
        if payload > 0 {
            set_codepoint(&mut packet, Ecn::Capable);
        }
        let headers = Headers::read(&packet).expect("it is a segment");
        let sending = Sending::First;
        let mut travel = Travel { headers, flow: 0, forward, sending, hop: 0, sent: Time::ZERO };
        marks.leave(&mut travel, &mut packet);
        assert_eq!(travel.headers.ecn, Headers::read(&packet).expect("it is a segment").ecn);
        marks.arrive(&travel, &mut packet);
        let header = TcpHeader::of(&packet).expect("it is a segment");
        (header.ace(), header.counters().is_some(), Headers::read(&packet).expect("it is a segment").ecn)
    }

    #[test]
    fn a_middlebox_changes_what_its_name_says_and_nothing_else() {
        use Middlebox::{ClearsAce, ClearsAe, ClearsEcn, ClearsRequest, None, RemovesOption, SetsEct};
        let all = |middlebox| {
            let marks = MarksOnPath { middlebox, ..MarksOnPath::default() };
            let request = passed(marks, true, SYN, 0);
            let answer = passed(marks, false, SYN, 0);
            (request, answer, passed(marks, true, 0, 100), passed(marks, false, 0, 0))
        };
        let plain = (7, true, Ecn::NotCapable);
        let data = (7, true, Ecn::Capable);
        assert_eq!(all(None), (plain, plain, data, plain));
        assert_eq!(all(ClearsRequest), ((0, true, Ecn::NotCapable), plain, data, plain));
        assert_eq!(all(ClearsAe), ((3, true, Ecn::NotCapable), plain, data, plain));
        assert_eq!(all(ClearsAce), (plain, plain, data, (0, true, Ecn::NotCapable)));
        assert_eq!(
            all(RemovesOption),
            (plain, (7, false, Ecn::NotCapable), data, (7, false, Ecn::NotCapable))
        );
        assert_eq!(all(ClearsEcn), (plain, plain, (7, true, Ecn::NotCapable), plain));
        assert_eq!(all(SetsEct), ((7, true, Ecn::Capable), plain, data, plain));
    }

    #[test]
    fn data_get_ect_1_where_it_is_asked_for() {
        let marks = MarksOnPath { ect1: true, ..MarksOnPath::default() };
        assert_eq!(passed(marks, true, 0, 100).2, Ecn::CapableL4s);
        assert_eq!(passed(marks, true, 0, 0).2, Ecn::NotCapable);
        assert_eq!(passed(marks, false, 0, 100).2, Ecn::Capable);
    }
}
