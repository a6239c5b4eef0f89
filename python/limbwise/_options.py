"""Parsing of arguments of contexts: arrays, memory sizes and parameters."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise._limbwise import Params
from limbwise._reports import logger
from limbwise.errors import DtypeError, InsecureWarning, ParamsError, ShapeError

_KINDS = {"f": np.float64, "i": np.float64, "u": np.float64, "b": np.float64, "c": np.complex128}
# Bits of precision of parameters that are searched for.
_PRECISION = 20
# Presets that bootstrap, by the slots they have; they have been searched for those bits.
_BOOTSTRAPPING = ((1 << 14, "boot-n15"), (1 << 15, "boot-words"))


def as_array(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return numbers as a C-contiguous float64 or complex128 array, without a copy if possible."""
    if isinstance(values, np.ma.MaskedArray):
        raise DtypeError("masked values cannot be encrypted: fill them first, for example with x.filled(0)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(f"these values are no array: {error}") from None
    if array.dtype.kind not in _KINDS or array.dtype.itemsize > 16:
        raise DtypeError(
            f"values of dtype {array.dtype} cannot be encrypted: pass numbers, for example x.astype(float)"
        )
    kind = _KINDS[array.dtype.kind]
    return np.asarray(array, dtype=kind, order="C")


def whole(name: str, value: Any, least: int) -> None:
    """Raise unless the value is an integer of at least ``least`` or None, which selects the default."""
    if value is None or (isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least):
        return
    raise ParamsError(f"{name} = {value!r}: give a whole number from {least}")


def choose(
    preset: str | Params | None = None,
    *,
    depth: int | None = None,
    slots: int | None = None,
    precision: int | None = None,
    bootstrap: bool | None = None,
) -> Params:
    """Return parameters: a preset by name, a TOML file, or the smallest secure set for a depth.

    Without bootstrapping, ``depth`` is the number of products in a row. Where no secure set has that many levels, or where
    ``bootstrap`` is true, a preset that bootstraps is taken. ``precision`` are bits of results after so many products, 20 by
    default; parameters that are named, and those that bootstrap, have their own.
    """
    for name, value, least in (("depth", depth, 0), ("slots", slots, 1), ("precision", precision, 1)):
        whole(name, value, least)
    if isinstance(preset, Params):
        return _agrees(preset, "these parameters", depth, precision, bootstrap)
    if preset is not None and not isinstance(preset, (str, os.PathLike)):
        raise ParamsError(
            f"parameters of type {type(preset).__name__}: give a preset's name, a TOML file, or lw.Params"
        )
    if preset is not None:
        preset = os.fspath(preset)
        found = Params.from_toml(Path(preset).read_text()) if preset.endswith(".toml") else Params.preset(preset)
        return _agrees(found, preset, depth, precision, bootstrap)
    wanted = 1 if slots is None else slots
    if not bootstrap:
        if depth is None:
            raise ParamsError(
                "which parameters? give depth=… (products in a row), bootstrap=True, or a preset's name: "
                + ", ".join(name for name, _ in Params.presets())
            )
        bits = _PRECISION if precision is None else precision
        if bits >= 60:
            raise ParamsError(f"a precision of {bits} bits: choose 10 to 30")
        try:
            return Params.choose(depth, bits, wanted)
        except ParamsError:
            if bootstrap is False:
                raise
    if precision is not None and precision > _PRECISION:
        raise ParamsError(
            f"precision = {precision} with parameters that bootstrap, which have {_PRECISION} bits: name a preset that has "
            "more, such as boot-precise or boot-80"
        )
    for most, name in _BOOTSTRAPPING:
        if wanted <= most:
            logger.info("preset %s, which bootstraps: as many levels as wanted", name)
            return Params.preset(name)
    raise ParamsError(f"{wanted} slots: at most 32768 with bootstrapping; larger arrays are split, so leave slots out")


def _agrees(params: Params, name: str, depth: int | None, precision: int | None, bootstrap: bool | None) -> Params:
    """Return parameters that were named, unless something else is asked for beside them."""
    if precision is not None:
        raise ParamsError(
            f"precision = {precision} beside {name}, whose scale of 2^{params.log_scale} decides it: leave one of them out"
        )
    if depth is not None and depth > params.levels and not params.bootstraps:
        raise ParamsError(f"depth = {depth} beside {name}, which has {params.levels} levels: leave one of them out")
    if bootstrap is not None and bool(bootstrap) != params.bootstraps:
        does = "bootstraps" if params.bootstraps else "does not bootstrap"
        raise ParamsError(f"bootstrap = {bootstrap} beside {name}, which {does}: leave one of them out")
    return params


def change_of(name: str, value: Any) -> tuple[str, str]:
    """Return a change of a machine's number as it is written: switches are on or off."""
    if isinstance(value, (bool, np.bool_)):
        value = "true" if value else "false"
    return name.replace("__", "."), str(value)


def parse_size(text: str | int) -> int:
    """Parse "3GB", "500 MB", "2GiB" or a number of bytes to bytes."""
    if isinstance(text, (int, float)) and not isinstance(text, bool) and 0 <= text < 2**63:
        return int(text)
    if not isinstance(text, str):
        raise ParamsError(f"memory {text!r}: write a size such as 3GB, 500MB or 2GiB")
    units = {"GB": 1e9, "MB": 1e6, "KB": 1e3, "GIB": 2**30, "MIB": 2**20, "KIB": 2**10, "B": 1}
    plain = text.strip().upper().replace(" ", "")
    for unit, of in sorted(units.items(), key=lambda pair: -len(pair[0])):
        if plain.endswith(unit):
            try:
                return int(float(plain.removesuffix(unit)) * of)
            except ValueError:
                break
    raise ParamsError(f"memory {text!r}: write a size such as 3GB, 500MB or 2GiB")


def warn_insecure(reason: str | None, frames: int = 3) -> None:
    """Warn that keys are made for parameters below 128 bits, at the line ``frames`` calls up."""
    if reason is not None:
        warnings.warn(
            f"these parameters are below 128 bits of security ({reason}): protect nothing with them",
            InsecureWarning,
            frames,
        )
