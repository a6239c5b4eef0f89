"""Programs on exact values are planned, timed and written down before there are keys, as those on slots are."""

import json

import limbwise as lw
import numpy as np
import pytest

PAIR = [np.zeros(4, np.uint8)] * 2


def program(x, y):
    return lw.tfhe.where(x < y, x * 2, x // y), (x + y)[::-1]


def test_integers_of_tfhe(tmp_path):
    params = lw.tfhe.parameters("2-2-p64", threads=1)
    assert not params.has_secret
    recording = lw.record(program, PAIR, context=params)
    assert recording.operations == ["lt", "mul", "divmod", "where", "add", "take"]
    # Of 4 digits: a comparison 5, a product with a number 4, a quotient 74, a choice 5 and what it cleans, a sum 4.
    assert recording.facts["bootstrappings"] == 4 * (5 + 4 + 74 + 5 + 4 + 4)
    plan = lw.plan(recording)
    assert plan.key_bytes > 1e7
    assert plan.input_bytes > 1e5
    assert plan.seconds_predicted > 0
    assert plan.peak_memory_bytes["predicted"] > plan.key_bytes
    assert "bootstrappings" in str(plan)
    assert "2-2-p64" in str(plan)
    assert lw.plan(program, PAIR, context=params).facts["input_bytes"] == plan.input_bytes
    ark, flexmem = (lw.time(recording, machine, events=100) for machine in ("cpu", "flexmem"))
    assert ark.seconds > flexmem.seconds > 0
    recording.save(tmp_path / "graph.jsonl")
    first, *rest = (tmp_path / "graph.jsonl").read_text().splitlines()
    assert json.loads(first)
    assert len(rest) >= recording.facts["nodes"]
    with pytest.raises(lw.MemoryBudgetError) as refused:
        lw.plan(program, PAIR, context=params, memory="50MB")
    assert lw.plan(program, PAIR, context=params, memory=refused.value.least_bytes)
    with pytest.raises(lw.TraceError, match=r"lw\.tfhe\.keys"):
        plan.context()
    for call in (lambda: params.encrypt(PAIR[0]), lambda: params.save_secret(tmp_path / "secret")):
        with pytest.raises(lw.KeyMissing, match="secret key"):
            call()
    assert len(recording.expected()) == 2


def test_what_is_planned_is_what_runs(small_integers):
    """The recording of a side with keys counts what the device is asked for."""
    recording = lw.record(program, PAIR, context=small_integers)
    results = program(*(small_integers.encrypt(np.array(v, np.uint8)) for v in ([3, 200, 9, 0], [5, 7, 9, 0])))
    np.testing.assert_array_equal(small_integers.decrypt(results[0]), [6, 28, 1, 0])
    for result, expected in zip(results, recording.expected(), strict=True):
        again = small_integers.from_bytes(result.to_bytes(), expect=expected)
        np.testing.assert_array_equal(small_integers.decrypt(again), small_integers.decrypt(result))


def test_integers_of_bgv():
    def scored(x, y):
        return (x * y + 3).sum(), np.arange(40).reshape(2, 20) @ x

    params = lw.integers.parameters("bgv-n12")
    recording = lw.record(scored, [np.arange(20)] * 2, context=params)
    assert recording.operations == ["multiply", "add", "sum", "matrix product"]
    assert recording.facts["scheme"] == "bgv"
    assert recording.facts["bootstrappings"] is None
    plan = lw.plan(recording)
    assert len(plan.keys) == len(recording.facts["keys"]) > 1
    assert lw.time(recording, "ark").seconds > 0
    words = lw.record(lambda x: x * x, np.zeros(3, np.uint64), context=lw.integers.parameters("zn64-n12"))
    assert lw.plan(words).input_bytes > plan.input_bytes / 2
    with pytest.raises(lw.ParamsError):
        lw.integers.parameters("bgv-n1")
    with pytest.raises(lw.KeyMissing, match="secret key"):
        params.encrypt(np.arange(3))


def test_parameters_from_files(tmp_path, small_integers):
    path = tmp_path / "small.toml"
    path.write_text(small_integers._session.to_toml())
    assert lw.tfhe.parameters(path).insecure_reason == "a test of correctness"
    for read in (lw.tfhe.parameters, lw.integers.parameters, lw.tfhe.keys, lw.bgv):
        with pytest.raises(lw.ParamsError, match="cannot read"):
            read(tmp_path / "absent.toml")
        with pytest.raises(lw.ParamsError):
            read(3)


def test_odd_programs(small_integers):
    params, bgv = lw.tfhe.parameters("2-2-p64"), lw.integers.parameters("bgv-n12")
    nothing = lw.record(lambda x: x, PAIR[0], context=params)
    assert (nothing.operations, nothing.facts["bootstrappings"]) == ([], 0)
    assert lw.plan(nothing).seconds_predicted >= 0
    public = lw.record(lambda x: x > 300, PAIR[0], context=params)
    assert (public.operations, public.facts["bootstrappings"]) == (["known"], 0)
    kept = []
    lw.record(lambda x: kept.append(x) or x, PAIR[0], context=params)
    live = small_integers.encrypt(PAIR[0])
    for stranger in (kept[0], live):
        with pytest.raises(lw.ContextError, match="other keys"):
            lw.record(lambda x, one=stranger: one, PAIR[0], context=params)
        with pytest.raises(lw.ContextError, match="different keys"):
            lw.record(lambda x, one=stranger: x + one, PAIR[0], context=params)
    lw.record(lambda x: kept.append(x) or x, np.arange(3), context=bgv)
    with pytest.raises(lw.ContextError, match="another context"):
        lw.record(lambda x: kept[1], np.arange(3), context=bgv)
    with pytest.raises(lw.TraceError, match="return what it computed"):
        lw.plan(lambda x: None, PAIR[0], context=params)
    with pytest.raises(lw.DtypeError):
        lw.plan(lambda x: x, np.array([np.nan]), context=params)
