//! The XCP sender [XCP, XCP-SPEC]: each packet reports its rate and its round-trip time to routers, and the sender applies
//! the change of its rate that they return. Routers share the link; the sender decides nothing but
//! what to do at a loss, and how to give back a rate that it does not use.
//!
//! It needs routers with the queue `xcp`. Where no router answers, its wish comes back as it was.

use fairhaul_units::{Bytes, CONGESTION_HEADER, Parameter, Settings, Span, parameters, words};

use crate::{AckEvent, Catalogued, Congestion, Controller, Needs, ProbeCycle, Request, Window};

/// XCP's sender.
#[derive(Clone, Debug)]
pub struct Xcp {
    /// Share of an unused rate that a round gives back, p.
    ageing: f64,
    variant: XcpVariant,
    /// Whether it asks for more.
    asks: bool,
    /// Whether the window was all in use at some time of the round under way, and the most in flight.
    used: bool,
    most: f64,
}

words! {
    /// What an acknowledgement carries of the answers.
    pub enum XcpVariant {
        /// Those since the last acknowledgement.
        Spec = "spec",
        /// Their sum.
        XcpR = "xcp-r",
    }
}

parameters! {
    /// The parameters of XCP's sender.
    pub(crate) struct XcpParameters {
        variant: Word(XcpVariant) = XcpVariant::Spec,
            "feedback carried by an ACK: since the last ACK, or cumulative, so that a lost ACK loses no \
             feedback [XCP-SPEC, XCP-R]";
        ageing: Number(0.0..=1.0) = 0.5,
            "fraction of the unused rate that is returned per round trip [XCP-SPEC]";
    }
}

impl Xcp {
    pub(crate) const TITLE: &'static str = "XCP: sends at the rate that routers assign; needs the queue xcp";
    pub(crate) const SOURCE: &'static str = "XCP-SPEC";
    pub(crate) const PARAMETERS: &'static [Parameter] = XcpParameters::LIST;

    pub(crate) fn new(given: XcpParameters) -> Xcp {
        Xcp { ageing: given.ageing, variant: given.variant, asks: true, used: true, most: 0.0 }
    }

    /// The window moves to `cwnd`, and the threshold with it: there is no slow start.
    fn go_to(window: &mut Window, cwnd: f64) {
        window.cwnd = cwnd.max(1.0);
        window.ssthresh = window.cwnd.max(2.0);
    }
}

impl Catalogued for Xcp {
    const HEADER: Bytes = CONGESTION_HEADER;

    /// Routers shuffle a tenth of the traffic in each round trip, so that shares become equal [XCP].
    fn probe_cycle(_: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle::rounds(10.0))
    }
}

impl Controller for Xcp {
    // Unclear in [XCP-SPEC, 3.1]: which rate an endless sender requests. The rate that its host can send:
    // [NS-2] requests more than any link has, and would get it where no router answers.
    fn request(&self, window: &Window, srtt: Span, line: f64) -> Option<Request> {
        if srtt.is_zero() {
            return Some(Request { gap: srtt, rtt: srtt, change: 0.0 });
        }
        let rate = window.cwnd / srtt.as_secs();
        // The packets of a round ask for the difference together.
        let change = if self.asks { (line - rate).max(0.0) / window.cwnd } else { 0.0 };
        Some(Request { gap: Span::from_secs(1.0 / rate), rtt: srtt, change })
    }

    // Unclear in [XCP-SPEC, 3.2]: whether the window counts headers. It does, as routers count them.
    fn on_feedback(&mut self, window: &mut Window, change: f64, srtt: Span) {
        Xcp::go_to(window, window.cwnd + change * srtt.as_secs());
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        if ack.new_round {
            // Not while it recovers: then the window says nothing of what the flow could use.
            self.asks = self.used || ack.recovering;
            if !self.asks && self.most < window.cwnd {
                let kept = (1.0 - self.ageing) * window.cwnd + self.ageing * self.most;
                Xcp::go_to(window, kept);
            }
            (self.used, self.most) = (false, 0.0);
        }
        self.most = self.most.max(ack.in_flight + ack.packets);
    }

