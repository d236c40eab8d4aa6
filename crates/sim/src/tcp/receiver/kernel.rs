//! A receiver that takes and acknowledges packets as the kernel does, and packets that came before.

use fairhaul_units::{Ack, Data, Ecn, Time};

use super::{DelayedAck, Receiver};
use crate::tcp::adaptive_delayed_ack::{AckDecision, ArrivalKind};
use crate::tcp::kernel_timer;
use crate::tcp::receive_window::Arrival;

impl Receiver {
    /// An old packet is answered, and not taken.
    #[cold]
    pub(super) fn refuse(&mut self, data: &Data, now: Time) -> Option<Ack> {
        if data.number < self.next {
            return self.answer(data, (false, false, false), false, now);
        }
        self.delayed = None;
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.leaves();
        }
        Some(self.acknowledge(self.recent_stamp, now))
    }

    /// Takes packets that were merged: they are acknowledged together.
    #[cold]
    pub(super) fn receive_merged(&mut self, data: &Data, now: Time) -> (u8, Option<Ack>) {
        if self.is_old(data) {
            return (0, self.refuse(data, now));
        }
        self.heed_mark(data);
        let end = data.end();
        let in_order = (data.number..end).contains(&self.next);
        self.heed_stamp(data, in_order);
        let (mut fresh, mut filled, mut number) = (0, false, data.number.max(self.next));
        while number < end {
            let mut known = if self.out_of_order.is_empty() { end..end } else { number..end };
            let known = known.find(|&other| self.out_of_order.contains(other)).unwrap_or(end);
            if known == number {
                number += 1;
                continue;
            }
            fresh += (known - number) as u8;
            if number == self.next {
                filled |= !self.out_of_order.is_empty();
                self.next = known + self.out_of_order.run_at(known);
                self.out_of_order.advance(self.next);
                number = self.next;
            } else {
                self.remember(number, known - number);
                number = known;
            }
        }
        let news = self.heed_echo(data, fresh > 0);
        self.size_window(data, now);
        (fresh, self.answer(data, (in_order, filled, fresh > 0), news, now))
    }

    /// The stamp of what comes in order. Beyond a gap an acknowledgement is held for what it reports, and not for what came
    /// in order.
    #[inline(always)]
    pub(super) fn heed_stamp(&mut self, data: &Data, in_order: bool) {
        if in_order && (self.delayed.is_none() || !self.out_of_order.is_empty()) {
            self.recent_stamp = self.recent_stamp.max(data.stamped);
        }
    }

    /// The window follows what has arrived; while it grows, what arrives is acknowledged at once [LINUX, tcp_grow_window].
    #[inline(never)]
    pub(super) fn size_window(&mut self, data: &Data, now: Time) {
        let Some(window) = &mut self.window else { return };
        let unread = self.next - self.read_below;
        let arrival = Arrival {
            packets: data.packets,
            end: data.end(),
            is_full: window.is_full(data),
            stamped: data.stamped,
            now,
            more: self.reads_later,
        };
        let grows = window.arrive(arrival, self.next, unread, self.out_of_order.members());
        if !self.reads_later {
            self.read_below = self.next;
        }
        if let Some(adaptive) = self.adaptive.as_mut().filter(|_| grows) {
            adaptive.on_larger_window();
        }
    }

    /// Whether what the application has not read takes so little room that the window is not smaller than the one offered
    /// last, for example because it is less than the unit of the window [LINUX, __tcp_select_window].
    fn has_room(&self) -> bool {
        let beyond = self.out_of_order.members();
        self.window.as_ref().is_some_and(|window| window.stays_open(self.next - self.read_below + beyond))
    }

    /// In Linux the first of the marked packets that are echoed makes two acknowledgements go out at once, and the others
    /// none [LINUX, tcp_data_ecn_check].
    pub(super) fn heed_mark(&mut self, data: &Data) {
        if let Some(adaptive) = &mut self.adaptive
            && !self.exact
            && self.accurate.is_none()
            && data.ecn == Ecn::Marked
            && data.number >= self.next
            && (data.cwr || !self.echoes)
        {
            adaptive.on_first_mark();
        }
    }

    /// The acknowledgement of a packet that is a duplicate, or whose receiver delays as the kernel does; `arrival`:
    /// whether the packet is in order, fills a gap, and is new.
    #[cold]
    pub(super) fn answer(
        &mut self,
        data: &Data,
        arrival: (bool, bool, bool),
        news: bool,
        now: Time,
    ) -> Option<Ack> {
        let (_, filled, fresh) = arrival;
        let urgent = if self.exact || self.accurate.is_some() { news } else { data.cwr }; // [LINUX, tcp_ecn_accept_cwr]
        let end = data.end();
        let is_before_gap = !self.out_of_order.is_empty() && self.next == end;
        let kind = arrival_kind(arrival, is_before_gap);
        let decision = self.adaptive.as_mut().map(|adaptive| adaptive.take(kind, urgent, now));
        // In Linux the program closes its socket at the end, which sends a FIN with the acknowledgement.
        let decision = decision.filter(|_| !self.is_at_end()).unwrap_or(AckDecision::Send);
        if let AckDecision::Delay(_) = decision {
            // More than one segment is acknowledged at once, and by its reader the last of a burst [LINUX,
            // __tcp_ack_snd_check, tcp_cleanup_rbuf].
            self.is_due |= data.packets > 1 || data.sending.ends_burst() || self.delayed.is_some();
        }
        let is_large = data.packets > 1 || self.delayed.is_some();
        match decision {
            AckDecision::Delay(_) if self.is_due && (!self.reads_later || is_large && self.has_room()) => {}
            decision @ (AckDecision::Delay(hold) | AckDecision::Compress(hold)) if self.delayed.is_none() => {
                let until = match decision {
                    AckDecision::Delay(_) => kernel_timer::expires(now, now + hold),
                    _ => now + hold, // by a timer of high resolution
                };
                self.delayed = Some(DelayedAck { stamped: data.stamped, arrived: now, until, packets: 1 });
                return None;
            }
            AckDecision::Delay(_) | AckDecision::Compress(_) => return None,
            AckDecision::Send => {}
        }
        // What fills a gap says so by its own stamp [RFC 7323, 4.3].
        let waited = self.delayed.take().filter(|_| !filled);
        // A late packet that is taken all the same does not take the echo back, or it would show a recovery as needless.
        let stamped = data.stamped.max(self.recent_stamp);
        let waited = waited.map_or((stamped, now), |delayed| (delayed.stamped, delayed.arrived));
        let mut ack = self.acknowledge(waited.0, waited.1);
        if self.sends_dsack && !fresh {
            ack.set_dsack(data.number);
        }
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.leaves();
        }
        Some(ack)
    }
}

/// How a packet arrives at a receiver that delays acknowledgements as the kernel does; `is_before_gap`: the next one is
/// missing.
fn arrival_kind(arrival: (bool, bool, bool), is_before_gap: bool) -> ArrivalKind {
    match arrival {
        (true, true, _) if is_before_gap => ArrivalKind::BeforeGap,
        (true, true, _) => ArrivalKind::FillsGap,
        (true, false, _) => ArrivalKind::InOrder,
        (false, _, true) => ArrivalKind::BeyondGap,
        (false, _, false) => ArrivalKind::Duplicate,
    }
}
