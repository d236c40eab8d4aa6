"""A solution of exercise 5: Vegas as long as its queue obeys, and else standard TCP."""

import fairhaul

PATIENCE, BESIDE = 10, 1000


class Student(fairhaul.Controller):
    """Vegas, which is standard TCP for 1000 round trips where somebody else fills the queue."""

    every = "round"

    def __init__(self):
        self.tries = 0
        self.beside = 0

    def on_round(self, window, report):
        """Add a packet beside others; alone, keep a few packets in the queue."""
        queued = window.cwnd * (1 - report.min_rtt_s / report.rtt_s)
        window.growth = 1.0
        if self.beside:
            self.beside -= 1
            return
        # Alone, the queue is short a round trip after this.
        if queued > 8:
            window.reduce_to(window.cwnd - queued + 3)
        is_long = report.rtt_s > report.min_rtt_s + 0.01
        self.tries = self.tries + 1 if is_long else 0
        if self.tries > PATIENCE:
            self.beside, self.tries = BESIDE, 0
        elif queued > 2:
            window.growth = -1.0 if queued > 4 else 0.0

    def on_congestion(self, window, event):
        """Give up less beside others."""
        window.give_up(0.3 if self.beside else 0.5)
