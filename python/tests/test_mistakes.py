"""Bad input: errors that a beginner can act on."""

import copy
import os
import pickle
import subprocess
import sys

import limbwise as lw
import numpy as np
import pytest
from limbwise._nvrtc import name_folder


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([1.0, float("nan")], lw.EncodeError, "only finite numbers"),
        ([1.0, float("inf")], lw.EncodeError, "only finite numbers"),
        (["a", "b"], lw.DtypeError, "cannot be encrypted"),
        ([None], lw.DtypeError, "cannot be encrypted"),
        ([1 + 2j], lw.DtypeError, "complex=True"),
        ([], lw.DtypeError, "no values"),
        ([1e30], lw.EncodeError, "overflows the modulus"),
        ([[1.0], [2.0, 3.0]], lw.ShapeError, "no array"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), lw.DtypeError, "filled"),
        (np.array(["2026-01-01"], dtype="datetime64[D]"), lw.DtypeError, "cannot be encrypted"),
        (np.zeros(2, dtype=[("a", float)]), lw.DtypeError, "cannot be encrypted"),
        ([10**400], lw.DtypeError, "cannot be encrypted"),
        (np.zeros((0, 3)), lw.DtypeError, "no values"),
    ],
)
def test_values(ctx, values, error, words):
    with pytest.raises(error, match=words):
        ctx.encrypt(values)


def test_axes_and_shapes_may_be_sequences(ctx):
    a = np.arange(6.0).reshape(2, 3)
    x = ctx.encrypt(a)
    assert np.abs(ctx.decrypt(x.transpose((1, 0))) - a.T).max() < 1e-4
    assert np.abs(ctx.decrypt(x.transpose([-1, 0])) - a.T).max() < 1e-4
    assert np.abs(ctx.decrypt(x.reshape([3, 2])) - a.reshape(3, 2)).max() < 1e-4


def test_what_contradicts_named_parameters_is_refused():
    program = (lambda x: x * x, lw.like(4))
    for mistake, words in [
        (lambda: lw.ckks("n13-l3-s40", depth=9), "depth = 9 beside n13-l3-s40, which has 3 levels"),
        (lambda: lw.ckks(lw.Params.preset("n13-l3-s40"), depth=4), "depth = 4 beside these parameters"),
        (lambda: lw.ckks("n13-l3-s40", bootstrap=True), "bootstrap = True beside n13-l3-s40, which does not bootstrap"),
        (lambda: lw.ckks("boot", bootstrap=False), "bootstrap = False beside boot, which bootstraps"),
        (lambda: lw.plan(*program, preset="n13-l3-s40", depth=9), "depth = 9 beside n13-l3-s40"),
    ]:
        with pytest.raises(lw.ParamsError, match=words):
            mistake()
    assert lw.plan(*program, preset="n13-l3-s40", depth=2).recording is not None


def test_options_that_are_left_out_are_options(ctx):
    assert lw.workload("pbs", batch=2, data_seed=None).scheme == "tfhe"
    for value in (None, False, []):
        with pytest.raises(lw.ParamsError, match="pe-chain"):
            lw.time("pbs", machine="flexmem", pe_chain=value)


def test_switches_of_machines_are_booleans_too():
    recording = lw.record(lambda x: (x * x).sum(), lw.like(64), preset="n13-l3-s40")
    on, off = (lw.time(recording, "flexmem", pe_chain=value) for value in (True, False))
    assert on.seconds == lw.time(recording, "flexmem", pe_chain="on").seconds
    assert off.seconds == lw.time(recording, "flexmem", pe_chain="off").seconds > on.seconds


