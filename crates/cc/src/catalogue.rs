//! The catalogue of controllers: the name, description and parameters of each. A new one is one line at the end.

use std::fmt;

use fairhaul_units::{Bytes, Gauge, Parameter, Settings, Span, Time};

use crate::{
    AckEvent, Congestion, Controller, Needs, Own, OwnChoice, Pacing, ProbeCycle, Request, StackMaker, Start,
    Window,
};

/// What the catalogue says of one controller.
pub struct ControllerEntry {
    /// Its word in TOML, its file, its page and its eBPF port.
    pub name: &'static str,
    /// One line of what it is.
    pub title: &'static str,
    /// The key of its source.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The gauges that it reports.
    pub gauges: &'static [Gauge],
    /// What its packets carry beside the headers of all.
    pub header: Bytes,
    /// The parameter, and its value, with which it is the controller of Linux, if it has such a parameter.
    pub linux: Option<(&'static str, f64)>,
    probe_cycle: fn(&Settings) -> Option<ProbeCycle>,
    check: fn(&Settings) -> Result<(), String>,
    build: fn(&Settings) -> Builtin,
}

impl ControllerEntry {
    /// Checks what the descriptions of single parameters cannot say.
    ///
    /// # Errors
    /// What is wrong with the values together, or with the values of a formula.
    pub fn check(&self, settings: &Settings) -> Result<(), String> {
        (self.check)(settings)
    }
}

/// The name alone, so that the text is the same in every process: functions would print their addresses.
impl fmt::Debug for ControllerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ControllerEntry").field(&self.name).finish()
    }
}

/// What a controller of the catalogue may say of itself beside its title, source and parameters.
pub(crate) trait Catalogued {
    /// What its packets, data and acknowledgements, carry beside the headers of all.
    const HEADER: Bytes = Bytes(0);

    /// The parameter, and its value, with which it is the controller of Linux, if it has such a parameter.
    const LINUX: Option<(&'static str, f64)> = None;

    /// What [`Controller::gauges`] shows, in that order.
    const GAUGES: &'static [Gauge] = &[];

    /// In which time it learns the path anew without a loss; `None` of a controller that probes by losses.
    fn probe_cycle(settings: &Settings) -> Option<ProbeCycle> {
        let _ = settings;
        None
    }

    /// Checks what the descriptions of single parameters cannot say.
    ///
    /// # Errors
    /// What is wrong with the values together, or with the values of a formula.
    fn check(settings: &Settings) -> Result<(), String> {
        let _ = settings;
        Ok(())
    }
}

/// What stands for the entry of a controller that is not of the catalogue.
static OWN: ControllerEntry = ControllerEntry {
    name: "own",
    title: "A controller that is not of the catalogue",
    source: "",
    parameters: &[],
    gauges: &[],
    header: Bytes(0),
    linux: None,
    probe_cycle: |_| None,
    check: |_| Ok(()),
    build: |_| unreachable!("what is not of the catalogue has a maker"),
};

/// A controller chosen for a flow, with its values.
#[derive(Clone, Debug)]
pub struct ControllerChoice {
    /// Which controller of the catalogue.
    pub entry: &'static ControllerEntry,
    /// The values of its parameters.
    pub settings: Settings,
    /// The controller, where it is not of the catalogue.
    pub own: Option<OwnChoice>,
}

impl ControllerChoice {
    /// The controller `name` with its defaults; `None` where the catalogue has no such name.
    pub fn named(name: &str) -> Option<ControllerChoice> {
        let of = |entry: &'static ControllerEntry| (entry, Settings::defaults(entry.parameters));
        entry(name).map(of).map(|(entry, settings)| ControllerChoice { entry, settings, own: None })
    }

    /// A controller that is not of the catalogue.
    pub fn own(choice: OwnChoice) -> ControllerChoice {
        ControllerChoice { entry: &OWN, settings: Settings::defaults(&[]), own: Some(choice) }
    }

    /// Its name in scenarios and records.
    pub fn name(&self) -> &str {
        self.own.as_ref().map_or(self.entry.name, |own| &own.name)
    }

    /// The transport stack that takes the place of sender, receiver and controller, if it is one.
    pub fn stack(&self) -> Option<&dyn StackMaker> {
        self.own.as_ref().and_then(|own| own.maker.stack())
    }

