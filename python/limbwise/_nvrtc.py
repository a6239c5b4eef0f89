"""Where the wheel of NVIDIA's kernel compiler is, which ``limbwise[cuda]`` brings."""

import os
from importlib.util import find_spec
from pathlib import Path


def name_folder() -> None:
    """Tell the device ``cuda`` where the compiler is (``LIMBWISE_NVRTC``), unless the caller has."""
    if "LIMBWISE_NVRTC" in os.environ:
        return
    try:
        spec = find_spec("nvidia.cu13")
    except ModuleNotFoundError:  # no package of NVIDIA's at all
        return
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place) / "lib"
        if any(folder.glob("libnvrtc.so*")):
            os.environ["LIMBWISE_NVRTC"] = str(folder)
            return
