"""An attack in words: a weakness in a sentence by its measures, and the rows of tables."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from fairhaul.statistics.estimate import Estimate, estimate, text
from fairhaul.studies.attack.objectives import ATTACKED, REFERENCE, shares
from fairhaul.studies.attack.place import OWN, RIVAL, SELF, Place
from fairhaul.text.digits import Decimals

if TYPE_CHECKING:
    from fairhaul.studies.attack import Attack
    from fairhaul.studies.attack.kernel import Kernel
    from fairhaul.studies.attack.shrink import Held

COLUMNS = ("path", "flows", "rivals", "in the search", "over other seeds")
WORDS = 3


def sentence(of: Attack, held: Held) -> str:
    """Explain a weakness by its measures; values are means over the seeds."""
    return f"{_SENTENCES[of.objective.name](of, held)}."


def answer(of: Attack) -> str:
    """Give the result in a sentence or two."""
    if of.worst is not None:
        return sentence(of, of.worst)
    worst = of.searched[0] if of.searched else None
    value = f" The worst value of the search was {of.objective.text(worst.value)}." if worst else ""
    return (
        f"No weakness of {of.attacked.name} was found in this box: no place keeps a value of "
        f"{of.objective.text(of.objective.weak)} or more with other seeds.{value}"
    )


def row(of: Attack, held: Held, searched: float) -> list[str]:
    """Give the cells of a weakness."""
    place = held.place
    return [
        place.text(),
        f"{place.flows} {of.attacked.name}",
        rivals(of, place),
        of.objective.text(searched),
        number(of, held.estimate),
    ]


def rivals(of: Attack, place: Place) -> str:
    """Describe the rivals of a place."""
    if not place.rivals:
        return "none"
    name = of.attacked.name if place.rival == SELF else place.rival
    parts = [f"{place.rivals} {name}"]
    parts += [f"{place.rivals_rtt_ms:g} ms"] if place.rivals_rtt != 1 else []
    if place.rivals_start:
        late = "later" if place.rivals_start > 0 else "earlier"
        parts.append(f"{abs(place.rivals_start) * place.duration_s:.3g} s {late}")
    return ", ".join(parts)


def number(of: Attack, value: Estimate) -> str:
    """Write the value of the objective with its interval."""
    return text(value, Decimals(digits=2)) + of.objective.unit


def on_kernel(of: Attack, kernel: Kernel) -> str:
    """Say what the kernel showed."""
    if not kernel.values:
        return (
            f"Linux {kernel.release}: no run is valid, because the machine could not keep up; "
            "nothing is confirmed."
        )
    verdict = "confirmed" if kernel.confirmed else "not confirmed"
    return (
        f"Linux {kernel.release}: {number(of, kernel.estimate)} over {len(kernel.values)} valid "
        f"runs; the simulator: {number(of, kernel.sim)}. The weakness is {verdict}: it counts as "
        f"one from {of.objective.text(of.objective.weak)} on in every run."
    )


def _mean(held: Held, value: Callable[[dict[str, Any]], float], case: str = ATTACKED) -> float:
    return fmean(value(dict(trial.runs[case])) for trial in held.trials)


def _of_group(held: Held, group: str, key: str, case: str = ATTACKED) -> float:
    return _mean(held, lambda run: run["flows"][group][key] or 0.0, case)


def _names(of: Attack, place: Place) -> dict[str, str]:
    own = of.attacked.name
    return {OWN: own, RIVAL: own if place.rival == SELF else place.rival}


def _percent(part: float) -> str:
    return f"{100 * part:.2g} %" if part < 0.995 else f"{100 * part:.0f} %"


def _estimated(values: Sequence[float], of: Attack) -> str:
    value = estimate(values, of.objective.bounds)
    return text(value, Decimals(digits=1, scale=100)) + " %"


def _packets(count: float) -> str:
    return f"{count:.0f}" if count >= 100 else f"{count:.3g}"


def _mbps(bps: float) -> str:
    return f"{bps / 1e6:.3g}"


def _sender(held: Held, group: str) -> str:
    """Describe what a group of flows went through."""
    loss, timeouts = _of_group(held, group, "loss_rate"), _of_group(held, group, "timeouts")
    parts = [f"loses {_percent(loss)} of its packets"]
    parts += [f"has {timeouts:.2g} timeouts"] if timeouts >= 0.5 else []
    parts.append(f"has a mean window of {_packets(_of_group(held, group, 'cwnd'))} packets")
    return ", ".join(parts[:-1]) + f" and {parts[-1]}"


def _over(place: Place) -> str:
    return f"over {place.text()}"


def _flows(count: int, name: str) -> str:
    return f"one {name} flow" if count == 1 else f"{count} {name} flows"


def _others(of: Attack, place: Place) -> str:
    """Name the rivals with what distinguishes their paths."""
    names = _names(of, place)
    trips = f" of {place.rivals_rtt_ms:g} ms" if place.rivals_rtt != 1 else ""
    return _flows(place.rivals, names[RIVAL]) + trips


def _starve(of: Attack, held: Held) -> str:
    place, names = held.place, _names(of, held.place)
    means = {
        name: fmean(shares(trial.runs).get(name, 1.0) for trial in held.trials) for name in names
    }
    less = min(means, key=lambda name: means[name])
    more = RIVAL if less == OWN else OWN
    values = [shares(trial.runs)[less] for trial in held.trials]
    who = {OWN: (place.flows, place.rtt_ms), RIVAL: (place.rivals, place.rivals_rtt_ms)}
    trips = f" of {who[less][1]:g} ms" if place.rivals_rtt != 1 else ""
    other = f" of {who[more][1]:g} ms" if place.rivals_rtt != 1 else ""
    beside = _flows(who[more][0], names[more]) + other
    each = "the" if who[less][0] == 1 else "each"
    return (
        f"Beside {beside}, {each} {names[less]} flow{trips} has {_estimated(values, of)} of its "
        f"fair share {_over(place)}: {_mbps(_of_group(held, less, 'goodput_bps'))} Mbit/s where "
        f"a {names[more]} flow has {_mbps(_of_group(held, more, 'goodput_bps'))}; "
        f"it {_sender(held, less)}, while {names[more]} {_sender(held, more)}"
    )


def _all(of: Attack, place: Place) -> str:
    beside = f" beside {_others(of, place)}" if place.rivals else ""
    return (_flows(place.flows, of.attacked.name) + beside).capitalize()


def _waste(of: Attack, held: Held) -> str:
    unused = _estimated([trial.value for trial in held.trials], of)
    verb = "leaves" if held.place.flows == 1 and not held.place.rivals else "leave"
    return (
        f"{_all(of, held.place)} {verb} {unused} of the link unused {_over(held.place)}: a flow "
        f"{_sender(held, OWN)}, where the bandwidth-delay product is "
        f"{_packets(held.place.bdp_packets)} packets"
    )


def _queue(of: Attack, held: Held) -> str:
    standing = _mean(held, lambda run: run["standing_s"])
    verb = "keeps" if held.place.flows == 1 and not held.place.rivals else "keep"
    return (
        f"{_all(of, held.place)} {verb} a standing queue of {number(of, held.estimate)} "
        f"({1000 * standing:.3g} ms) {_over(held.place)}: windows are "
        f"{_packets(_of_group(held, OWN, 'cwnd'))} packets per flow where the bandwidth-delay "
        f"product is {_packets(held.place.bdp_packets)}, the queue drops "
        f"{_percent(_mean(held, lambda run: run['drop_rate']))} of the packets and marks "
        f"{_percent(_mean(held, lambda run: run['mark_rate']))}"
    )


def _stall(of: Attack, held: Held) -> str:
    part = _estimated([trial.value for trial in held.trials], of)
    length_s = _mean(held, lambda run: run["stalled_s"])
    place = held.place
    total = place.flows + (place.rivals if place.rival == SELF else 0)
    return (
        f"One of {_flows(total, of.attacked.name)} has less than half of its fair share for {part} "
        f"of its time, {length_s:.3g} s without a break, {_over(place)}; in the second half of the "
        f"run a flow {_sender(held, OWN)}"
    )


def _harm(of: Attack, held: Held) -> str:
    place = held.place
    lost = _estimated([trial.value for trial in held.trials], of)
    beside = _of_group(held, RIVAL, "goodput_bps")
    without = _of_group(held, RIVAL, "goodput_bps", REFERENCE)
    return (
        f"Beside {_flows(place.flows, of.attacked.name)}, {_others(of, place)} "
        f"{'loses' if place.rivals == 1 else 'lose'} {lost} of the goodput that "
        f"{'it has' if place.rivals == 1 else 'they have'} beside as many {place.rival} flows, "
        f"{_over(place)}: {_mbps(beside)} instead of {_mbps(without)} Mbit/s each; a {place.rival} "
        f"flow {_sender(held, RIVAL)}"
    )


_SENTENCES = {
    "starve": _starve,
    "waste": _waste,
    "queue": _queue,
    "stall": _stall,
    "harm": _harm,
}


def wrapped(line: str) -> list[str]:
    """Break a sentence into lines for comments."""
    return textwrap.wrap(line, 96, break_long_words=False, break_on_hyphens=False)
