#!/usr/bin/env python3
"""Runs ONNX's own backend tests encrypted, sorts them, and writes the table of docs/onnx-tests.md.

    python3 scripts/onnx_backend.py FOLDER                    all of them; what FOLDER has results of is not run again
    python3 scripts/onnx_backend.py FOLDER --again refused    those that were refused once more (or wrong, or a pattern)
    python3 scripts/onnx_backend.py FOLDER --only 'conv'      those whose names match
    python3 scripts/onnx_backend.py FOLDER --table-only       the table from the results that are there

Needs the package onnx, and cargo. Each test becomes a folder: model.onnx of operators of version 13 or later, the inputs that
are encrypted as one row (x.npy), the outputs as one row (y.npy). Inputs after the first become constants in the file, as they
are in networks, but for operators that join tensors. The Rust test `onnx` of limbwise-apps runs them on small rings and adds a
line to results.tsv for each.
"""

import argparse
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, version_converter

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs/onnx-tests.md"
KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple")
JOINS = {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean", "Concat"}
# Operators that every network may have, in the order of docs/guide/networks.md; Constant has no data of its own.
STAGE_1 = (
    "Conv Gemm MatMul BatchNormalization AveragePool GlobalAveragePool MaxPool ReduceMean Add Mul Concat Pad Transpose "
    "Reshape Flatten Squeeze Unsqueeze Identity Dropout Relu LeakyRelu Sigmoid HardSwish Tanh Softplus Gelu Swish Pow Clip "
    "Softmax LayerNormalization ArgMax Constant"
).split()
STATES = ("passed", "refused", "wrong")
# What no encrypted program can be asked for, in the order in which it is looked for.
NOT_DATA = "nothing to encrypt"
LEFT_OUT = {
    NOT_DATA: "no input, none of numbers (strings, booleans, sequences, optional values), or no element",
    "training": "training mode: results are random, or statistics of the batch",
    "not finite": "results that are not finite, or no numbers",
    "not convertible": "operators of a version before 13 that `onnx.version_converter` does not convert",
    "large": "more than 2^17 numbers, which take hours on rings this small",
}
MOST = 1 << 17


def cases():
    """Yield kind, name, model, inputs and outputs of every test; None for data that are no tensors."""
    from onnx.backend.test.loader import load_model_tests

    for kind in KINDS:
        for case in sorted(load_model_tests(kind=kind), key=lambda case: case.name):
            if case.model is not None:
                inputs, outputs = case.data_sets[0]
                yield kind, case.name, case.model, list(inputs), list(outputs)
                continue
            folder = Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            data = folder / "test_data_set_0"
            named = {t.name for t in model.graph.initializer}
            infos = [info for info in model.graph.input if info.name not in named]
            try:
                inputs = [read(data / f"input_{at}.pb", info) for at, info in enumerate(infos)]
                outputs = [read(data / f"output_{at}.pb", info) for at, info in enumerate(model.graph.output)]
            except (TypeError, ValueError, RuntimeError, FileNotFoundError):
                inputs = outputs = None
            yield kind, case.name, model, inputs, outputs


def read(path, info):
    """Return the array of a file."""
    if not info.type.HasField("tensor_type"):
        raise TypeError("no tensor")
    return numpy_helper.to_array(onnx.load_tensor(path))


def is_data(value):
    """Tell whether an array is encrypted: numbers, at least one."""
    kind = getattr(getattr(value, "dtype", None), "kind", "O")
    return kind in "fiu" and value.size > 0 and value.dtype.itemsize <= 8


def bound(model, inputs):
    """Return the data of a model whose other inputs become constants in it; None where nothing is left to encrypt."""
    graph = model.graph
    known = {t.name for t in graph.initializer}
    infos = [info for info in graph.input if info.name not in known]
    if inputs is None or len(infos) != len(inputs):
        return None
    joins = {node.op_type for node in graph.node} <= JOINS
    data = []
    for at, (info, value) in enumerate(zip(infos, inputs, strict=True)):
        value = np.asarray(value) if not isinstance(value, (list, type(None))) else value
        if is_data(value) and (at == 0 or joins):
            data.append(value)
        elif getattr(getattr(value, "dtype", None), "kind", "O") in "fiub":
            graph.initializer.append(numpy_helper.from_array(value, info.name))
            graph.input.remove(info)
        else:
            return None
    for info in [info for info in graph.input if info.name in known]:
        graph.input.remove(info)
    return data or None


def trains(model, inputs):
    """Tell whether a node is in training mode."""
    attribute = any(a.name == "training_mode" and a.i for node in model.graph.node for a in node.attribute)
    dropouts = [node for node in model.graph.node if node.op_type == "Dropout" and len(node.input) > 2]
    values = dict(zip([info.name for info in model.graph.input], inputs or [], strict=False))
    values |= {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)

    def on(node):
        ratio = values.get(node.input[1], 0.5) if node.input[1] else 0.5
        return bool(np.any(values.get(node.input[2], False))) and float(np.max(ratio)) != 0

    return attribute or any(on(node) for node in dropouts)


def written(place, model, inputs, outputs):
    """Write a test as files; return why it is left out, if it is."""
    try:
        if trains(model, inputs):
            return "training"
        version = next(s.version for s in model.opset_import if s.domain in ("", "ai.onnx"))
        if version < 13:
            model = version_converter.convert_version(model, 13)
    except Exception:
        return "not convertible"
    data = bound(model, inputs)
    if data is None:
        return NOT_DATA
    numbers = outputs and all(getattr(getattr(y, "dtype", None), "kind", "O") in "fiub" and y.size for y in outputs)
    if not numbers or not all(np.all(np.isfinite(np.asarray(y, np.float64))) for y in outputs):
        return "not finite"
    if sum(x.size for x in data) > MOST:
        return "large"
    place.mkdir(parents=True, exist_ok=True)
    onnx.save(model, place / "model.onnx")
    np.save(place / "x.npy", np.concatenate([np.ravel(x) for x in data]).astype(np.float64))
    np.save(place / "y.npy", np.concatenate([np.ravel(y) for y in outputs]).astype(np.float64))
    return None


def write_all(folder):
    """Write the files of all tests; return name, operators, and why a test is left out, of each."""
    index = folder / "index.tsv"
    if index.exists():
        return [line.split("\t") for line in index.read_text().splitlines()]
    rows = []
    for kind, name, model, inputs, outputs in cases():
        name = f"{kind}.{name.removeprefix('test_')}"
        operators = sorted(
            {f"{n.domain}.{n.op_type}" if n.domain not in ("", "ai.onnx") else n.op_type for n in model.graph.node}
        )
        reason = written(folder / name, model, inputs, outputs)
        rows.append([name, " ".join(operators), reason or ""])
    folder.mkdir(parents=True, exist_ok=True)
    index.write_text("".join("\t".join(row) + "\n" for row in rows))
    return rows


def results(folder):
    """Return state and text of each test that was run; a later line replaces one before."""
    path = folder / "results.tsv"
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: (state, text) for name, state, text in (line.split("\t", 2) for line in lines)}


