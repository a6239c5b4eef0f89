"""Workloads by name: the command line's options, plans, machines, runs, and both sides by files."""

import limbwise as lw
import numpy as np
import pytest


def test_options_are_those_of_the_command_line():
    assert {"pbs", "gates", "nn20", "bgv-table", "bgv-mul", "ntt", "tpch-q6", "logreg", "bootstrap", "lola"} <= set(
        lw.workloads()
    )
    assert lw.workload("pbs", batch=3, data_seed=7, tables="each", preset=None).scheme == "tfhe"
    table = lw.record("bgv-table", columns=["dates", "cheese", "bread", "apples"], matrix=None, encrypted_matrix=False)
    assert table.facts["scheme"] == "bgv"
    for call, text in [
        (lambda: lw.plan("pbz"), "unrecognized subcommand 'pbz'"),
        (lambda: lw.record("pbs", bach=3), "unexpected argument '--bach' found"),
        (lambda: lw.time("pbs", batch=0), "invalid value '0' for '--batch <COUNT>'"),
        (lambda: lw.run("pbs", preset="2-2-p9"), "there is no TFHE preset"),
        (lambda: lw.plan("pbs", np.ones(3)), "inputs and context are for functions"),
        (lambda: lw.run(lw.workload("pbs"), batch=3), "has its options"),
    ]:
        with pytest.raises(lw.ParamsError) as raised:
            call()
        assert text in str(raised.value)
        assert "\x1b" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "options", "scheme", "row"),
    [
        ("pbs", {"batch": 2}, "tfhe", "failure"),
        ("bgv-table", {}, "bgv", "noise"),
        ("logreg", {"iterations": 1}, "ckks", "precision"),
        ("tpch-q6", {"rows": 64}, "tfhe+ckks", "bridge"),
    ],
)
def test_every_scheme_is_planned(name, options, scheme, row):
    plan = lw.plan(name, memory="64GB", **options)
    assert (plan.scheme, plan.workload) == (scheme, name)
    assert row in dict(plan.rows())
    assert plan.peak_memory_bytes["predicted"] > 1e6
    with pytest.raises(lw.TraceError, match="run it"):
        plan.context()


def test_too_little_memory_is_an_error():
    with pytest.raises(lw.MemoryBudgetError, match="a smaller --batch") as refused:
        lw.plan("pbs", batch=2, memory="1MB")
    assert lw.plan("pbs", batch=2, memory=refused.value.least_bytes).workload == "pbs"


def test_a_machine_gets_the_way_that_is_fastest_there(tmp_path):
    workload = lw.workload("logreg", iterations=1, memory="64GB")
    assert len(workload.ways) > 1
    timing = lw.time(workload, "ark", events=100, clusters=8)
    assert timing.way in workload.ways
    assert timing.way in str(timing)
    assert timing.label.endswith("clusters = 8")
    assert timing.trace["traceEvents"]
    by_name = lw.time("logreg", "ark", iterations=1, memory="64GB", events=0)
    # As the plan has it: on another machine not the fastest, perhaps.
    planned = lw.time(lw.plan("logreg", iterations=1, memory="64GB"), "ark", events=0)
    assert by_name.seconds <= planned.seconds * (1 + 1e-9)
    recording = lw.record("pbs", batch=2)
    assert recording.facts["bootstrappings"] == 2
    recording.save(tmp_path / "graph")
    assert (tmp_path / "graph").read_text().startswith("{")
    assert lw.time(recording, "cpu", events=0).seconds > 0


def test_runs_are_compared_with_the_clear_twin():
    seen = []

    class Bar:
        def update_to(self, name, done, total):
            seen.append(name)

        def close(self):
            pass

    with lw.progress(Bar()):
        pbs = lw.run("pbs", batch=2)
    assert (pbs.wrong, pbs.messages, pbs.scheme) == (0, 2, "tfhe")
    assert {"keys", "encryption", "decryption"} <= set(seen)
    table = lw.run("bgv-table")
    assert table.wrong == 0
    assert table.compared > 100
    assert "as the clear twin's" in str(table)
    with pytest.raises(AttributeError, match="a run has no 'accuracy'"):
        table.accuracy


@pytest.mark.parametrize(("name", "options"), [("pbs", {"batch": 2}), ("bgv-table", {})])
def test_both_sides_by_files(tmp_path, name, options):
    workload = lw.workload(name, **options)
    client, server = workload.keygen(tmp_path / "mine", tmp_path / "theirs", passphrase="correct horse")
    with pytest.raises(lw.LimbwiseError):
        workload.keygen(tmp_path / "mine", tmp_path / "theirs")
    files = client.encrypt(tmp_path / "in")
    assert len(files) == len(client.inputs)
    report = server.evaluate(tmp_path / "in", tmp_path / "out", memory="8GB")
    assert report["workload"] == name
    results = client.decrypt(tmp_path / "out")
    assert results
    assert all(one.values.dtype == np.int64 for one in results)
    assert client.compare(tmp_path / "out")["wrong"] == 0
    again = lw.ClientFiles(tmp_path / "mine", passphrase="wrong horse")
    with pytest.raises(lw.WireError):
        again.decrypt(tmp_path / "out")
    # A result that somebody changed, and one of other inputs.
    client.encrypt(tmp_path / "later")
    with pytest.raises(lw.WireError):
        client.decrypt(tmp_path / "out")
    client.decrypt(tmp_path / "out", inputs=tmp_path / "in")
    path = sorted((tmp_path / "out").iterdir())[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(lw.WireError):
        client.decrypt(tmp_path / "out", inputs=tmp_path / "in")


def test_a_run_tells_where_its_seconds_went():
    run = lw.run("linear", profile=True)
    assert run.profile[0]["path"] == "layer"
    assert all(0 < region["seconds"] <= 2 * run.seconds for region in run.profile)
    assert any("seconds_predicted" in region for region in run.profile)
    assert "profile" not in lw.run("linear").facts
    with pytest.raises(lw.ParamsError, match="leave out profile or device"):
        lw.run("linear", profile=True, device="upmem")
