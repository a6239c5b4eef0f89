"""Plans, recordings, timings, plots, learning."""

import json

import limbwise as lw
import numpy as np
import pytest
from conftest import close


def program(x, w):
    return lw.poly((x * w).sum() * 0.1, [0, 1, 0, -0.1])


def test_a_plan_is_what_runs():
    plan = lw.plan(program, [lw.like(100), lw.like(100)])
    assert plan.security_bits >= 128
    assert plan.levels_left == 1  # the last product is not divided: nothing is computed from it
    assert "evaluation keys" in str(plan)
    assert plan._repr_html_().startswith("<table>")
    ctx = plan.context()
    a, w = np.linspace(0, 1, 100), np.linspace(1, 0, 100)
    got = ctx.decrypt(program(ctx.encrypt(a), ctx.encrypt(w)))
    inner = (a * w).sum() * 0.1
    close(got, inner - 0.1 * inner**3, 1e-3)
    # Keys are made as the plan says where it is known beforehand, else at the highest level.
    sides = plan.context()
    sides.prepare(program, [a, w])
    assert sides.keys() == plan.to_records()
    names = {key["name"] for key in plan.to_records()}
    assert {key["name"] for key in list(ctx.keys())} == names
    with pytest.raises(AttributeError, match="key_bytes"):
        plan.nothing


def test_what_is_not_returned_takes_levels_too():
    def program(x):
        _unused = x**4
        return x + 1

    a = np.linspace(-1, 1, 8)
    plan = lw.plan(program, a)
    assert plan.levels["fresh"] == 2
    assert np.max(np.abs(plan.context().run(program, a) - a - 1)) < 1e-4


def test_a_budget_chooses_and_refuses():
    recording = lw.record(program, [lw.like(100), lw.like(100)], depth=6)
    free = lw.plan(recording)
    with pytest.raises(lw.MemoryBudgetError, match="the smallest takes") as refused:
        lw.plan(recording, memory="1MB")
    least = refused.value.least_bytes
    tight = lw.plan(recording, memory=least)
    assert tight.key_form == "seeded"
    assert tight.key_bytes <= free.key_bytes
    assert len(tight.choices) > 1
    with pytest.raises(lw.MemoryBudgetError):
        lw.plan(recording, memory=least - 1)


def test_plans_bootstrap_where_levels_end():
    def deep(x):
        for _ in range(12):
            x = (x * x).bounded_by(1.0)
        return x

    plan = lw.plan(deep, lw.like(64), preset="boot-n15", slots=64)
    assert plan.bootstrapping["levels"] == 5
    assert plan.recording.operations.count("mul") == 12
    assert "bootstrapping" in str(plan)
    assert lw.record(deep, lw.like(64), slots=64).params.levels >= 12


def test_recordings_are_written(tmp_path):
    recording = lw.record(lambda x: x @ np.ones((8, 3)), lw.like((4, 8)), preset="n13-l3-s40")
    assert recording.facts["nodes"] > 10
    recording.save(tmp_path / "graph.jsonl")
    assert json.loads((tmp_path / "graph.jsonl").read_text().splitlines()[0])
    for mistake in (lambda x: 3, ctx_free):
        with pytest.raises(lw.TraceError):
            lw.record(mistake, lw.like(4), depth=2)


def ctx_free(x):
    x.context.decrypt(x)
    return x


def test_times_and_plots(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    recording = lw.record(lambda x: (x * x).sum(), lw.like(1 << 12), preset="n16-l24-s40")
    timing = lw.time(recording, "ark")
    assert 0 < timing.seconds < 1
    assert timing.to_records("units")
    assert sum(row["bytes"] for row in timing.to_records("bytes")) > 0
    for name, plot in [
        ("timeline", timing.plot_timeline),
        ("roofline", timing.plot_roofline),
        ("traffic", timing.plot_traffic),
    ]:
        ax = plot()
        ax.figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    with pytest.raises(lw.MachineError):
        lw.time(recording, "arc")
    with pytest.raises(lw.MachineError):
        lw.time(recording, "ark", no_such_number=3)


def test_logistic_regression_learns(caplog):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3)) * [1, 10, 0.1] + [0, 5, 0]
    y = np.where(X[:, 0] + 0.1 * (X[:, 1] - 5) > 0, "yes", "no")
    model = lw.LogisticRegression(iterations=2, degree=3)
    with pytest.raises(lw.LimbwiseError, match="call fit"):
        model.predict(X)
    assert model.fit(X, y) is model
    assert model.score(X, y) > 0.9
    assert set(model.predict(X)) == {"yes", "no"}
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.coef_.shape == (1, 3)
    assert model.report_["security_bits"] >= 128
    for bad, labels, words in [(X[0], y, "rows × features"), (X, y[:5], "one for each"), (X, np.zeros(120), "classes")]:
        with pytest.raises(lw.ShapeError, match=words):
            lw.LogisticRegression(iterations=1).fit(bad, labels)
