"""Fully homomorphic encryption: run, plan and time one program. NumPy in, NumPy out.

>>> import numpy as np, limbwise as lw
>>> ctx = lw.ckks(depth=6, slots=4096)
>>> x = ctx.encrypt(np.linspace(-1, 1, 1000))
>>> y = lw.sigmoid(3 * x) * x + 1
>>> values = ctx.decrypt(y)

The two sides of one computation: :func:`ckks` makes a context that owns both; its ``client()`` encrypts and decrypts,
``server(keys)`` evaluates and can decrypt nothing. Plots need ``limbwise[plots]``; nothing is drawn without being asked.
"""

from typing import TYPE_CHECKING, Any

from limbwise import cluster, errors, nn, tfhe, trees
from limbwise._limbwise import Params, __version__
from limbwise._reports import progress
from limbwise._workloads import ClientFiles, Run, ServerFiles, Workload, WorkloadRecording, run, workload, workloads
from limbwise.array import EncryptedArray
from limbwise.context import Context, ckks, encryptor, load, server
from limbwise.errors import (
    BootstrapError,
    ContextError,
    DecryptError,
    DeviceFault,
    DtypeError,
    EncodeError,
    InsecureWarning,
    KeyMissing,
    LevelError,
    LimbwiseError,
    MachineError,
    MemoryBudgetError,
    MissingDependency,
    ParamsError,
    PickleRefused,
    ScaleError,
    ShadowError,
    ShapeError,
    TraceError,
    UnverifiedError,
    WireError,
)
from limbwise.functions import compare, conv2d, function, maximum, minimum, poly, relu, sigmoid, sign
from limbwise.integers import EncryptedIntegers, IntegerContext, bgv
from limbwise.numeric import (
    absolute,
    amax,
    amin,
    argmax,
    equal,
    exp,
    layer_norm,
    log,
    lookup,
    reciprocal,
    rsqrt,
    softmax,
    sqrt,
)
from limbwise.order import argsort, median, sort, top_k
from limbwise.program import Plan, Recording, Timing, like, machines, plan, record, time

if TYPE_CHECKING:
    from limbwise.learn import LogisticRegression

__all__ = [
    "BootstrapError",
    "ClientFiles",
    "Context",
    "ContextError",
    "DecryptError",
    "DeviceFault",
    "DtypeError",
    "EncodeError",
    "EncryptedArray",
    "EncryptedIntegers",
    "InsecureWarning",
    "IntegerContext",
    "KeyMissing",
    "LevelError",
    "LimbwiseError",
    "LogisticRegression",
    "MachineError",
    "MemoryBudgetError",
    "MissingDependency",
    "Params",
    "ParamsError",
    "PickleRefused",
    "Plan",
    "Recording",
    "Run",
    "ScaleError",
    "ServerFiles",
    "ShadowError",
    "ShapeError",
    "Timing",
    "TraceError",
    "UnverifiedError",
    "WireError",
    "Workload",
    "WorkloadRecording",
    "__version__",
    "absolute",
    "amax",
    "amin",
    "argmax",
    "argsort",
    "bgv",
    "ckks",
    "cluster",
    "compare",
    "conv2d",
    "encryptor",
    "equal",
    "errors",
    "exp",
    "function",
    "layer_norm",
    "like",
    "load",
    "log",
    "lookup",
    "machines",
    "maximum",
    "median",
    "minimum",
    "nn",
    "plan",
    "poly",
    "presets",
    "progress",
    "reciprocal",
    "record",
    "relu",
    "rsqrt",
    "run",
    "server",
    "sigmoid",
    "sign",
    "softmax",
    "sort",
    "sqrt",
    "tfhe",
    "time",
    "top_k",
    "trees",
    "workload",
    "workloads",
]


def presets() -> dict[str, str]:
    """Return the named parameter sets, each with its purpose."""
    return dict(Params.presets())


def __getattr__(name: str) -> Any:
    if name == "LogisticRegression":
        from limbwise.learn import LogisticRegression

        return LogisticRegression
    raise AttributeError(f"module 'limbwise' has no attribute {name!r}")
