//! A sender whose feedback on marks is accurate [RFC 9768], and what it falls back to.

use fairhaul_cc::Controller;
use fairhaul_experiment::EcnFeedback;
use fairhaul_units::{Ack, Ecn};

use super::{CaState, Sender};
use crate::tcp::{AccEcnFeedback, Reading};

impl<C: Controller + Clone> Sender<C> {
    /// The same with the feedback that both ends agree on, where accurate feedback is requested.
    pub(super) fn with_agreed_feedback(mut self) -> Sender<C> {
        let Some((_, middlebox)) = self.config.accecn else { return self };
        let agreed = middlebox.agreed();
        self.exact_echo &= agreed == EcnFeedback::Accurate;
        self.accurate = (agreed == EcnFeedback::Accurate).then(Box::default);
        if middlebox.is_revealed() {
            self.config.ecn = Ecn::NotCapable;
        }
        if self.config.ecn != Ecn::NotCapable {
            // What accurate feedback was to allow, ECT(1), is not allowed without it [RFC 9331, 4.1].
            self.config.ecn = match agreed {
                EcnFeedback::None => Ecn::NotCapable,
                EcnFeedback::Classic => Ecn::Capable,
                EcnFeedback::Accurate => self.config.ecn,
            };
        }
        self
    }

    /// How its receiver is to report marks, if that is accurate.
    pub fn accurate_feedback(&self) -> Option<AccEcnFeedback> {
        let (option, middlebox) = self.config.accecn?;
        self.accurate.as_ref().map(|_| AccEcnFeedback::new(option, middlebox, self.config.headers))
    }

    /// Two requests were lost: the next one asks for no feedback [RFC 9768, 3.1.4.1].
    pub(super) fn ask_without_feedback(&mut self) {
        if self.config.accecn.is_some() {
            (self.accurate, self.exact_echo, self.config.ecn) = (None, false, Ecn::NotCapable);
        }
    }

    /// Reads how many of the packets that an acknowledgement delivers were marked; `una` and `delivered`: what was
    /// acknowledged before, and how many packets it delivers. Whether it echoes a mark, to a controller that takes marks for
    /// losses.
    #[inline(never)]
    pub(super) fn read_marks(&mut self, ack: &Ack, (una, delivered): (u64, u64)) -> bool {
        let (payload, end) = (self.config.payload().0, self.board.una());
        // What is acknowledged in order need not be full; what is beyond a gap is taken as full.
        let in_order = end - una;
        let bytes =
            if delivered == in_order { self.config.bytes_between(una, end) } else { delivered * payload };
        let is_sure = self.config.recovery.reports() || self.state == CaState::Open;
        let Some(accurate) = &mut self.accurate else { return ack.ece };
        let marked = match accurate.read(ack, delivered, bytes, payload, is_sure) {
            Reading::Marked(marked) => marked,
            Reading::Mangled => {
                self.config.ecn = Ecn::NotCapable;
                0
            }
        };
        marked > 0 && !self.needs.own_marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::SenderConfig;
    use fairhaul_cc::ControllerChoice;
    use fairhaul_experiment::{AccEcnOption, Middlebox};

    fn sender(middlebox: Middlebox) -> Sender<fairhaul_cc::Builtin> {
        let controller = ControllerChoice::named("prague").expect("it is in the catalogue").build();
        let accecn = Some((AccEcnOption::Always, middlebox));
        Sender::new(SenderConfig { accecn, ecn: Ecn::CapableL4s, ..SenderConfig::for_tests() }, controller)
    }

    // Requirement: rfc9768-3.1.4.1-a, rfc9768-3.1.5-e, rfc9768-3.1.5-f, rfc9768-3.2.2.3-a
    #[test]
    fn without_accurate_feedback_nothing_is_sent_with_ect_1() {
        let of = |middlebox| {
            let sender = sender(middlebox);
            (sender.config.ecn, sender.accurate_feedback().is_some(), sender.exact_echo())
        };
        assert_eq!(of(Middlebox::None), (Ecn::CapableL4s, true, true));
        assert_eq!(of(Middlebox::ClearsAe), (Ecn::Capable, false, false));
        assert_eq!(of(Middlebox::ClearsRequest), (Ecn::NotCapable, false, false));
        assert_eq!(of(Middlebox::SetsEct), (Ecn::NotCapable, true, true));
        let mut twice = sender(Middlebox::None);
        twice.ask_without_feedback();
        assert_eq!((twice.config.ecn, twice.accurate.is_some()), (Ecn::NotCapable, false));
    }
}
