//! What both ends go by: the keys of a flow, read as those of a scenario are.

use fairhaul_cc::Builtin;
use fairhaul_experiment::{Flow, Transfer, plan, read};
use fairhaul_sim::tcp::{Receiver, Sender, SenderConfig};
use fairhaul_stack::Setup;

/// A path for which the keys of a flow can be read; no key of the hosts depends on it.
const PATH: &str = r#"
duration = "1 s"
profile = "plain"
[bottleneck]
rate = "10 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail", capacity = "10 packets" }
[[flow]]
name = "hosts"
"#;

/// See the module.
pub struct Hosts {
    flow: Flow,
    transfer: Transfer,
    seed: u64,
}

impl Hosts {
    /// Those of the setting `flow`, with packets of the size of the path.
    ///
    /// # Errors
    /// What is wrong with the keys, or that this stack does not carry what they ask for.
    pub fn read(setup: &mut Setup) -> Result<Hosts, String> {
        let keys = setup.settings.text("flow").unwrap_or("controller = \"reno\"").to_owned();
        let text = format!("{PATH}packet = \"{} B\"\n{keys}\n", setup.common.packet);
        let study = read(&text, "flow", &[]).map_err(|mistakes| mistakes.to_string())?;
        let transfer = *plan(&study.base).first().ok_or("flow: it sends nothing")?;
        let flow = study.base.flows.into_iter().next().ok_or("flow: there is none")?;
        let hosts = Hosts { flow, transfer, seed: setup.common.seed };
        let config = hosts.config();
        let is_alone = config.offload == 1 && config.segmentation.is_none() && config.card.is_none();
        if !is_alone || config.accecn.is_some() || config.clock.is_some() || hosts.sender().sums_feedback() {
            return Err("flow: offload, cards, clocks, AccECN and feedback of routers are not carried".into());
        }
        Ok(hosts)
    }

    /// The configuration of the sender, of a transfer whose size it does not know yet.
    pub fn config(&self) -> SenderConfig {
        SenderConfig { size: None, ..SenderConfig::of(&self.flow, &self.transfer) }
    }

    /// The sender, as the engine makes that of a connection with the same seed.
    pub fn sender(&self) -> Sender<Builtin> {
        Sender::new(self.config(), self.flow.controller.build_for(self.seed))
    }

    /// The receiver, likewise.
    pub fn receiver(&self) -> Receiver {
        let flow = &self.flow;
        Receiver::new(flow.recovery.reports(), flow.delayed_ack, self.sender().exact_echo())
            .with_dsack(flow.recovery == fairhaul_experiment::Recovery::Rack)
            .with_options(flow.has_options())
            .with_window(fairhaul_sim::tcp::ReceiveWindow::of(flow, self.seed))
    }
}
