"""What the checkers share: the repository's files, and one way to report.

Python 3.11 or later, standard library only.
"""

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

SKIPPED_FOLDERS = {".git", "__pycache__", "node_modules", ".venv"}


def files(root: Path, *suffixes: str) -> Iterator[Path]:
    """The repository's files with one of the suffixes, in a fixed order; build folders are left out."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("target"))
        for name in sorted(names):
            if name.endswith(suffixes):
                yield Path(folder) / name


def small_sets(folder: Path) -> tuple[Path, Path]:
    """Parameters on small rings, those of the command line's own tests, written into a folder: CKKS, TFHE of four bits."""
    text = (Path(__file__).resolve().parent.parent / "crates/cli/tests/cli/common.rs").read_text()

    def constant(name: str) -> str:
        found = re.search(name + r': &str = "(.*?)";\n', text, re.DOTALL)
        assert found is not None, f"{name} is in the tests of the command line"
        return found.group(1).replace('\\"', '"')

    ckks, tfhe = folder / "ckks.toml", folder / "tfhe.toml"
    ckks.write_text(constant("TINY_BRIDGE"))
    tfhe.write_text(constant("TINY_TFHE").replace("message_bits = 2", "message_bits = 4"))
    return ckks, tfhe


def client_module() -> ModuleType:
    """The package's client of the server, which needs nothing else of it, so that no build is needed."""
    place = Path(__file__).resolve().parent.parent / "python" / "limbwise" / "client.py"
    found = importlib.util.spec_from_file_location("limbwise_client", place)
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # its data classes look themselves up there
    found.loader.exec_module(module)
    return module


def report(check: Callable[[Path], list[str]], good: str) -> int:
    """Runs a check on this repository (or the folder given), prints what it found, gives the exit code."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    name = Path(sys.argv[0]).stem
    print(f"{name}: {f'{len(problems)} problems' if problems else good}")
    return 1 if problems else 0
