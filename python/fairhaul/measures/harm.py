"""Harm: how much worse flows fare beside another flow than without it [WARE 2019, 4]."""

# No postponed annotations: the required keys of a TypedDict are worked out from real ones.

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures


class FlowHarm(TypedDict):
    """The harm to one flow, at most 1; 0 is none, and a negative value is a benefit."""

    name: str
    goodput: float | None
    rtt: float | None
    """Of the mean round-trip time."""
    loss: float | None
    """Of the loss rate; 1 where only the run with the other flow has losses."""
    completion: float | None
    """Of the completion time of its transfers."""


def harm(beside: "RunFigures", alone: "RunFigures") -> list[FlowHarm]:
    """Compare the flows that two runs have in common, by name.

    Args:
        beside: the figures of a run with the harming flow.
        alone: the figures of a run without it, otherwise the same scenario, seed included.

    Returns:
        The harm to each flow of `alone` that `beside` has, too, in the order of `alone`.

    Source: [WARE 2019, 4]: of a measure of which more is better (alone - beside) / alone, of one of
    which less is better (beside - alone) / beside.
    """
    flows = {flow["name"]: flow for flow in beside["flows"]}
    found: list[FlowHarm] = []
    for solo in alone["flows"]:
        flow = flows.get(solo["name"])
        if flow is not None:
            found.append(
                {
                    "name": solo["name"],
                    "goodput": _of(solo["goodput_bps"], flow["goodput_bps"]),
                    "rtt": _of(flow["rtt_mean_s"], solo["rtt_mean_s"]),
                    "loss": _of(flow["loss_rate"], solo["loss_rate"]),
                    "completion": _of(flow["completion_s"], solo["completion_s"]),
                }
            )
    return found


def _of(large: float | None, small: float | None) -> float | None:
    """Give the part of `large` by which `small` is less."""
    if large is None or small is None:
        return None
    return (large - small) / large if large else (0.0 if small == large else None)
