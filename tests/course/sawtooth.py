"""A solution of exercise 1: half a packet per round trip, and three quarters at a loss."""

import fairhaul


class Student(fairhaul.Controller):
    """AIMD with other numbers."""

    every = "round"

    def on_round(self, window, report):
        """Add half a packet."""
        window.growth = 0.5

    def on_congestion(self, window, event):
        """Give up a quarter."""
        window.give_up(0.25)
