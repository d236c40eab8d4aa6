//! A window law given by two formulas, the a(w) and b(w) of [RFC 3649]: what a round trip adds, and the share that a
//! loss event takes.

use fairhaul_units::{Formula, Kind, Parameter, Settings, Span, Time};

use crate::{AckEvent, Catalogued, Congestion, Controller, Fault, Window};

/// The variables of both formulas, in the order of [`Law::variables`].
const VARIABLES: &[&str] = &["w", "rtt", "min_rtt", "since_loss", "w_loss"];

/// A law by formulas.
#[derive(Clone, Debug)]
pub struct Law {
    increase: Formula,
    decrease: Formula,
    min_rtt: Span,
    /// The last loss event, or the beginning.
    loss: Option<Loss>,
}

/// When a loss event was, and the window before it.
#[derive(Clone, Copy, Debug)]
struct Loss {
    at: Time,
    window: f64,
}

impl Law {
    pub(crate) const TITLE: &'static str = "A law by formulas: what a round trip adds, and the fraction given up \
                                            per loss";
    pub(crate) const SOURCE: &'static str = "RFC 3649";
    pub(crate) const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "increase",
            kind: Kind::Formula { variables: VARIABLES, default: "1" },
            default: 0.0,
            help: "what a round trip adds to the window w, packets, in congestion avoidance",
        },
        Parameter {
            name: "decrease",
            kind: Kind::Formula { variables: VARIABLES, default: "0.5" },
            default: 0.0,
            help: "fraction of the window given up at a loss event, from 0 to less than 1",
        },
    ];

    pub(crate) fn new(settings: &Settings) -> Law {
        Law {
            increase: settings.formula("increase").clone(),
            decrease: settings.formula("decrease").clone(),
            min_rtt: Span::ZERO,
            loss: None,
        }
    }

    fn variables(&self, window: &Window, now: Time, rtt: Span) -> [f64; VARIABLES.len()] {
        let loss = self.loss.unwrap_or(Loss { at: now, window: window.cwnd });
        let since = now.since(loss.at).as_secs();
        [window.cwnd, rtt.as_secs(), self.min_rtt.as_secs(), since, loss.window]
    }
}

/// The value of the increase.
fn increase(formula: &Formula, variables: &[f64]) -> Result<f64, String> {
    let value = formula.value(variables);
    if value.is_finite() { Ok(value) } else { Err(wrong("increase", value, "a finite number", variables)) }
}

/// The value of the decrease.
fn decrease(formula: &Formula, variables: &[f64]) -> Result<f64, String> {
    let value = formula.value(variables);
    let is_share = (0.0..1.0).contains(&value);
    if is_share { Ok(value) } else { Err(wrong("decrease", value, "from 0 to less than 1", variables)) }
}

fn wrong(which: &str, value: f64, wanted: &str, variables: &[f64]) -> String {
    let given: Vec<String> =
        VARIABLES.iter().zip(variables).map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{which} is {value}, not {wanted}, where {}", given.join(", "))
}

