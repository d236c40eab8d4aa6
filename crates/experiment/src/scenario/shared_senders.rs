//! The cards of the senders that flows of a scenario share.

use fairhaul_path::card::SendCard;

use crate::Scenario;

impl Scenario {
    /// The cards of the senders that flows share, by their numbers.
    pub fn shared_cards(&self) -> Vec<SendCard> {
        let hosts = self.flows.iter().filter_map(|flow| flow.host.as_deref());
        let shared = hosts.filter_map(|host| Some((host.sender.as_ref()?.number, host)));
        let mut cards = Vec::new();
        for (number, host) in shared {
            cards.resize(cards.len().max(number as usize + 1), host.send_card());
            cards[number as usize] = host.send_card();
        }
        cards
    }
}
