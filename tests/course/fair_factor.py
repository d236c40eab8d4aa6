"""A solution of exercise 6: HighSpeed TCP, with the fair factor of FHSTCP."""

import math

import fairhaul


class Student(fairhaul.Controller):
    """What a round trip adds is that of HighSpeed TCP, times 10 times the round trip in seconds."""

    every = "round"

    def on_round(self, window, report):
        """Add by the response function of RFC 3649."""
        w = max(window.cwnd, 38.0)
        b = self.share(w)
        p = 0.078 / w**1.2
        window.growth = 10 * report.rtt_s * w * w * p * 2 * b / (2 - b)

    def on_congestion(self, window, event):
        """Give up what RFC 3649 says."""
        window.give_up(self.share(max(window.cwnd, 38.0)))

    def share(self, w):
        """Half at 38 packets, a tenth at 83,000, and in between by the logarithm."""
        return 0.5 - 0.4 * math.log(w / 38) / math.log(83000 / 38)