impl Catalogued for Law {
    /// Over windows, round-trip times and times that occur.
    fn check(settings: &Settings) -> Result<(), String> {
        let (rise, fall) = (settings.formula("increase"), settings.formula("decrease"));
        for w in [1.0, 2.0, 10.0, 1e3, 1e6] {
            for (rtt, min_rtt) in [(1e-3, 1e-3), (0.1, 0.05), (1.0, 0.5)] {
                for since_loss in [0.0, 1e-3, 1.0, 1e3] {
                    for w_loss in [w, 2.0 * w] {
                        let variables = [w, rtt, min_rtt, since_loss, w_loss];
                        increase(rise, &variables)?;
                        decrease(fall, &variables)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Controller for Law {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.min_rtt = ack.min_rtt;
        let variables = self.variables(window, ack.now, ack.srtt);
        self.loss.get_or_insert(Loss { at: ack.now, window: window.cwnd });
        let added = increase(&self.increase, &variables)
            .unwrap_or_else(|what| Fault { at: Some(ack.now), what }.raise());
        window.move_to(window.cwnd + added * ack.packets / window.cwnd);
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        self.min_rtt = ack.min_rtt;
        window.cwnd += ack.packets.min(2.0);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        let variables = self.variables(window, event.now, event.srtt);
        self.loss = Some(Loss { at: event.now, window: window.cwnd });
        let share = decrease(&self.decrease, &variables)
            .unwrap_or_else(|what| Fault { at: Some(event.now), what }.raise());
        window.give_up(share);
    }

    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        self.loss = Some(Loss { at: event.now, window: window.cwnd });
        window.start_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, ack, avoidance, one_round};
    use crate::{Builtin, ControllerChoice};
    use fairhaul_units::Value;

    fn settings(increase: &str, decrease: &str) -> Settings {
        let mut settings = Settings::defaults(Law::PARAMETERS);
        for (name, text) in [("increase", increase), ("decrease", decrease)] {
            settings.give(name, Value::Formula(Formula::new(text, VARIABLES).unwrap()));
        }
        settings
    }

    fn law(increase: &str, decrease: &str) -> Law {
        Law::new(&settings(increase, decrease))
    }

    /// The windows of rounds and losses by both controllers, which differ by rounding at most.
    fn same(mut one: impl Controller, mut other: impl Controller) {
        let (mut window, mut expected) = (avoidance(50.0), avoidance(50.0));
        for round in 1..=200 {
            one_round(&mut one, &mut window);
            one_round(&mut other, &mut expected);
            if round % 40 == 0 {
                one.on_congestion(&mut window, &CONGESTION);
                other.on_congestion(&mut expected, &CONGESTION);
            }
            assert!((window.cwnd / expected.cwnd - 1.0).abs() < 1e-9, "round {round}: {window:?}");
        }
    }

    fn builtin(name: &str, values: &[(&str, f64)]) -> Builtin {
        let mut choice = ControllerChoice::named(name).expect("it is in the catalogue");
        values.iter().for_each(|(key, value)| choice.settings.set(key, *value));
        choice.build()
    }

    #[test]
    fn formulas_of_known_rules_give_their_windows() {
        same(law("1", "0.5"), builtin("reno", &[]));
        same(law("1.5", "0.7"), builtin("aimd", &[("a", 1.5), ("b", 0.7)]));
        same(law("0.02 * w", "0.125"), builtin("scalable", &[("a", 0.02), ("low_window", 0.0)]));
        same(law("if(w < 16, 1, 0.01 * w)", "if(w < 16, 0.5, 0.125)"), builtin("scalable", &[]));
    }

    /// The last loss 2 s ago at 80 packets: 80 + 0.4 x 2^3 = 83.2 less the window of 60 packets.
    #[test]
    fn a_formula_knows_the_last_loss() {
        let mut law = law("w_loss + 0.4 * since_loss ^ 3 - w", "0.25");
        let mut window = avoidance(80.0);
        law.on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 60.0);
        let later = AckEvent { now: Time::ZERO + Span::from_secs(2.0), ..ack(Span::from_ms(100)) };
        law.on_ack(&mut window, &later);
        assert!((window.cwnd - (60.0 + 23.2 / 60.0)).abs() < 1e-9, "{window:?}");
    }

    #[test]
    fn a_negative_increase_leaves_two_packets() {
        let mut law = law("-1000", "0.5");
        let mut window = avoidance(4.0);
        law.on_ack(&mut window, &ack(Span::from_ms(100)));
        assert_eq!(window.cwnd, 2.0);
    }

    #[test]
    fn formulas_without_a_value_are_refused() {
        let wrong = |increase, decrease| Law::check(&settings(increase, decrease)).unwrap_err();
        assert_eq!(
            wrong("ln(w - 1)", "0.5"),
            "increase is -inf, not a finite number, where w = 1, rtt = 0.001, min_rtt = 0.001, since_loss = 0, w_loss = 1"
        );
        assert!(wrong("1", "1.5").starts_with("decrease is 1.5, not from 0 to less than 1, where w = 1,"));
        assert!(wrong("1", "0.1 * ln(w)").contains("decrease is 1.38"));
        assert_eq!(Law::check(&settings("min(1000, rtt / min_rtt)", "1 / (2 + rtt)")), Ok(()));
    }

    #[test]
    fn a_value_that_fails_later_ends_the_run_with_a_reason() {
        let run = || {
            let mut window = avoidance(123.0);
            law("1 / (w - 123)", "0.5").on_ack(&mut window, &ack(Span::from_ms(100)));
        };
        let fault = std::panic::catch_unwind(run).unwrap_err();
        let Fault { at, what: reason } = fault.downcast_ref::<Fault>().expect("it is a fault");
        assert_eq!(*at, Some(Time::ZERO));
        assert!(reason.starts_with("increase is inf, not a finite number, where w = 123,"), "{reason}");
    }
}
