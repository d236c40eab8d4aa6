"""Depths of a queue at 10 Gbit/s, measured at real hardware, compared with those of engines.

The measurements are public: notebooks/generalized_test.csv of the repository
brucespang/ifip21-buffer-sizing on GitHub [SPANG 2021].
"""

SOURCE = "notebooks/generalized_test.csv of https://github.com/brucespang/ifip21-buffer-sizing"
