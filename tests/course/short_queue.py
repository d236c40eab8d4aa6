"""A solution of exercise 4: a few packets in the queue, as Vegas has it."""

import fairhaul


class Student(fairhaul.Controller):
    """Vegas: between 2 and 4 packets of its own in the queue."""

    every = "round"

    def on_round(self, window, report):
        """Add or take a packet; a long queue is emptied at once, which ends slow start."""
        queued = window.cwnd * (1 - report.min_rtt_s / report.rtt_s)
        if queued > 8:
            window.reduce_to(window.cwnd - queued + 3)
        window.growth = 1.0 if queued < 2 else -1.0 if queued > 4 else 0.0

    def on_congestion(self, window, event):
        """Give up half."""
        window.give_up(0.5)
