//! Accurate feedback on marks [RFC 9768]: what a receiver sends, and what a middlebox does to it.

/// When a receiver sends the option with counters of bytes, in the words of the kernel's `tcp_ecn_option` [LINUX].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccEcnOption {
    /// Never.
    Never,
    /// After each change of the codepoint that arrives, and now and then.
    Minimum,
    /// Whenever it fits.
    Always,
}

/// What a middlebox between the hosts does to marks and to their feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middlebox {
    /// Nothing.
    None,
    /// It clears the three bits of the request: the hosts agree on no feedback.
    ClearsRequest,
    /// It clears the bit of the request that RFC 3168 does not know: the hosts agree on RFC 3168.
    ClearsAe,
    /// It clears the three bits of acknowledgements.
    ClearsAce,
    /// It removes the option.
    RemovesOption,
    /// It makes every data packet Not-ECT, behind all links.
    ClearsEcn,
    /// It sets ECT(0) in the request, which left without it.
    SetsEct,
}

/// What the two ends of a connection agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnFeedback {
    /// No marks.
    None,
    /// That there were marks [RFC 3168].
    Classic,
    /// How many [RFC 9768].
    Accurate,
}

/// The codes of the three bits AE, CWR and ECE in the packets that open a connection [RFC 9768, 3.1].
mod codes {
    use super::EcnFeedback;

    /// Of the request.
    pub fn of_request(asks: EcnFeedback) -> u8 {
        match asks {
            EcnFeedback::None => 0,
            EcnFeedback::Classic => 3,
            EcnFeedback::Accurate => 7,
        }
    }

    /// Of the answer of a host that has accurate feedback to a request with that code, which arrived with that codepoint
    /// (0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE).
    pub fn of_answer(request: u8, codepoint: u8) -> u8 {
        match request {
            0 => 0,
            3 => 1,
            // What is not known yet is taken as a later version of the same.
            _ => [2, 3, 4, 6][usize::from(codepoint & 3)],
        }
    }

    /// What an answer says, to a host that has requested accurate feedback.
    /// Code 5 is reserved, and an agreement until it has another meaning [RFC 9768, 3.1.3].
    pub fn agreed(answer: u8) -> EcnFeedback {
        match answer {
            2..=6 => EcnFeedback::Accurate,
            1 => EcnFeedback::Classic,
            _ => EcnFeedback::None,
        }
    }

    /// With what codepoint a request, or its answer, has arrived, by the code that feeds it back.
    pub fn codepoint(code: u8) -> Option<u8> {
        [2, 3, 4, 6].iter().position(|known| *known == code).map(|index| index as u8)
    }

    /// Whether only a middlebox can have made one codepoint of the other: Not-ECT stays, no other becomes Not-ECT,
    /// and CE stays [RFC 9768, 3.2.2.3].
    pub fn is_mangled(sent: u8, arrived: u8) -> bool {
        match (sent, arrived) {
            (0, 0) | (3, 3) => false,
            (0 | 3, _) | (_, 0) => true,
            (sent, arrived) => arrived != 3 && arrived != sent,
        }
    }
}

impl Middlebox {
    /// What the hosts agree on through it, both of which have accurate feedback. The request and its answer are Not-ECT.
    pub fn agreed(self) -> EcnFeedback {
        codes::agreed(self.answer())
    }

    /// Whether the answer shows that it changes codepoints, so that nothing must be sent with ECT.
    pub fn is_revealed(self) -> bool {
        codes::codepoint(self.answer()).is_some_and(|arrived| codes::is_mangled(NOT_ECT, arrived))
    }

    /// The codes of the three bits of a request for accurate feedback, as it leaves its host, and of the answer.
    pub fn codes(self) -> (u8, u8) {
        (codes::of_request(EcnFeedback::Accurate), self.answer())
    }

    /// The code of the answer to a request for accurate feedback.
    fn answer(self) -> u8 {
        let request = match self {
            Middlebox::ClearsRequest => 0,
            Middlebox::ClearsAe => codes::of_request(EcnFeedback::Accurate) & 3,
            _ => codes::of_request(EcnFeedback::Accurate),
        };
        codes::of_answer(request, if self == Middlebox::SetsEct { ECT_0 } else { NOT_ECT })
    }
}

/// Codepoints as their two bits.
const NOT_ECT: u8 = 0;
const ECT_0: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use EcnFeedback::{Accurate, Classic, None};

    // The table of RFC 9768, 3.1: the request of a host, and what the other answers by the codepoint.
    // Requirement: rfc9768-3.1.1-a, rfc9768-3.1.1-b, rfc9768-3.1.1-c, rfc9768-3.1.2-a, rfc9768-3.1.2-b
    // Requirement: rfc9768-3.1.3-a, rfc9768-3.1.3-b, rfc9768-3.1.5-d, rfc9768-3.2.2-b
    #[test]
    fn hosts_agree_on_what_both_have() {
        assert_eq!([None, Classic, Accurate].map(codes::of_request), [0, 3, 7]);
        assert_eq!([0, 1, 2, 3].map(|codepoint| codes::of_answer(7, codepoint)), [2, 3, 4, 6]);
        // Codes that nothing uses yet are answered as code 7.
        assert_eq!([1, 2, 4, 5, 6].map(|request| codes::of_answer(request, 0)), [2; 5]);
        assert_eq!([codes::of_answer(3, 0), codes::of_answer(0, 0)], [1, 0]);
        let agreed = [None, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, None];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(codes::agreed), agreed);
        assert_eq!([2, 3, 4, 6].map(codes::codepoint), [0, 1, 2, 3].map(Some));
        assert_eq!([0, 1, 5, 7].map(codes::codepoint), [Option::None; 4]);
    }

    #[test]
    fn a_middlebox_that_clears_bits_leaves_less() {
        let agreed = [Middlebox::None, Middlebox::ClearsRequest, Middlebox::ClearsAe, Middlebox::ClearsAce];
        assert_eq!(agreed.map(Middlebox::agreed), [Accurate, None, Classic, Accurate]);
        assert_eq!([Middlebox::None, Middlebox::SetsEct].map(Middlebox::is_revealed), [false, true]);
    }

    /// ECT(0) and ECT(1) may become CE, and nothing else may happen.
    #[test]
    fn a_codepoint_changes_only_by_a_mark() {
        let valid = [(0, 0), (1, 1), (1, 3), (2, 2), (2, 3), (3, 3)];
        for sent in 0..4 {
            for arrived in 0..4 {
                assert_eq!(!codes::is_mangled(sent, arrived), valid.contains(&(sent, arrived)));
            }
        }
    }
}
