//! The hosts of a flow, in the description of its scenario.

use fairhaul_path::card::{Moderation, Noise};
use fairhaul_units::Rate;
use serde_json::{Value, json};

use crate::{Flow, HostSettings, KernelRelease};

/// Adds them to the description of a flow.
pub(super) fn add(flow: &Flow, described: &mut Value) {
    if flow.offload == Flow::BURSTS_OF_KERNEL {
        described["offload"] = "auto".into();
    }
    if let Some(settings) = &flow.host {
        described["host"] = host(settings);
        if let Some(sender) = &settings.sender {
            described["host"]["sender"] = sender.name.clone().into();
        }
        if let Some(links) = settings.links {
            described["host"]["links"] = links.into();
        }
    }
}

fn host(settings: &HostSettings) -> Value {
    json!({
        "gro": settings.gro,
        "line_rate_bps": settings.line_rate.map(Rate::as_bps),
        "moderation_s": match settings.moderation {
            Moderation::Every(interval) => json!(interval.as_secs()),
            Moderation::Adaptive { shortest } => json!({ "from_s": shortest.as_secs() }),
            Moderation::Dim(driver) => json!({ "driver": driver.name() }),
        },
        "noise_s": match settings.noise {
            Noise::Uniform(longest) => json!(longest.as_secs()),
            Noise::LogNormal { median, p99 } => json!({ "median": median.as_secs(), "p99": p99.as_secs() }),
        },
        "processor_s": settings.processor.map(|costs| json!({
            "per_burst": costs.burst.as_secs(),
            "per_kilobyte": costs.kilobyte.as_secs(),
            "per_packet": costs.packet.as_secs(),
        })),
        "kernel": settings.kernel.map(KernelRelease::name),
        "qdisc": settings.qdisc,
        "sysctl": settings.sysctls,
        "send_buffer": settings.tunes_send_buffer.then_some("auto"),
        "receive_buffer": settings.tunes_receive_buffer.then_some("auto"),
    })
}
