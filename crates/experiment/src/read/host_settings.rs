//! Resolves the settings of the hosts of a `[[flow]]`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairhaul_path::card::{Moderation, Noise};

use super::fields::{BufferSpec, FlowKeys, ProcessorKeys};
use super::mistake::Notes;
use crate::{Flow, HostSettings, SharedSender};

/// The settings of the hosts of a flow; `None`: it has none.
pub(super) fn of(keys: &FlowKeys) -> Option<Arc<HostSettings>> {
    let is_auto = |buffer: BufferSpec| buffer == BufferSpec::Auto;
    let mut settings = HostSettings {
        tunes_send_buffer: is_auto(keys.send_buffer.value),
        tunes_receive_buffer: is_auto(keys.receive_buffer.value),
        ..HostSettings::default()
    };
    if let Some(host) = &keys.host.value {
        settings.moderation = host.moderation.value;
        settings.gro = host.gro.value.unwrap_or(settings.moderation != Moderation::NONE);
        let number = |name: &String| SharedSender { name: name.clone(), number: 0 };
        settings.sender = host.sender.value.as_ref().map(number);
        settings.line_rate = host.line_rate.value;
        settings.links = Some(host.links.value as u8).filter(|links| *links > 1);
        settings.noise = host.noise.value;
        settings.processor = host.processor.value.as_ref().map(ProcessorKeys::costs);
        settings.kernel = host.kernel.value;
        settings.qdisc = host.qdisc.value.clone();
        settings.sysctls = host.sysctl.value.clone().unwrap_or_default();
    }
    (settings != HostSettings::default()).then(|| settings.into())
}

/// Checks what they say together.
pub(super) fn check(keys: &FlowKeys, notes: &mut Notes) {
    delays(keys, notes);
    links(keys, notes);
}

/// The senders that share a host are alike.
pub(super) fn check_senders(tables: &[FlowKeys], notes: &mut Notes) {
    let sends = |keys: &FlowKeys| {
        let mut settings = of(keys).as_deref().cloned().unwrap_or_default();
        (settings.gro, settings.tunes_receive_buffer) = (false, false);
        (settings.moderation, settings.noise) = (Moderation::NONE, Noise::NONE);
        (settings, keys.offload.value)
    };
    let mut first: BTreeMap<&str, &FlowKeys> = BTreeMap::new();
    for keys in tables {
        let Some(host) = &keys.host.value else { continue };
        let Some(name) = host.sender.value.as_deref() else { continue };
        let other = *first.entry(name).or_insert(keys);
        if sends(other) != sends(keys) {
            let text = format!("another flow has \"{name}\" with other settings of its sender");
            host.sender.key.note(text, notes);
        }
    }
}

/// Numbers the senders that flows share, in the order of their first flows.
pub(super) fn number_senders(flows: &mut [Flow]) {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for host in flows.iter_mut().filter_map(|flow| flow.host.as_mut()) {
        if host.sender.is_none() {
            continue;
        }
        if let Some(sender) = &mut Arc::make_mut(host).sender {
            let next = numbers.len() as u32;
            sender.number = *numbers.entry(sender.name.clone()).or_insert(next);
        }
    }
}

/// One delay in a hundred is not shorter than half of them.
fn delays(keys: &FlowKeys, notes: &mut Notes) {
    if let Some(host) = &keys.host.value
        && let Noise::LogNormal { median, p99 } = host.noise.value
        && p99 < median
    {
        host.noise.key.note(format!("p99, {p99}, is less than the median, {median}"), notes);
    }
}

/// Links have a rate.
fn links(keys: &FlowKeys, notes: &mut Notes) {
    if let Some(host) = &keys.host.value
        && host.links.value > 1
        && host.line_rate.value.is_none()
    {
        host.links.key.note("bonded links need a `line_rate`, which each of them has".to_owned(), notes);
    }
}
