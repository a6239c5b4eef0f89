"""Searches and clusters of ``limbwise sweep``: what pymoo and Ray are for. Both are optional, and absent ones are said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PARAMETERS = """log_n = 11
levels = [[50], [40], [40], [40], [40], [40], [40], [40]]
special = [50, 50]
dnum = 4
log_scale = 40
[insecure]
reason = "a test of sweeps"
"""
LAYER = ["linear", "--preset", "tiny.toml", "--plaintexts", "full", "--keys", "stored"]


def sweep(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (place / "tiny.toml").write_text(PARAMETERS)
    start = [sys.executable, "-c", "from limbwise._command import main; main()", "sweep", *words, *LAYER]
    return subprocess.run(start, check=False, cwd=place, capture_output=True, text=True, timeout=600)


def found(place: Path, *words: str) -> dict[str, Any]:
    done = sweep(place, "--json", *words)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def rows(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines()[1:])


def test_a_search_finds_the_front_and_is_repeated_by_its_seed(tmp_path: Path) -> None:
    pytest.importorskip("pymoo", reason="pip install 'limbwise[search]'")
    grid = ["--vary", "clusters=1..12", "--vary", "hbm_gb_s=250..1000:50", "--vary", "strategy=hoisted,multi-hop:8"]
    search = ["--search", "nsga2", "--evaluations", "120", "--seed", "7"]
    whole = found(tmp_path, *grid)
    first = found(tmp_path, *grid, *search, "--out", "a.jsonl")
    assert first["points"] <= 120
    assert whole["points"] == 12 * 16 * 2
    # Every point of the true front is beaten by nothing: what the search finds of it is a part, and a good one.
    true = {json.dumps(best["point"], sort_keys=True) for best in whole["front"]}
    seen = {json.dumps(best["point"], sort_keys=True) for best in first["front"]}
    assert len(seen & true) >= len(true) / 3
    # The same seed asks for the same points; a journal that is cut is filled again.
    journal = (tmp_path / "a.jsonl").read_text()
    (tmp_path / "b.jsonl").write_text(journal[: len(journal) // 2])
    assert found(tmp_path, *grid, *search, "--out", "b.jsonl") == first
    assert rows(tmp_path / "b.jsonl") == rows(tmp_path / "a.jsonl")


def test_a_local_cluster_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="pip install 'limbwise[ray]'")
    grid = ["--vary", "clusters=1..4", "--vary", "hbm_gb_s=500,1000", "--vary", "strategy=hoisted,multi-hop:8"]
    here = found(tmp_path, *grid, "--out", "here.jsonl")
    assert found(tmp_path, *grid, "--on", "ray", "--out", "ray.jsonl") == here
    assert rows(tmp_path / "ray.jsonl") == rows(tmp_path / "here.jsonl")


def test_what_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Modules of these names that cannot be imported, as if the extras were not there.
    for name in ("pymoo", "ray"):
        (tmp_path / f"{name}.py").write_text("raise ModuleNotFoundError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for words, extra in ((["--search", "nsga2"], "search"), (["--on", "ray"], "ray")):
        done = sweep(tmp_path, "--vary", "clusters=1,2", *words)
        assert done.returncode == 2
        assert f"pip install 'limbwise[{extra}]'" in done.stderr
        assert not done.stdout
