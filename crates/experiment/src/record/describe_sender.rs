//! Describes what a sender and its receiver do otherwise than by default.

use serde_json::{Value, json};

use crate::{AccEcnOption, Flow, Growth, Hold, HostPacing, Middlebox, OnTimeout, Restart, Startup};

/// Adds what its sender and its receiver do otherwise than by default.
pub(crate) fn add(flow: &Flow, described: &mut Value) {
    match flow.delayed_ack {
        Some(Hold::Adaptive { quick }) => {
            described["delayed_ack"] = json!({ "kind": "adaptive", "quick_packets": quick });
        }
        Some(Hold::For { packets, .. }) if packets != 2 => described["ack_every"] = packets.into(),
        _ => {}
    }
    if flow.growth == Growth::PerAck {
        described["growth"] = "per ack".into();
    }
    let restart = match flow.restart {
        Restart::None => None,
        Restart::Linux => Some("linux"),
        Restart::Rfc5681 => Some("rfc5681"),
        Restart::Rfc7661 => Some("rfc7661"),
    };
    let pacing = match flow.pacing {
        HostPacing::None => None,
        HostPacing::Linux => Some("fq"),
        HostPacing::Quic => Some("quic"),
    };
    for (key, word) in [("restart", restart), ("pacing", pacing)] {
        if let Some(word) = word {
            described[key] = word.into();
        }
    }
    if let Some(startup) = startup(flow.startup) {
        described["startup"] = startup;
    }
    if flow.rate_limited_increase {
        described["rate_limited_increase"] = true.into();
    }
    if flow.on_timeout == OnTimeout::Probe {
        described["on_timeout"] = "probe".into();
    }
    if let Some(packets) = flow.min_window {
        described["min_window_packets"] = packets.into();
    }
    add_marks(flow, described);
    for (key, share) in [("mark_beta", flow.mark_beta), ("first_beta", flow.first_beta)] {
        if let Some(share) = share {
            described[key] = share.into();
        }
    }
}

fn startup(startup: Startup) -> Option<Value> {
    Some(match startup {
        Startup::None => return None,
        Startup::Paced => json!({ "kind": "paced" }),
        Startup::CarefulResume { cwnd, rtt, max_jump } => json!({
            "kind": "careful resume", "saved_window": cwnd, "saved_rtt_s": rtt.as_secs(), "max_jump": max_jump
        }),
        Startup::RapidStart => json!({ "kind": "rapid start" }),
        Startup::Jumpstart => json!({ "kind": "jumpstart" }),
    })
}

/// Adds what its packets say of it, and how marks are reported.
fn add_marks(flow: &Flow, described: &mut Value) {
    for (key, host) in ["source_host", "destination_host"].into_iter().zip(&flow.between) {
        if let Some(host) = host {
            described[key] = host.as_str().into();
        }
    }
    if flow.dscp != 0 {
        described["dscp"] = flow.dscp.into();
    }
    if flow.ect1 {
        described["ect1"] = true.into();
    }
    if let Some(option) = flow.accecn {
        let option = match option {
            AccEcnOption::Never => "never",
            AccEcnOption::Minimum => "minimum",
            AccEcnOption::Always => "always",
        };
        described["accecn"] = json!({ "option": option });
    }
    let middlebox = match flow.middlebox {
        Middlebox::None => None,
        Middlebox::ClearsRequest => Some("clears request"),
        Middlebox::ClearsAe => Some("clears ae"),
        Middlebox::ClearsAce => Some("clears ace"),
        Middlebox::RemovesOption => Some("removes option"),
        Middlebox::ClearsEcn => Some("clears ecn"),
        Middlebox::SetsEct => Some("sets ect"),
    };
    if let Some(middlebox) = middlebox {
        described["middlebox"] = middlebox.into();
    }
}