def test_operands(ctx):
    x = ctx.encrypt(np.ones((3, 4)))
    other = lw.ckks(depth=1, slots=64).encrypt([1.0])
    for mistake, error, words in [
        (lambda: x + np.ones(3), lw.ShapeError, "do not go together"),
        (lambda: x @ np.ones(3), lw.ShapeError, "last axis of the left"),
        (lambda: x * np.array([1, np.nan, 1, 1]), lw.EncodeError, r"value \[1\] is not finite"),
        (lambda: x + "one", lw.DtypeError, "cannot be encrypted"),
        (lambda: x * 1j, lw.DtypeError, "complex"),
        (lambda: x + other, lw.ContextError, "two contexts"),
        (lambda: ctx.decrypt(other), lw.ContextError, "another context"),
        (lambda: x.sum(5), lw.ShapeError, "axis 5"),
        (lambda: x.reshape(5), lw.ShapeError, "12 values"),
        (lambda: x.reshape([3, 5]), lw.ShapeError, "12 values"),
        (lambda: x.reshape(2.5), lw.ShapeError, "whole numbers"),
        (lambda: x.transpose((0, 5)), lw.ShapeError, "name each once"),
        (lambda: x.transpose("ab"), lw.ShapeError, "whole numbers"),
        (lambda: x == 3, lw.TraceError, "lw.equal"),
        (lambda: x != x.shape, lw.TraceError, "lw.equal"),
        (lambda: np.ones((3, 4)) == x, lw.TraceError, "lw.equal"),
        (lambda: x[::0], lw.ShapeError, "step cannot be zero"),
        (lambda: x[:1.5], lw.ShapeError, "whole numbers"),
        (lambda: x[7], lw.ShapeError, "out of bounds"),
        (lambda: x[[0, 7]], lw.ShapeError, "out of bounds"),
        (lambda: x[np.zeros(3, bool)], lw.ShapeError, "nothing of shape"),
        (lambda: x[x], lw.ShapeError, "an encrypted index"),
        (lambda: bool(x), lw.TraceError, "nobody here sees it"),
        (lambda: np.asarray(x), lw.DtypeError, "decrypt it first"),
        (lambda: ctx.decrypt(np.ones(3)), lw.DtypeError, "encrypted array"),
        (lambda: lw.sigmoid(np.ones(3)), lw.DtypeError, "NumPy has"),
        (lambda: lw.conv2d(x, np.ones((1, 1, 3, 3))), lw.ShapeError, "height"),
        (lambda: x.bounded_by(-1), lw.EncodeError, "positive"),
        (lambda: x**9 * x**9 * x**9 * x**9 * x**9 * x**20, lw.LevelError, "levels"),
    ]:
        with pytest.raises(error, match=words):
            mistake()
    assert issubclass(lw.ShapeError, ValueError)
    assert issubclass(lw.DtypeError, TypeError)


def test_programs_without_enough_levels_are_told_how_many_they_take():
    x = lw.like(4)
    with pytest.raises(lw.LevelError, match="takes 6 levels, n13-l3-s40 has 3: choose parameters with 3 more"):
        lw.record(lambda x: x**9 * x**9 * x**2, x, preset="n13-l3-s40")
    with pytest.raises(lw.LevelError, match="takes more than 32 levels, n14-l7-s40 has 7"):
        lw.plan(lw.argmax, x, preset="n14-l7-s40")
    few = lw.ckks("n13-l3-s40").encrypt([0.5, -0.5])
    with pytest.raises(lw.LevelError, match=r"sign needs level 8; the ciphertext is at level 3 .* at least 5 more"):
        lw.sign(few, bound=1)
    with pytest.raises(lw.LevelError, match=r"inverse needs level \d; the ciphertext is at level 3"):
        lw.reciprocal(few, interval=(0.1, 1))