    fn on_ack(&mut self, _: &mut Window, _: &AckEvent) {
        self.used = true;
    }

    fn on_slow_start(&mut self, _: &mut Window, _: &AckEvent) {
        self.used = true;
    }

    // Unclear in [XCP-SPEC, 3.3]: whether and when a sender that has switched to standard TCP returns to XCP.
    // Here it halves its window and continues to follow the answers of routers.
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        Xcp::go_to(window, window.cwnd / 2.0);
    }

    fn needs(&self) -> Needs {
        let feedback_sum = match self.variant {
            XcpVariant::Spec => false,
            XcpVariant::XcpR => true,
        };
        Needs { feedback_sum, requests: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, ack, avoidance};

    const RTT: Span = Span::from_ms(100);

    fn xcp() -> Xcp {
        Xcp::new(Default::default())
    }

    fn round_of(flow: &mut Xcp, window: &mut Window, in_flight: f64, full: bool) {
        let event = AckEvent { in_flight, new_round: true, ..ack(RTT) };
        flow.on_delivery(window, &event);
        if full {
            flow.on_ack(window, &event);
        }
    }

    /// 25 packets in 100 ms are 4 ms apart: 250 packets/s, and a host that can send 1250 would have 1000
    /// more, 40 with each packet. An answer of 50 packets/s is one of 5 packets at 100 ms.
    #[test]
    fn it_tells_its_rate_and_takes_the_answer() {
        let (mut flow, mut window) = (xcp(), avoidance(25.0));
        let asked = |flow: &Xcp, window: &Window, srtt| flow.request(window, srtt, 1250.0).expect("it asks");
        assert_eq!(asked(&flow, &window, RTT), Request { gap: Span::from_ms(4), rtt: RTT, change: 40.0 });
        assert!(asked(&flow, &window, Span::ZERO).gap.is_zero());
        flow.on_feedback(&mut window, 50.0, RTT);
        assert_eq!(window, Window { cwnd: 30.0, ssthresh: 30.0 });
        flow.on_feedback(&mut window, -500.0, RTT);
        assert_eq!(window.cwnd, 1.0);
    }

    #[test]
    fn a_loss_halves_and_there_is_no_growth_of_its_own() {
        let (mut flow, mut window) = (xcp(), Window { cwnd: 40.0, ssthresh: f64::INFINITY });
        flow.on_slow_start(&mut window, &ack(RTT));
        flow.on_ack(&mut window, &ack(RTT));
        assert_eq!(window.cwnd, 40.0);
        flow.on_congestion(&mut window, &CONGESTION);
        assert!(window.cwnd == 20.0 && !window.in_slow_start());
    }

    /// In flight are 19 and the one just acknowledged: 20 of 100. After a round 60 stay, then 40, 30;
    /// and it asks for nothing, until the window is what limits it again.
    #[test]
    fn what_is_not_used_is_given_back_by_half_in_each_round() {
        let (mut flow, mut window) = (xcp(), avoidance(100.0));
        round_of(&mut flow, &mut window, 19.0, false);
        let windows = [60.0, 40.0, 30.0].map(|expected| {
            round_of(&mut flow, &mut window, 19.0, expected == 30.0);
            (window.cwnd, expected)
        });
        assert!(windows.iter().all(|(found, expected)| found == expected), "{windows:?}");
        let change =
            |flow: &Xcp, window: &Window| flow.request(window, RTT, 1000.0).map(|asked| asked.change);
        assert_eq!(change(&flow, &window), Some(0.0));
        round_of(&mut flow, &mut window, 29.0, true);
        assert!(window.cwnd == 30.0 && change(&flow, &window) > Some(0.0));
    }
}