def run(folder, only, again):
    """Run the tests that have no result, and those that are asked for again."""
    kept = results(folder)
    if again:
        kept = {n: r for n, r in kept.items() if r[0] != again and (again in STATES or not re.search(again, n))}
        (folder / "results.tsv").write_text("".join(f"{n}\t{s}\t{t}\n" for n, (s, t) in kept.items()))
    names = sorted(path.parent.name for path in folder.glob("*/model.onnx"))
    chosen = [name for name in names if name not in kept and re.search(only, name)]
    (folder / "chosen.txt").write_text("".join(f"{name}\n" for name in chosen))
    print(f"{len(chosen)} tests to run, {len(kept)} have a result", flush=True)
    if chosen:
        command = "cargo test --workspace --test linear onnx::backend -- --ignored --nocapture".split()
        subprocess.run(
            command, cwd=ROOT, env={**os.environ, "LIMBWISE_ONNX_BACKEND": str(folder.resolve())}, check=True
        )


def table(folder, rows):
    """Write the table of the documentation."""
    found = results(folder)
    first, beyond = {}, {}
    left = dict.fromkeys(LEFT_OUT, 0)
    wrong, refused, missing = [], [], [0, 0]
    for name, operators, reason in rows:
        own = operators.split()
        stage_1 = bool(own) and set(own) <= set(STAGE_1)
        if reason:
            left[reason] += 1
            continue
        if name not in found:
            missing[stage_1] += 1
            continue
        state, text = found[name]
        named = [o for o in own if o != "Constant"] or own
        row = "several operators" if len(named) > 1 else named[0]
        (first if stage_1 else beyond).setdefault(row, []).append(state)
        if state == "wrong":
            wrong.append(f"- `{name}`: {text}")
        elif state == "refused" and stage_1:
            refused.append(f"- `{name}`: {text}")

    def counts(groups):
        lines = ["| operator | passed | refused | wrong |", "|---|---|---|---|"]
        for operator, states in sorted(groups.items()):
            lines.append(f"| {operator} | " + " | ".join(str(states.count(state)) for state in STATES) + " |")
        total = [state for states in groups.values() for state in states]
        return [*lines, "| **all** | " + " | ".join(f"**{total.count(state)}**" for state in STATES) + " |"]

    all_beyond = [state for states in beyond.values() for state in states]
    taken = {operator: states for operator, states in beyond.items() if "passed" in states or "wrong" in states}
    lines = [
        "# ONNX's own tests",
        "",
        f"The backend tests of the package `onnx` {onnx.__version__}: `" + "`, `".join(KINDS) + "`. "
        "`python3 scripts/onnx_backend.py FOLDER` ran them and wrote this page.",
        "",
        "A test passes if its results, encrypted, come within 2⁻¹² of the largest output. Rings are small and insecure, which "
        "says nothing of security and all of arithmetic; `crates/apps/tests/linear/onnx.rs` has a sample for 128 bits. Inputs "
        "after the first are constants, as weights are, but for operators that join tensors. Ranges are those of the test's "
        "own input, times 1.25. Integers are encrypted as numbers.",
        "",
        "## Operators that every network may have",
        "",
        "All operators of these tests are among: " + ", ".join(o for o in STAGE_1 if o != "Constant") + ".",
        "",
        *counts(first),
        "",
    ]
    lines += ["Refused:", "", *refused, ""] if refused else []
    if all_beyond:
        lines += [
            "## Other operators",
            "",
            f"{len(all_beyond)} tests have another operator: "
            + ", ".join(f"{all_beyond.count(s)} {s}" for s in STATES)
            + ". "
            "Those of which any passed:",
            "",
            *counts(taken),
            "",
        ]
    lines += ["Wrong:", "", *wrong, ""] if wrong else []
    lines += ["## Left out", "", "| tests | why |", "|---|---|"]
    lines += [f"| {count} | {LEFT_OUT[reason]} |" for reason, count in left.items()]
    if any(missing):
        lines += [
            "",
            f"Not run yet: {missing[1]} tests of operators that every network may have, {missing[0]} of others.",
        ]
    TABLE.write_text("\n".join(lines).rstrip() + "\n")
    print(
        f"{TABLE.relative_to(ROOT)}: {sum(map(len, first.values()))} and {len(all_beyond)} tests, {sum(missing)} not run"
    )


def main():
    """Write, run, sort."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--again", help="passed, refused, wrong, or a pattern of names")
    parser.add_argument("--table-only", action="store_true")
    options = parser.parse_args()
    rows = write_all(options.folder)
    if not options.table_only:
        run(options.folder, options.only, options.again)
    table(options.folder, rows)


if __name__ == "__main__":
    sys.exit(main())