def test_parameters():
    with pytest.raises(lw.ParamsError, match="did you mean"):
        lw.ckks("bot")
    with pytest.raises(lw.ParamsError, match="which parameters"):
        lw.ckks()
    with pytest.raises(lw.ParamsError, match="power of two"):
        lw.ckks(depth=2, slots=1000)
    with pytest.raises(lw.ParamsError, match="no secure set"):
        lw.ckks(depth=300, bootstrap=False)
    with pytest.raises(lw.ParamsError, match="3GB"):
        lw.ckks("boot-n15", memory="much")
    with pytest.raises(lw.ParamsError, match="seeded"):
        lw.ckks(depth=1, keys="big")
    for wrong in ({"depth": -1}, {"depth": 2.5}, {"slots": 0}, {"slots": "many"}, {"threads": 0}, {"precision": 0}):
        with pytest.raises(lw.ParamsError, match="whole number"):
            lw.ckks(**{"depth": 1, **wrong})
    with pytest.raises(lw.ParamsError, match=r"precision = 30 beside n14-l7-s40, whose scale of 2\^40 decides it"):
        lw.ckks("n14-l7-s40", precision=30)
    with pytest.raises(lw.ParamsError, match="precision = 20 beside n13-l3-s40"):
        lw.record(lambda x: x, lw.like(4), preset="n13-l3-s40", precision=20)
    with pytest.raises(lw.ParamsError, match="precision = 30 with parameters that bootstrap, which have 20 bits"):
        lw.ckks(bootstrap=True, precision=30)
    for memory in (-1, [1], True, "3 apples"):
        with pytest.raises(lw.ParamsError, match="3GB"):
            lw.ckks(depth=1, memory=memory)
    with pytest.raises(lw.ParamsError, match="type list"):
        lw.ckks(["boot"])
    with pytest.raises(FileNotFoundError):
        lw.ckks("none.toml")


def test_inputs_without_data():
    for shape in (0, -3, (2, 0), (2.5,), "ab"):
        with pytest.raises(lw.ShapeError, match="positive whole"):
            lw.like(shape)
    with pytest.raises(lw.EncodeError, match="positive number"):
        lw.like(3, bound=-1)


def test_pickles_are_refused(ctx):
    for thing in (ctx, ctx.encrypt([1.0])):
        for way in (pickle.dumps, copy.deepcopy):
            with pytest.raises(lw.PickleRefused, match="runs code"):
                way(thing)


def test_a_missing_dependency_names_the_command():
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None; sys.modules['pandas'] = None\n"
        "import limbwise as lw\n"
        "t = lw.time(lw.record(lambda x: x * x, lw.like(4), preset='n13-l3-s40'), 'ark')\n"
        "for call in (t.plot_timeline, t.plot_traffic, t.to_frame):\n"
        "    try: call()\n"
        "    except lw.MissingDependency as e: print(e)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.count("pip install") == 3
    assert 'limbwise[plots]"' in said
    assert 'limbwise[pandas]"' in said


def test_progress_needs_no_tqdm():
    code = (
        "import sys; sys.modules['tqdm'] = None; sys.modules['tqdm.auto'] = None\n"
        "import limbwise as lw\n"
        "ctx = lw.ckks(depth=1, slots=8)\n"
        "with lw.progress(): ctx.prepare(lambda x: x.sum(), lw.like(8))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    assert "keys 0/3" in said


def test_what_leaves_its_bound_is_refused(ctx):
    x = ctx.encrypt([0.5, 3.0]).bounded_by(1.0)
    with pytest.raises(lw.DecryptError, match="beyond a promised bound"):
        ctx.decrypt(x)
    with pytest.raises(lw.EncodeError, match="break what was promised"):
        ctx.encrypt([2.0], bound=1.0)
    for bound in (0, -1, float("nan")):
        with pytest.raises(lw.EncodeError, match="positive number"):
            ctx.encrypt([0.5], bound=bound)


def test_the_wheel_of_nvrtc_is_named_for_the_device(monkeypatch, tmp_path):
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    (folder / "libnvrtc.so.13").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("LIMBWISE_NVRTC", "mine")
    name_folder()
    assert os.environ["LIMBWISE_NVRTC"] == "mine"
    monkeypatch.delenv("LIMBWISE_NVRTC")
    name_folder()
    assert os.environ["LIMBWISE_NVRTC"] == str(folder)
