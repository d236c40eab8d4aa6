"""A solution of exercise 3: growth in proportion to the window, as Scalable TCP has it."""

import fairhaul


class Student(fairhaul.Controller):
    """Scalable TCP."""

    every = "round"

    def on_round(self, window, report):
        """Add a hundredth of the window."""
        window.growth = max(1.0, 0.01 * window.cwnd)

    def on_congestion(self, window, event):
        """Give up an eighth."""
        window.give_up(0.125)
