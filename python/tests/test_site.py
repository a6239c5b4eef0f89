"""What the site's sources promise: calls that exist, lessons that are numbered and committed without outputs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import limbwise as lw
import pytest
from limbwise.integers import EncryptedIntegers, IntegerContext

DOCS = Path(__file__).resolve().parents[2] / "docs"
OPERATORS = {"+": "__add__", "-": "__sub__", "*": "__mul__", "@": "__matmul__", "**": "__pow__"}
HOLDERS = {
    "lw": [lw],
    "ctx": [lw.Context, IntegerContext],
    "x": [lw.EncryptedArray, EncryptedIntegers, lw.tfhe.EncryptedIntegers],
}
HOLDERS["lw.Params"] = [lw.Params]


README = DOCS.parent / "README.md"
MEASURED = ("time here", "peak memory")  # lines that depend on the computer


def test_the_example_of_the_readme_prints_what_the_readme_says(capsys):
    example = README.read_text().split("<!-- example", 1)[1].split("<!-- end of the example -->")[0]
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", example, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    got, said = capsys.readouterr().out.splitlines(), printed.splitlines()
    assert len(got) == len(said) > 10
    for here, there in zip(got, said, strict=True):
        start = there[:18]
        assert here.startswith(start) if start.startswith(MEASURED) else here == there


def test_the_machine_of_the_guide_times_a_program(tmp_path):
    page = (DOCS / "guide/bring-your-machine.md").read_text()
    example = page.split("<!-- example", 1)[1].split("<!-- end of the example -->")[0]
    lines = re.findall(r"```toml\n(.*?)```", example, re.DOTALL)[0]
    assert len(lines.splitlines()) <= 25
    (tmp_path / "mine.toml").write_text(lines)
    plan = lw.plan(lambda x: lw.sigmoid(x, interval=4, error=0.02), [lw.like(16)])
    mine = lw.time(plan.recording, str(tmp_path / "mine.toml"))
    assert mine.machine == "mine"
    assert mine.seconds > 0


def calls(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("page", ["migration.md", "guide/experts.md", "guide/two-sides.md", "guide/errors.md"])
def test_every_call_that_a_page_names_exists(page):
    named = 0
    for row in (DOCS / page).read_text().splitlines():
        code = calls(row.split("|")[-2] if page == "migration.md" and row.startswith("|") else row)
        for call in code:
            for holder, name in re.findall(r"\b(lw\.Params|lw|ctx|x)\.([a-zA-Z_]\w*)", call):
                if f"{holder}.{name}" == "lw.Params":
                    continue
                assert any(hasattr(kind, name) for kind in HOLDERS[holder]), f"{page}: {call}"
                named += 1
    assert named > 1


def test_every_row_of_the_migration_page_has_an_answer_here():
    rows = [row.split("|") for row in (DOCS / "migration.md").read_text().splitlines() if row.startswith("| ")]
    rows = [row for row in rows if row[-2].strip() != "Limbwise"]  # the headings
    assert len(rows) > 25
    for row in rows:
        assert len(row) in (5, 7), row  # four libraries, or two
        operators = [op for call in calls(row[-2]) for op in re.findall(r"(?<=[ -])(\+|-|\*|@)(?= )", call)]
        assert calls(row[-2]), row
        assert all(hasattr(lw.EncryptedArray, OPERATORS[op]) for op in operators)


def test_errors_of_the_guide_are_all_there_are():
    named = set(re.findall(r"`(\w+)`(?:, `(\w+)`)? \|", (DOCS / "guide/errors.md").read_text()))
    documented = {name for pair in named for name in pair if name}
    exceptions = {
        name
        for name in dir(lw)
        if isinstance(getattr(lw, name), type) and issubclass(getattr(lw, name), lw.LimbwiseError)
    }
    assert exceptions - {"LimbwiseError"} <= documented


def test_lessons_are_numbered_and_hold_no_outputs():
    lessons = sorted((DOCS / "lessons").glob("*.ipynb"))
    assert [int(path.name[:2]) for path in lessons] == list(range(1, len(lessons) + 1))
    for number, path in enumerate(lessons, 1):
        book = json.loads(path.read_text())
        assert book["cells"][0]["source"][0].startswith(f"# {number}. "), path
        code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        assert code
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code), (
            f"{path.name}: clear its outputs (jupyter nbconvert --clear-output --inplace)"
        )


def test_the_program_that_a_page_brings_gives_what_it_expects(tmp_path, monkeypatch):
    page = (DOCS / "guide" / "bring-your-program.md").read_text()
    example = page.split("<!-- example", 1)[1].split("<!-- end of the example -->")[0]
    command = re.search(r"\$ limbwise (run .*?)\n```", example, re.DOTALL)[1].replace("\\\n", " ")
    code = re.search(r"```python\n(.*?)```", example, re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "bring-your-program.md", "exec"), {})
    words = [str(DOCS.parent / word) if word.endswith(".mlir") else word for word in command.split()]
    start = [sys.executable, "-P", "-m", "limbwise", *words, "--json"]
    done = subprocess.run(start, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["largest_error_to_expected"] < 1e-6
    assert found["largest_error"] < 1e-6
