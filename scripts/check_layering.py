#!/usr/bin/env python3
"""Each crate depends only on what the crate table of ARCHITECTURE.md allows, and every outside dependency has a reason.

Development dependencies are freer: tests of a lower crate may run on a device or record a graph, but never use the
crates that join everything (`runtime`, `server`, `cli`).
"""

import sys
import tomllib
from pathlib import Path

from common import report

ALLOWED = {
    "taint": set(),
    "math": {"taint"},
    "device": {"math"},
    "cpu": {"math", "device"},
    "upmem": {"math", "device"},
    "cuda": {"math", "device"},
    "graph": {"math", "device"},
    "machines": {"graph"},
    "limbwise": {"taint", "math", "device"},
    "apps": {"limbwise", "device"},
    "runtime": {"math", "device", "cpu", "cuda", "upmem", "graph", "machines", "limbwise", "apps"},
    "server": {"math", "device", "cpu", "cuda", "upmem", "graph", "machines", "limbwise", "apps", "runtime"},
    "cli": {"math", "device", "cpu", "cuda", "upmem", "graph", "machines", "limbwise", "apps", "runtime", "server"},
    "fuzz": {"math", "device", "cpu", "cuda", "upmem", "graph", "machines", "limbwise", "apps", "runtime", "server"},
    "py": {"math", "device", "cpu", "cuda", "upmem", "graph", "machines", "limbwise", "apps", "runtime", "server", "cli"},
}
TOPS = {"runtime", "server", "cli", "fuzz", "py"}
REASONS = "docs/adr/0016-dependencies.md"


def tables(manifest: dict, kind: str) -> dict:
    """The dependencies of one kind, those for single targets included."""
    found = dict(manifest.get(kind, {}))
    for target in manifest.get("target", {}).values():
        found |= target.get(kind, {})
    return found


def check(root: Path) -> list[str]:
    """One message for each dependency that is not allowed, unknown crate, or dependency without a reason."""
    problems = []
    folder_of = {}
    manifests = {}
    for path in sorted(root.glob("crates/*/Cargo.toml")):
        manifests[path.parent.name] = tomllib.loads(path.read_text())
        folder_of[manifests[path.parent.name]["package"]["name"]] = path.parent.name
    for folder, manifest in manifests.items():
        where = f"crates/{folder}/Cargo.toml"
        if folder not in ALLOWED:
            problems.append(f"{where}: crate {folder!r} is not in the layering table (add it to scripts/check_layering.py and ARCHITECTURE.md)")
            continue
        free = set(ALLOWED) if folder in TOPS else set(ALLOWED) - TOPS
        for kind, allowed in [("dependencies", ALLOWED[folder]), ("build-dependencies", ALLOWED[folder]), ("dev-dependencies", free)]:
            for name in tables(manifest, kind):
                used = folder_of.get(name)
                if used and used not in allowed:
                    wanted = ", ".join(sorted(allowed)) or "no crate of the workspace"
                    problems.append(f"{where}: [{kind}] has {used!r}; wanted only {wanted} (ARCHITECTURE.md, crate table)")
        if manifest.get("lints") is None:
            problems.append(f"{where}: has no [lints]; wanted workspace = true, or the same lints with a reason")
    reasons = (root / REASONS).read_text() if (root / REASONS).exists() else ""
    workspace = tomllib.loads((root / "Cargo.toml").read_text()).get("workspace", {})
    for name, spec in workspace.get("dependencies", {}).items():
        if not (isinstance(spec, dict) and "path" in spec) and f"`{name}`" not in reasons:
            problems.append(f"Cargo.toml: dependency {name!r} has no line in {REASONS} (say why it is there)")
    return problems


if __name__ == "__main__":
    sys.exit(report(check, "every crate depends only on what it may"))
