//! Runs a controller over an event script: lines of events on standard input, its windows on standard output.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use fairhaul_cc::{Amounts, ControllerChoice, entries, run_script};
use fairhaul_units::{Bytes, Formula, Kind, Value, hint};

const USAGE: &str = "\
usage: events CONTROLLER [PARAMETER=VALUE ...] [--bytes PACKET] [--window PACKETS] < SCRIPT

  --bytes PACKET     the script counts bytes, and a packet has PACKET of them
  --window PACKETS   the window before the first line, in packets (default 10)

A line of the script is a time and an event: `sent N`, `ack N rtt T [marked N]`, `lost N`, `app-limited` or `timeout`.";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(table) => match std::io::stdout().write_all(table.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE, // The reader has closed the pipe.
        },
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(2)
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let name = arguments.next().ok_or(USAGE)?;
    if name == "--help" {
        return Ok(format!("{USAGE}\n"));
    }
    let names: Vec<&str> = entries().iter().map(|entry| entry.name).collect();
    let unknown = || format!("unknown controller {name:?}; {}", hint(&name, names));
    let mut choice = ControllerChoice::named(&name).ok_or_else(unknown)?;
    let (mut amounts, mut window) = (Amounts::Packets, 10.0);
    while let Some(argument) = arguments.next() {
        if argument == "--bytes" || argument == "--window" {
            let given = arguments.next().unwrap_or_default();
            let number = given.parse::<u64>().ok().filter(|number| (1..=1 << 30).contains(number));
            let number =
                number.ok_or(format!("{argument} needs a whole number above zero, not {given:?}"))?;
            match &*argument {
                "--bytes" => amounts = Amounts::Bytes(Bytes(number)),
                _ => window = number as f64,
            }
        } else if let Some((parameter, value)) = argument.split_once('=') {
            set(&mut choice, parameter, value)?;
        } else {
            return Err(format!("unknown argument {argument:?}\n{USAGE}"));
        }
    }
    choice.entry.check(&choice.settings)?;
    let mut script = String::new();
    std::io::stdin().read_to_string(&mut script).map_err(|error| format!("standard input: {error}"))?;
    run_script(&script, &choice, window, amounts)
}

/// Sets a parameter of a controller to the value that `text` writes.
fn set(choice: &mut ControllerChoice, name: &str, text: &str) -> Result<(), String> {
    let names: Vec<&str> = choice.entry.parameters.iter().map(|parameter| parameter.name).collect();
    let parameter = choice.entry.parameters.iter().find(|parameter| parameter.name == name);
    let parameter = parameter.ok_or_else(|| format!("unknown parameter {name:?}; {}", hint(name, names)))?;
    let value = match parameter.kind {
        Kind::Number { least, most, .. } => number(text, least, most),
        Kind::Whole { least, most } => {
            text.parse::<u64>().ok().filter(|whole| (least..=most).contains(whole)).map(|whole| whole as f64)
        }
        Kind::Switch => text.parse::<bool>().ok().map(f64::from),
        Kind::Word(words) => words.iter().position(|word| *word == text).map(|index| index as f64),
        Kind::Formula { variables, .. } => {
            let formula = Formula::new(text, variables).map_err(|error| format!("{name}: {error}"))?;
            choice.settings.give(name, Value::Formula(formula));
            return Ok(());
        }
    };
    let wanted = match parameter.kind {
        Kind::Number { least, most, unit } => format!("a number from {least} to {most} {unit}"),
        Kind::Whole { least, most } => format!("a whole number from {least} to {most}"),
        Kind::Switch => "true or false".to_owned(),
        Kind::Word(words) => format!("one of {}", words.join(", ")),
        Kind::Formula { .. } => "a formula".to_owned(),
    };
    let value = value.ok_or_else(|| format!("{name} needs {}, not {text:?}", wanted.trim_end()))?;
    choice.settings.set(name, value);
    Ok(())
}

fn number(text: &str, least: f64, most: f64) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| (least..=most).contains(number))
}
