"""Networks from ONNX: planned before any key, run encrypted.

>>> net = lw.nn.compile("mlp.onnx", x[:4], calibrate=x[4:])
>>> print(net.plan())
>>> client, server = net.keygen()
>>> scores = client.decrypt(server(client.encrypt(x[:4])))

``limbwise[onnx]`` reads ``onnx.ModelProto``; ``limbwise[nn]`` exports from PyTorch and scikit-learn.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise import _sklearn
from limbwise._sides import Client, Compiled, Numbers, Server
from limbwise._workloads import Run, Workload
from limbwise.errors import MissingDependency, ParamsError
from limbwise.program import Plan, Timing


def compile(
    model: Any,
    sample: npt.ArrayLike,
    *,
    calibrate: npt.ArrayLike | None = None,
    memory: str | int | None = None,
    error: float = 0.005,
    margin: float = 1.5,
    preset: str | None = None,
    **options: Any,
) -> Network:
    """Return a network as an encrypted program for so many samples at once.

    Args:
        model: a path of an ONNX file, an ``onnx.ModelProto``, a ``torch.nn.Module``, which is exported in evaluation mode,
            or a fitted linear model or MLP of scikit-learn, alone or in a pipeline behind scalers and PCA: of a classifier
            the scores before argmax and softmax, of a regressor what it predicts. Its weights may lie in files beside
            the path.
        sample: samples of the shape that the program will run on: one, or several along the first axis.
        calibrate: other samples, on which the ranges of all values are measured; by default all but the first of
            ``sample``, and then the program runs on one.
        memory: a budget for the whole process, such as ``"8 GB"``.
        error: largest error of a polynomial for each unit of the largest value of its function.
        margin: ratio of a range to what was measured.
        preset: parameters by name or file; by default the smallest usual ones that have the levels.
        options: further options of ``limbwise run network``; ``inexact=True`` takes polynomials that change outputs by more
            than the largest of them.

    Raises:
        ParamsError: an operator, a shape or a range that is not possible, with the name of its layer.
        MissingDependency: a model of a package that is not installed.
    """
    samples = np.asarray(sample, dtype=np.float64)
    others = None if calibrate is None else np.asarray(calibrate, dtype=np.float64)
    if others is None:
        samples, others = samples[:1], samples[1:]
    if samples.ndim == 0 or len(others) == 0:
        raise ParamsError("no sample is left to calibrate on: give others as calibrate=")
    home = tempfile.TemporaryDirectory(prefix="limbwise-nn-")
    path = _onnx_file(model, samples, Path(home.name))
    given = {"error": error, "margin": margin, "preset": preset, **options}
    return Network(path, samples, others, home, None if memory is None else memory, given)


def _onnx_file(model: Any, samples: Numbers, home: Path) -> Path:
    """Return the file of a model, written into a directory unless it is one."""
    if isinstance(model, (str, os.PathLike)):
        return Path(model).absolute()
    path = home / "model.onnx"
    kind = type(model).__module__.split(".")[0]
    if hasattr(model, "SerializeToString"):
        path.write_bytes(model.SerializeToString())
    elif kind == "sklearn":
        path.write_bytes(_sklearn.onnx_bytes(model, samples))
    elif hasattr(model, "state_dict"):
        try:
            import torch
        except ImportError as e:
            raise MissingDependency("a torch.nn.Module needs torch and onnx: pip install 'limbwise[nn]'") from e
        one = torch.tensor(samples[:1], dtype=torch.float32)
        _export(torch, model, one, path)
    else:
        wanted = "a path, an onnx.ModelProto, a torch.nn.Module or a model of scikit-learn"
        raise ParamsError(f"a model of {type(model).__name__}: wanted {wanted}")
    return path


def _export(torch: Any, model: Any, one: Any, path: Path) -> None:
    """Write a module as ONNX: by PyTorch's exporter of graphs where its package is there, else by the one that traces."""
    was, captured = model.training, importlib.util.find_spec("onnxscript") is not None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            # What it tells are its own packages that are missing, and its progress.
            warnings.simplefilter("ignore")
            torch.onnx.export(model.eval(), (one,), str(path), opset_version=18, dynamo=captured)
    except ImportError as e:
        raise MissingDependency(f"PyTorch's exporter needs another package: {e}: pip install 'limbwise[nn]'") from e
    finally:
        model.train(was)


