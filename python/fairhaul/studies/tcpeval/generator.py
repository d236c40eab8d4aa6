"""Traffic that stands for the traces of the suite, which are not distributed with it.

Users open connections as a Poisson process. In each, requests and responses alternate, with
pauses of the server and of the user; the sizes of responses are heavy-tailed.
"""

from __future__ import annotations

import numpy as np

from fairhaul.studies.tcpeval.vectors import SMALL_PART, US, Floats, Trace

# Differs from [TCPEVAL, 2.2]: the traces of a campus are replaced by these laws.
EXCHANGES = 2.0
"""Mean number of requests of a connection (geometric)."""
REQUEST_BYTES = 800.0
"""Mean size of a request (exponential)."""
RESPONSE_BYTES = (1500.0, 1.2, 20e6)
"""Least size of a response, shape and greatest size (bounded Pareto)."""
SERVER_S, USER_S = 0.05, 1.0
"""Mean pauses before a response, and before the next request (exponential)."""


def mean_response_bytes() -> float:
    """Give the mean of the bounded Pareto distribution."""
    least, shape, most = RESPONSE_BYTES
    ratio = least / most
    norm = shape / (shape - 1) * least / (1 - ratio**shape)
    return float(norm * (1 - ratio ** (shape - 1)))


def connections_per_s(bits_per_s: float) -> float:
    """Give how many connections a second make a load in the direction of the responses."""
    return bits_per_s / (8 * EXCHANGES * mean_response_bytes())


def generate(rate: float, length_s: float, rng: np.random.Generator) -> Trace:
    """Draw the connections that open in `length_s` seconds, `rate` of them a second."""
    count = max(int(rng.poisson(rate * length_s)), 1)
    start_s = np.sort(rng.uniform(0.0, length_s, count))
    exchanges = rng.geometric(1 / EXCHANGES, count)
    total = int(exchanges.sum())
    requests = np.ceil(rng.exponential(REQUEST_BYTES, total))
    responses = _responses(total, rng)
    server_s, user_s = rng.exponential(SERVER_S, total), rng.exponential(USER_S, total)
    first = np.concatenate([[0], np.cumsum(exchanges)[:-1]])
    user_s[first] = 0.0  # nothing precedes the first request
    lines = [
        f"{'' if think < 1 else f't {think}' + chr(10)}> {request}\nt {wait}\n< {response}\n"
        for think, request, wait, response in zip(
            np.rint(user_s * US).astype(np.int64).tolist(),
            requests.astype(np.int64).tolist(),
            np.rint(server_s * US).astype(np.int64).tolist(),
            responses.astype(np.int64).tolist(),
            strict=True,
        )
    ]
    ends = (first + exchanges).tolist()
    return Trace(
        start_s=start_s,
        down_bytes=_sums(responses, first),
        up_bytes=_sums(requests, first),
        pauses_s=_sums(server_s + user_s, first),
        units=2 * exchanges.astype(np.int64),
        is_small=rng.random(count) < SMALL_PART,
        kind=["SEQ"] * count,
        body=["".join(lines[low:high]) for low, high in zip(first.tolist(), ends, strict=True)],
    )


def _sums(of: Floats, first: np.ndarray) -> Floats:
    return np.asarray(np.add.reduceat(of, first), dtype=np.float64)


def _responses(count: int, rng: np.random.Generator) -> Floats:
    least, shape, most = RESPONSE_BYTES
    unit = rng.random(count)
    tail = (least / most) ** shape
    sizes: Floats = np.ceil(least * (1 - unit * (1 - tail)) ** (-1 / shape))
    return sizes
