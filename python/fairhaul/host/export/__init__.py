"""Export of flows and watched eBPF ports to a monitoring system.

`metrics` is the table of what is exported, `state` what is known at a time, `destination` where it
goes: over HTTP (`server`) or into a file that node_exporter reads (`textfile`).
"""

from pathlib import Path

from fairhaul.host.export.address import HttpAddress
from fairhaul.host.export.destination import Destination, Textfile, destination, opened

# The board for Grafana.
DASHBOARD = Path(__file__).parent / "dashboard.json"

__all__ = ["DASHBOARD", "Destination", "HttpAddress", "Textfile", "destination", "opened"]