class NetworkPlan:
    """A plan with a table by layer; prints both. ``layers`` is the table as dictionaries, ``plan`` the plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.layers: list[dict[str, Any]] = plan.facts["layers"]
        self.twin: dict[str, Any] | None = plan.facts["twin"]

    def __getattr__(self, name: str) -> Any:
        if name == "plan":
            raise AttributeError(name)
        return getattr(self.plan, name)

    def __str__(self) -> str:
        heads = ("layer", "operation", "level", "scale", "bits", "ciphertexts", "rotations", "keys", "bytes", "seconds")
        rows = [heads]
        for layer in self.layers:
            boot = ", bootstrapped" if layer["bootstrap"] else ""
            rows.append(
                (
                    layer["name"],
                    layer["operation"] + boot,
                    str(layer["level"]),
                    f"2^{layer['scale_bits']:.1f}",
                    "" if layer.get("bits") is None else f"{layer['bits']:.1f}",
                    str(layer["ciphertexts"]),
                    str(layer["rotations"]),
                    str(layer.get("keys", "")),
                    str(layer["bytes"]),
                    "" if "seconds" not in layer else f"{layer['seconds']:.3g}",
                )
            )
        widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
        lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        warning = (self.twin or {}).get("warning")
        return "\n".join([*lines, "", str(self.plan), *([f"WARNING           {warning}"] if warning else [])])

    __repr__ = __str__


class Network(Compiled):
    """A compiled network; made by :func:`compile`."""

    def __init__(
        self,
        path: Path,
        samples: Numbers,
        calibrate: Numbers,
        home: tempfile.TemporaryDirectory[str],
        memory: str | int | None,
        options: dict[str, Any],
    ) -> None:
        super().__init__(path, samples, home)
        self._memory, self._options = memory, options
        self._calibrate = self._write("calibrate", calibrate)
        self.workload = self._with(samples, "sample", None)

    def _with(self, samples: npt.ArrayLike, name: str, labels: npt.ArrayLike | None) -> Workload:
        values = np.asarray(samples, dtype=np.float64)
        told = None if labels is None else self._write(f"{name}-labels", labels)
        return Workload(
            "network",
            memory=self._memory,
            model=self.path,
            data=self._write(name, values),
            samples=len(values),
            labels=told,
            calibrate=self._calibrate,
            **self._options,
        )

    def plan(self) -> NetworkPlan:
        """Plan before any key exists: by layer its level, scale, maps and bytes; keys, memory, seconds, error."""
        return NetworkPlan(self.workload.plan())

    def time(self, machines: str = "ark", **numbers: Any) -> dict[str, Timing]:
        """Schedule the program on machine models, several with commas between.

        Args:
            machines: names of models (:func:`limbwise.machines`) or TOML files.
            numbers: numbers of the machines to change.
        """
        return {name.strip(): self.workload.time(name.strip(), **numbers) for name in machines.split(",")}

    def run(self, *, device: str | None = None, threads: int | None = None, profile: bool = False) -> Run:
        """Run client and server in one process on the samples, and compare with the twin."""
        return self.workload.run(device=device, threads=threads, profile=profile)

    def check(
        self, samples: npt.ArrayLike, labels: npt.ArrayLike | None = None, *, encrypted: int = 0
    ) -> dict[str, Any]:
        """Return how the network, its twin with polynomials, and encrypted runs agree.

        Args:
            samples: samples that were not calibrated on, several along the first axis.
            labels: their classes.
            encrypted: how many of them are run encrypted; none by default, as this takes keys and time.
        """
        values = np.asarray(samples, dtype=np.float64)
        facts = self._with(values, "check", labels).plan().facts["twin"]
        found: dict[str, Any] = {"twin": facts}
        if encrypted:
            few = values[:encrypted]
            told = None if labels is None else np.asarray(labels)[:encrypted]
            found["encrypted"] = self._with(few, "check-encrypted", told).run().facts
        return found


__all__ = ["Client", "Network", "NetworkPlan", "Server", "compile"]
