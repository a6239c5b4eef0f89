"""Location of NVIDIA's kernel compiler, installed by ``limbwise[cuda]``."""

import os
from importlib.util import find_spec
from pathlib import Path


def name_folder() -> None:
    """Set ``LIMBWISE_NVRTC`` to the compiler's folder for the device ``cuda``, unless it is set."""
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
