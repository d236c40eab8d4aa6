//! Checks what the keys of a flow about marks say together: what no document defines is refused, with the reason.

use fairhaul_cc::{Controller, ControllerChoice};

use super::fields::FlowKeys;
use super::mistake::Notes;
use crate::Middlebox;

/// Whether a controller reads marks.
pub(super) fn reads_marks(controller: &ControllerChoice) -> bool {
    controller.build().needs().exact_echo
}

/// Whether a controller sends ECT(1) by itself, and needs accurate feedback for it.
pub(super) fn sends_ect1(controller: &ControllerChoice) -> bool {
    controller.build().needs().own_marks
}

/// Checks them.
pub(super) fn check(keys: &FlowKeys, notes: &mut Notes) {
    let Some(controller) = &keys.controller.value else { return };
    let (reads, own) = (reads_marks(controller), sends_ect1(controller));
    let ecn = keys.ecn.value.unwrap_or(reads);
    let [ect1, accurate] = [&keys.ect1, &keys.accecn].map(|key| key.value.unwrap_or(own));
    let name = controller.name();
    if own && !ecn {
        let text = format!(
            "{name} reads marks and nothing else of a queue, and without ECN it is Reno: use \"reno\""
        );
        return keys.ecn.key.note(text, notes);
    }
    if own && !accurate {
        let text = format!(
            "{name} needs accurate feedback (RFC 9331, 4.3), and without it behaves as Reno: use \"reno\", or a middlebox \
             to see how the connection falls back"
        );
        return keys.accecn.key.note(text, notes);
    }
    if own && !ect1 {
        let text = format!("{name} sends ECT(1) (RFC 9331, 4.1): an L4S queue takes nothing else");
        return keys.ect1.key.note(text, notes);
    }
    if keys.accecn.value == Some(true) && !ecn {
        let text =
            "needs ecn = true: without it no packet is marked, and there is nothing to report (RFC 9768)";
        return keys.accecn.key.note(text, notes);
    }
    if keys.ect1.value == Some(true) && !ecn {
        return keys.ect1.key.note("needs ecn = true: without it data are Not-ECT", notes);
    }
    if keys.ect1.value == Some(true) && !reads {
        let text = format!(
            "ECT(1) says that the sender reduces in proportion to marks (RFC 9331, 4.3), and {name} reduces as for a loss: it \
             would get less than its share in an L4S queue. Remove the key, or use \"prague\", \"dctcp\" or {{ kind = \"bbr3\", proportional = \
             true }}"
        );
        return keys.ect1.key.note(text, notes);
    }
    if keys.middlebox.value != Middlebox::None && !accurate {
        let text = "needs accecn = true: what it does is defined for a request for accurate feedback (RFC 9768, 3.2)";
        keys.middlebox.key.note(text, notes);
    }
    if keys.accecn_option.key.given && !accurate {
        keys.accecn_option
            .key
            .note("needs accecn = true: it is an option of AccECN (RFC 9768, 3.2.3)", notes);
    }
}
