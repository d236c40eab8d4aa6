//! Resolves the settings of the hosts of a `[[flow]]`.

use std::sync::Arc;

use fairhaul_path::card::{Moderation, Noise};

use super::fields::{BufferSpec, FlowKeys, ProcessorKeys};
use super::mistake::Notes;
use crate::HostSettings;

/// The settings of the hosts of a flow; `None`: it has none.
pub(super) fn of(keys: &FlowKeys) -> Option<Arc<HostSettings>> {
    let is_auto = |buffer: Option<BufferSpec>| buffer == Some(BufferSpec::Auto);
    let mut settings = HostSettings {
        tunes_send_buffer: is_auto(keys.send_buffer.value),
        tunes_receive_buffer: is_auto(keys.receive_buffer.value),
        ..HostSettings::default()
    };
    if let Some(host) = &keys.host.value {
        settings.moderation = host.moderation.value;
        settings.gro = host.gro.value.unwrap_or(settings.moderation != Moderation::NONE);
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
