//! `install`: all of the twins that are asked for, or none.

use serde::Deserialize;
use serde_json::{Value, json};

use super::choice::{Choice, Wish, freezes_short_paths, written};
use super::exposure::{Exposure, withdraw};
use super::place::{Place, Record};
use super::{capabilities, congestion, load, probe, trial};
use crate::error::{Error, Result};
use crate::signals;
use crate::steps::{Steps, warn};

/// What is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    twins: Vec<Wish>,
    #[serde(default)]
    exposure: Exposure,
    #[serde(default)]
    dry_run: bool,
}

/// Installs twins.
pub fn install(place: &Place, request: &Install) -> Result<Value> {
    let steps = Steps::new(request.dry_run);
    let choices = request.twins.iter().map(Wish::choose).collect::<Result<Vec<Choice>>>()?;
    check(&choices, &request.exposure)?;
    probe::require()?;
    capabilities::keep_needed()?;
    request.exposure.check()?;
    let _lock = place.lock()?;
    for choice in &choices {
        check_free(place, &choice.name)?;
    }
    for choice in &choices {
        let what = format!("test {} on an emulated path in a temporary network namespace", choice.note.name);
        steps.step(what, || trial::run(choice))?;
    }
    let _held = signals::hold()?;
    place.prepare(steps)?;
    let done = choices.iter().try_for_each(|choice| one(place, choice, &request.exposure, steps));
    if let Err(error) = done {
        undo(place, &choices);
        return Err(error);
    }
    capabilities::keep(&Default::default())?;
    let names: Vec<&str> = choices.iter().map(|choice| choice.name.as_str()).collect();
    Ok(json!({ "installed": names, "dry_run": request.dry_run }))
}

fn check(choices: &[Choice], exposure: &Exposure) -> Result<()> {
    exposure.check_names()?;
    if choices.is_empty() {
        return Err(Error::refused("no controller is named; `fairhaul kernel list` lists them"));
    }
    for (index, choice) in choices.iter().enumerate() {
        if choices[..index].iter().any(|other| other.name == choice.name) {
            return Err(Error::refused(format!(
                "{} is requested twice; choose another name with --as",
                choice.name
            )));
        }
    }
    if exposure.any() && choices.len() > 1 {
        return Err(Error::refused("only one controller can be a default; install the others separately"));
    }
    let frozen = choices.iter().find(|choice| freezes_short_paths(&choice.note.name, &choice.values));
    match frozen {
        Some(choice) if exposure.default => Err(Error::refused(format!(
            "{} with the literal factor c x RTT would stall the flows of this host on short paths, so it \
             cannot be its default: keep factor_floor at 2, or use it by name, on a route or in a namespace",
            choice.name
        ))),
        _ => Ok(()),
    }
}

fn check_free(place: &Place, name: &str) -> Result<()> {
    if place.names()?.contains(name) {
        return Err(Error::refused(format!(
            "{name} is already installed: change its parameters with `fairhaul kernel set`, remove it with \
             `remove`, or install a second one under another name with `install --as`"
        )));
    }
    if congestion::available()?.iter().any(|other| other == name) {
        return Err(Error::refused(format!(
            "the kernel already has a controller {name}, which was not installed by Fairhaul; choose \
             another name with --as"
        )));
    }
    Ok(())
}

fn one(place: &Place, choice: &Choice, exposure: &Exposure, steps: Steps) -> Result<()> {
    let Choice { note, name, .. } = choice;
    let mut record = Record::new(name, note);
    let parameters = note.parameters.iter();
    let set = parameters.map(|key| format!("{}={}", key.name, written(key, choice.values[&key.name])));
    let set: Vec<String> = set.collect();
    let set = if set.is_empty() { String::new() } else { format!(" with {}", set.join(" ")) };
    steps.step(format!("load {} {} as {name}{set} and pin it", note.name, note.version), || {
        place.write(&record)?;
        load::load(choice)?.pin(place, name)
    })?;
    exposure.apply(place, &mut record, steps)
}

/// Takes out again what came of a request that failed; what cannot be, stays for `remove`.
fn undo(place: &Place, choices: &[Choice]) {
    let quiet = Steps::new(false);
    let all = choices.iter().try_for_each(|choice| {
        withdraw(&choice.name, place.read(&choice.name).as_ref(), quiet)?;
        load::unregister(place, &choice.name)?;
        place.forget(&choice.name)
    });
    if let Err(error) = all.and_then(|()| place.vacate(quiet)) {
        warn(format!(
            "the installation could not be undone completely ({error}); try again with `fairhaul \
                      kernel remove --all`"
        ));
    }
}
