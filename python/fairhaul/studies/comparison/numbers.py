"""The numbers of a comparison, computed from the figures of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.measures.fairness import jain
from fairhaul.measures.long_term import ENOUGH_CYCLES, MARGIN
from fairhaul.measures.types import ControllerRow
from fairhaul.results.summary import summary
from fairhaul.scenario.transport import STANDARD
from fairhaul.studies.comparison.plan import (
    Case,
    Done,
    is_long_enough,
    least,
    least_cycles,
    least_s,
)
from fairhaul.studies.comparison.question import Question

# Differs from [WARE 2019]: there the reference is the goodput of the competing flows without any
# other flow. Here it is their goodput beside the same number of standard TCP flows, so that harm
# counts only what this controller takes in addition to what standard TCP would take.
HARM = (
    "1 - (goodput of the competing flows beside this controller) / (their goodput beside the same "
    "number of standard TCP flows)"
)

Run = Mapping[str, Any]

# The figures of a controller's runs by seed, for "alone" and "beside".
Runs = Mapping[str, Mapping[int, Run]]


def figures(question: Question, done: Done) -> dict[str, Runs]:
    """Give the figures of every run of each controller."""
    return {name: _figures(question, name, done) for name in question.compared}


def _figures(question: Question, name: str, done: Done) -> Runs:
    alone = done.measures[Case(name=name, beside=False)]
    runs = {"alone": {run["seed"]: _case(question, run, done) for run in alone}}
    if question.others is not None:
        standard = {run["seed"]: run for run in done.measures[Case(name=STANDARD, beside=True)]}
        runs["beside"] = {
            run["seed"]: _case(question, run, done)
            | _harm(question, run, standard[run["seed"]], done)
            for run in done.measures[Case(name=name, beside=True)]
        }
    return runs


def rows(question: Question, found: Mapping[str, Runs]) -> list[ControllerRow]:
    """Give the figures of each controller: numbers for one seed, means for several."""
    result: list[Any] = [
        {"controller": name, "beside": None}
        | {case: _together(question, list(of.values())) for case, of in runs.items()}
        for name, runs in found.items()
    ]
    return result


def harm(usual_bps: float, beside_bps: float) -> float | None:
    """Give the harm of a controller that leaves `beside_bps` of the usual goodput to other flows.

    It is 0 if there is no harm, 1 if nothing is left, and negative if the other flows get more than
    usual. It is None if they usually get nothing. Source: [WARE 2019], with another reference
    (`HARM`).
    """
    return (usual_bps - beside_bps) / usual_bps if usual_bps > 0 else None


def _case(question: Question, run: Run, done: Done) -> dict[str, Any]:
    """The figures of one run: those of the compared flows, in the order of the round-trip times."""
    flows = _compared(run)
    goodputs = [flow["goodput_bps"] for flow in flows]
    cycles = least_cycles(run)
    return {
        "jain": jain(goodputs),
        "utilization": run["links"][0]["utilization"],
        "least_cycles": cycles,
        **settled(question, cycles, done),
        "flows": [_flow(question, flow, sum(goodputs), done.duration_s) for flow in flows],
    }


def settled(question: Question, cycles: float | None, done: Done) -> dict[str, Any]:
    """Say whether a run was long enough, and about how long it should be if it was not.

    The rate of cycles in a longer run is about the same, so the required duration follows from
    their number; without a cycle it is unknown. Where their number is not known, no run is known to
    be long enough.
    """
    if cycles is None:
        return {"stationary": False, "wanted_duration_s": None}
    if is_long_enough(question, cycles, done.duration_s):
        return {"stationary": True, "wanted_duration_s": None}
    wanted_s = None
    if cycles:
        cycles_s = done.duration_s * MARGIN * ENOUGH_CYCLES / cycles
        wanted_s = max(cycles_s if cycles < ENOUGH_CYCLES else 0.0, least_s(question))
    return {"stationary": False, "wanted_duration_s": wanted_s}


def _compared(run: Run) -> list[Mapping[str, Any]]:
    """Give the compared flows in their order; the connections of one transfer count as one flow."""
    groups = {group["name"]: group for group in run.get("groups", ())}
    measured = [flow for flow in run["flows"] if flow["role"] == "measured"]
    compared = {flow["group"]: groups.get(flow["group"], flow) for flow in measured}
    return list(compared.values())


def _flow(question: Question, flow: Run, of_bps: float, duration_s: float) -> dict[str, Any]:
    """The figures of one flow; its share is its part of the goodput of the compared flows."""
    goodput = flow["goodput_bps"]
    completion = question.size_bytes * 8 / goodput if goodput > 0 else None
    return {
        "goodput_bps": goodput,
        "share": goodput / of_bps if of_bps > 0 else None,
        "link_share": flow["link_share"],
        "loss_rate": flow["loss_rate"],
        "completion_s": completion,
        "extrapolated": completion is None or completion > duration_s,
    }


def _harm(question: Question, run: Run, usual: Run, done: Done) -> dict[str, Any]:
    """The share of the compared flows, and what is left to the competing flows.

    Harm is stationary only if the run beside standard TCP is stationary, too.
    """
    others, own = _goodput(run, "background"), _goodput(run, "measured")
    cycles = least([least_cycles(run), least_cycles(usual)])
    return {
        **settled(question, cycles, done),
        "share": own / (own + others) if own + others > 0 else None,
        "others_goodput_bps": others,
        "harm": harm(_goodput(usual, "background"), others),
    }


def _goodput(run: Run, role: str) -> float:
    return sum(float(flow["goodput_bps"]) for flow in run["flows"] if flow["role"] == role)


def _together(question: Question, runs: Sequence[Run]) -> dict[str, Any]:
    """The figures of one run, or the means over several; round-trip times are not averaged."""
    figures = dict(runs[0]) if len(runs) == 1 else summary(runs)
    figures["least_cycles"] = least([run["least_cycles"] for run in runs])
    figures["stationary_share"] = sum(run["stationary"] for run in runs) / len(runs)
    short = [run["wanted_duration_s"] for run in runs if not run["stationary"]]
    figures["wanted_duration_s"] = max(short) if short and None not in short else None
    figures["flows"] = [
        {"rtt_s": rtt} | dict(flow)
        for rtt, flow in zip(question.rtts_s, figures["flows"], strict=True)
    ]
    return figures
