"""The packets of studies that choose their own paths."""

from __future__ import annotations

PACKET_BYTES, HEADER_BYTES = 1500, 40


# A smaller buffer would not hold the packets that leave a sender at once.
LEAST_BUFFER_PACKETS = 10