    /// Whether it calls what a user has written: a class, an object, a library, or the formulas of a law.
    pub fn is_users_code(&self) -> bool {
        self.own.as_ref().map_or(self.entry.name == "law", |own| own.maker.is_users_code())
    }

    /// In which time it learns the path anew without a loss; `None` where it probes by losses, or nothing is known of it.
    pub fn probe_cycle(&self) -> Option<ProbeCycle> {
        (self.entry.probe_cycle)(&self.settings)
    }

    /// The memory that each of its controllers takes, bytes, if that is much.
    pub fn memory(&self) -> u64 {
        self.own.as_ref().map_or(0, |own| own.maker.memory())
    }

    /// A fresh controller.
    pub fn build(&self) -> Builtin {
        self.build_for(0)
    }

    /// A fresh controller of a connection. `stream` differs between connections and seeds.
    pub fn build_for(&self, stream: u64) -> Builtin {
        match &self.own {
            Some(own) if own.maker.stack().is_some() => Builtin::Reno(crate::Reno), // nothing asks it
            Some(own) => Builtin::Own(own.maker.build(stream)),
            None => (self.entry.build)(&self.settings),
        }
    }
}

/// The entry of `name`.
pub fn entry(name: &str) -> Option<&'static ControllerEntry> {
    entries().iter().find(|entry| entry.name == name)
}

macro_rules! catalogue {
    ($($kind:ident = $name:literal),+ $(,)?) => {
        /// The catalogue, in the order in which it is listed to users.
        pub fn entries() -> &'static [ControllerEntry] {
            static ENTRIES: &[ControllerEntry] = &[$(ControllerEntry {
                name: $name,
                title: crate::$kind::TITLE,
                source: crate::$kind::SOURCE,
                parameters: crate::$kind::PARAMETERS,
                gauges: <crate::$kind as Catalogued>::GAUGES,
                header: <crate::$kind as Catalogued>::HEADER,
                linux: <crate::$kind as Catalogued>::LINUX,
                probe_cycle: <crate::$kind as Catalogued>::probe_cycle,
                check: <crate::$kind as Catalogued>::check,
                build: |settings| Builtin::$kind(crate::$kind::new(settings.into())),
            }),+];
            ENTRIES
        }

        /// Any controller: one of the catalogue, dispatched without a virtual call: by a number of its own, which is
        /// faster than one that is hidden in the values of a variant.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each variant is the controller of that name, or one of no catalogue")]
        pub enum Builtin { $($kind(crate::$kind),)+ Own(Box<dyn Own>) }

        impl Controller for Builtin {
            fn on_start(&mut self, start: &Start) {
                match self { $(Builtin::$kind(c) => c.on_start(start),)+ Builtin::Own(c) => c.on_start(start) }
            }
            fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
                match self { $(Builtin::$kind(c) => on_ack(c, window, ack),)+ Builtin::Own(c) => c.on_ack(window, ack) }
            }
            fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
                match self { $(Builtin::$kind(c) => c.on_congestion(window, event),)+ Builtin::Own(c) => c.on_congestion(window, event) }
            }
            fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
                match self { $(Builtin::$kind(c) => c.on_slow_start(window, ack),)+ Builtin::Own(c) => c.on_slow_start(window, ack) }
            }
            fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
                match self { $(Builtin::$kind(c) => c.on_timeout(window, event),)+ Builtin::Own(c) => c.on_timeout(window, event) }
            }
            fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
                match self { $(Builtin::$kind(c) => on_delivery(c, window, ack),)+ Builtin::Own(c) => c.on_delivery(window, ack) }
            }
            fn on_departure(&mut self, at: Time) {
                match self { $(Builtin::$kind(c) => c.on_departure(at),)+ Builtin::Own(c) => c.on_departure(at) }
            }
            fn on_recovered(&mut self, window: &mut Window, now: Time) {
                match self { $(Builtin::$kind(c) => c.on_recovered(window, now),)+ Builtin::Own(c) => c.on_recovered(window, now) }
            }
            fn on_undo(&mut self, window: &mut Window, before: f64, now: Time) {
                match self { $(Builtin::$kind(c) => c.on_undo(window, before, now),)+ Builtin::Own(c) => c.on_undo(window, before, now) }
            }
            fn on_idle_end(&mut self, window: &mut Window, now: Time, silence: Span) {
                match self { $(Builtin::$kind(c) => c.on_idle_end(window, now, silence),)+ Builtin::Own(c) => c.on_idle_end(window, now, silence) }
            }
            fn needs(&self) -> Needs {
                match self { $(Builtin::$kind(c) => c.needs(),)+ Builtin::Own(c) => c.needs() }
            }
            fn request(&self, window: &Window, srtt: Span, line: f64) -> Option<Request> {
                match self { $(Builtin::$kind(c) => c.request(window, srtt, line),)+ Builtin::Own(c) => c.request(window, srtt, line) }
            }
            fn on_feedback(&mut self, window: &mut Window, change: f64, srtt: Span) {
                match self { $(Builtin::$kind(c) => c.on_feedback(window, change, srtt),)+ Builtin::Own(c) => c.on_feedback(window, change, srtt) }
            }
            fn on_ecn_feedback(&mut self, accurate: bool) {
                match self { $(Builtin::$kind(c) => c.on_ecn_feedback(accurate),)+ Builtin::Own(c) => c.on_ecn_feedback(accurate) }
            }
            fn mode(&self) -> Option<u8> {
                match self { $(Builtin::$kind(c) => c.mode(),)+ Builtin::Own(c) => c.mode() }
            }
            fn gauges(&self, window: &Window, values: &mut Vec<f64>) {
                match self { $(Builtin::$kind(c) => c.gauges(window, values),)+ Builtin::Own(c) => c.gauges(window, values) }
            }
            fn pacing(&self, window: &Window) -> Pacing {
                match self { $(Builtin::$kind(c) => c.pacing(window),)+ Builtin::Own(c) => c.pacing(window) }
            }
        }
    };
}

