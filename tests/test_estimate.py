"""Means and intervals against a printed table of Student's distribution."""

from __future__ import annotations

import pytest

from fairhaul.estimate import estimate, summary, t_975


def test_four_values_give_a_mean_and_its_interval() -> None:
    # 1, 2, 3, 6: mean 3, variance (4+1+0+9)/3 = 14/3, half width 3.182 sqrt(14/12) = 3.437.
    found = estimate([1.0, 2.0, 3.0, 6.0])
    assert found.mean == 3
    assert found.high == pytest.approx(6.437, abs=1e-3)
    assert found.low == pytest.approx(-0.437, abs=1e-3)
    assert found.holds(0.0)
    assert not found.holds(7.0)


def test_one_run_has_no_interval() -> None:
    assert estimate([5.0]).to_dict() == {"mean": 5.0, "low": None, "high": None}
    assert not estimate([5.0]).holds(5.0)


@pytest.mark.parametrize(
    ("freedom", "printed"), [(1, 12.706), (9, 2.262), (30, 2.042), (40, 2.021), (120, 1.980)]
)
def test_quantiles_are_those_of_the_printed_table(freedom: int, printed: float) -> None:
    assert round(t_975(freedom), 3) == printed


def test_a_summary_has_the_shape_of_its_runs() -> None:
    runs = [
        {"seed": 1, "title": "t", "flows": [{"name": "a", "x": 1, "done": None}], "ok": True},
        {"seed": 2, "title": "t", "flows": [{"name": "a", "x": 3, "done": None}], "ok": False},
    ]
    found = summary(runs)
    assert found["flows"][0]["name"] == "a"
    assert found["flows"][0]["x"]["mean"] == 2
    assert found["flows"][0]["done"] is None
    assert found["ok"] is False
    assert "seed" not in found
    assert "title" not in found


def test_a_number_that_some_runs_lack_is_the_mean_of_the_others() -> None:
    found = summary([{"x": None}, {"x": 4.0}, {"x": 6.0}])
    assert found["x"]["mean"] == 5


def test_flows_of_different_names_are_not_put_together() -> None:
    def run(*names: str) -> dict[str, object]:
        return {"flows": [{"name": name, "x": 1.0} for name in names]}

    with pytest.raises(ValueError, match="b and c are not the same"):
        summary([run("a", "b"), run("a", "c")])
    with pytest.raises(ValueError, match="shorter"):
        summary([run("a", "b"), run("a")])