/// Functions of their own for what each acknowledgement calls: a simple controller does not pay for the registers and the
/// stack that others need.
#[inline(never)]
fn on_ack<C: Controller>(controller: &mut C, window: &mut Window, ack: &AckEvent) {
    controller.on_ack(window, ack);
}

#[inline(never)]
fn on_delivery<C: Controller>(controller: &mut C, window: &mut Window, ack: &AckEvent) {
    controller.on_delivery(window, ack);
}

catalogue! {
    Reno = "reno",
    Highspeed = "highspeed",
    Scalable = "scalable",
    Fhstcp = "fhstcp",
    Bic = "bic",
    Cubic = "cubic",
    Ghstcp = "ghstcp",
    Synctcp = "synctcp",
    Vegas = "vegas",
    Fast = "fast",
    Htcp = "htcp",
    Illinois = "illinois",
    Compound = "compound",
    Westwood = "westwood",
    Dctcp = "dctcp",
    Bbr = "bbr",
    Bbr3 = "bbr3",
    Xcp = "xcp",
    Aimd = "aimd",
    Law = "law",
    Yeah = "yeah",
    Veno = "veno",
    Hybla = "hybla",
    Lp = "lp",
    Nv = "nv",
    Cdg = "cdg",
    LedbatPlusPlus = "ledbat++",
    Copa = "copa",
    Prague = "prague",
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Kind;

    use super::*;
    use crate::RateSample;
    use crate::test_support::{CONGESTION, ack, avoidance};

    /// The modules `tcp_*.c` of Linux 6.12, and Reno.
    const OF_LINUX: [&str; 17] = [
        "bbr",
        "bic",
        "cdg",
        "cubic",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "lp",
        "nv",
        "reno",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ];

    #[test]
    fn every_controller_of_linux_is_in_the_catalogue() {
        let missing: Vec<&str> = OF_LINUX.into_iter().filter(|name| entry(name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_controller_says_which_of_its_words_is_linux() {
        for entry in entries() {
            let words = entry.parameters.iter().filter_map(|parameter| match parameter.kind {
                Kind::Word(words) => {
                    let index = words.iter().position(|word| *word == "linux")?;
                    Some((parameter.name, index as f64))
                }
                _ => None,
            });
            assert!(words.eq(entry.linux), "{}", entry.name);
        }
    }

    /// In each variant, before anything is acknowledged and after 50 rounds with a loss.
    #[test]
    fn a_controller_shows_as_many_values_as_its_entry_names_gauges() {
        let event = |now_ms: u64| AckEvent {
            now: Time::ZERO + Span::from_ms(now_ms),
            new_round: now_ms.is_multiple_of(100),
            rate: Some(RateSample {
                delivered: 1.0,
                interval: Span::from_ms(10),
                delivered_before: now_ms.saturating_sub(100) as f64,
                delivered_total: now_ms as f64,
                in_flight_then: 10.0,
                lost_since: 0.0,
                app_limited: false,
            }),
            ..ack(Span::from_ms(100))
        };
        for entry in entries() {
            let names: Vec<&str> = entry.gauges.iter().map(|gauge| gauge.name).collect();
            let shows = |settings: &Settings| {
                let mut controller = (entry.build)(settings);
                let mut window = avoidance(50.0);
                let mut values = Vec::new();
                controller.on_start(&Start { payload: Bytes(1000), together: 1 });
                controller.gauges(&window, &mut values);
                assert_eq!(values.len(), names.len(), "{}", entry.name);
                for now_ms in (0..5000).step_by(10) {
                    controller.on_delivery(&mut window, &event(now_ms));
                    controller.on_ack(&mut window, &event(now_ms));
                    if now_ms == 2500 {
                        controller.on_congestion(&mut window, &CONGESTION);
                    }
                }
                values.clear();
                controller.gauges(&window, &mut values);
                assert_eq!(values.len(), names.len(), "{}", entry.name);
                values
            };
            let defaults = Settings::defaults(entry.parameters);
            let values = shows(&defaults);
            let all_known = values.iter().all(|value| value.is_finite());
            assert!(all_known || entry.name == "bbr3", "{}: {names:?} are {values:?}", entry.name);
            for parameter in entry.parameters {
                if let Kind::Word(words) = parameter.kind {
                    (0..words.len())
                        .for_each(|word| _ = shows(&defaults.clone().with(parameter.name, word as f64)));
                }
            }
        }
    }

    /// A choice of the catalogue passes on what it is asked: XCP asks of routers and BBR has a mode, Reno neither. What was
    /// undone gives each its window back.
    #[test]
    fn a_choice_answers_as_its_controller() {
        let window = avoidance(50.0);
        let answers = |name: &str| {
            let mut controller = ControllerChoice::named(name).expect("in the catalogue").build();
            controller.on_start(&Start { payload: Bytes(1000), together: 1 });
            let asks = controller.request(&window, Span::from_ms(100), 1e6).is_some();
            (asks, controller.mode().is_some())
        };
        assert_eq!(["reno", "xcp", "bbr"].map(answers), [(false, false), (true, false), (false, true)]);
        let undone = |name: &str| {
            let mut window = avoidance(50.0);
            let mut controller = ControllerChoice::named(name).expect("in the catalogue").build();
            controller.on_undo(&mut window, 80.0, Time::ZERO);
            window.cwnd
        };
        assert_eq!(["reno", "cubic", "highspeed"].map(undone), [80.0; 3]);
    }

    #[test]
    fn a_controller_of_the_catalogue_takes_no_memory_of_its_own_and_has_valid_defaults() {
        for entry in entries() {
            let choice = ControllerChoice::named(entry.name).expect("in the catalogue");
            assert_eq!((choice.memory(), choice.stack().is_none()), (0, true), "{}", entry.name);
            assert_eq!(entry.check(&choice.settings), Ok(()), "{}", entry.name);
        }
    }

    /// What each controller needs of its sender with its defaults; the others need nothing.
    #[test]
    fn a_controller_needs_of_its_sender_what_its_rule_uses() {
        let none = Needs::default();
        for entry in entries() {
            let wanted = match entry.name {
                "bbr" | "bbr3" => Needs { rates: true, pacing: true, modes: true, ..none },
                "copa" | "fhstcp" => Needs { pacing: true, ..none },
                "dctcp" => Needs { exact_echo: true, ..none },
                "ghstcp" | "synctcp" => Needs { modes: true, ..none },
                "prague" => Needs { exact_echo: true, own_marks: true, pacing: true, ..none },
                "xcp" => Needs { requests: true, ..none },
                _ => none,
            };
            let built = (entry.build)(&Settings::defaults(entry.parameters));
            assert_eq!(built.needs(), wanted, "{}", entry.name);
        }
        let defaults = Settings::defaults(entry("xcp").expect("in the catalogue").parameters);
        let sums = (entry("xcp").expect("in the catalogue").build)(&defaults.with("variant", 1.0));
        assert_eq!(sums.needs(), Needs { requests: true, feedback_sum: true, ..none });
    }
}
