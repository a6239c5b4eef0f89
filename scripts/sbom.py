#!/usr/bin/env python3
"""The software bill of materials, in CycloneDX 1.5 JSON, from Cargo.lock and `cargo metadata`.

    scripts/sbom.py [--out FILE]        writes it, on standard output without --out
    scripts/sbom.py --check             compares licences, sources and checksums with deny.toml, and names duplicates

It lists every crate of the locked tree with its version, licence, checksum and what it needs. No time and no random number
goes in: the same lock file gives the same bytes. `--check` is the part of `cargo deny check` that needs no database of
advisories; ends with 1 where a licence or a source is not allowed, or a crate of the registry has no checksum.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# SPDX: alternatives of conjunctions; a slash is an old form of OR.
ALTERNATIVES = re.compile(r"\s+OR\s+|/")


def metadata() -> dict:
    """Cargo's own answer, from the lock file."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def checksums(root: Path) -> dict[tuple[str, str], str]:
    """SHA-256 of each crate of the registry."""
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    return {(package["name"], package["version"]): package["checksum"] for package in lock["package"] if "checksum" in package}


def is_allowed(licence: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied by allowed licences. Parentheses stand around alternatives only."""
    groups = re.split(r"\s+AND\s+(?![^(]*\))", licence)
    return all(any(one.strip(" ()") in allowed for one in ALTERNATIVES.split(group)) for group in groups)


def check(packages: list[dict], sums: dict[tuple[str, str], str], rules: dict) -> tuple[list[str], list[str]]:
    """What is wrong, and what is only to be known."""
    allowed = set(rules["licenses"]["allow"])
    wrong, versions = [], defaultdict(set)
    for package in packages:
        name, version, source = package["name"], package["version"], package["source"]
        where = f"{name} {version}"
        versions[name].add(version)
        licence = package["license"]
        if licence is None or not is_allowed(licence, allowed):
            wrong.append(f"{where}: licence {licence!r}; wanted one of deny.toml's, or a line there with a reason")
        if source not in (None, REGISTRY):
            wrong.append(f"{where}: from {source}; wanted crates.io or this tree")
        if source == REGISTRY and (name, version) not in sums:
            wrong.append(f"{where}: has no checksum in Cargo.lock")
    doubles = [f"{name}: {', '.join(sorted(all_of))}" for name, all_of in sorted(versions.items()) if len(all_of) > 1]
    return wrong, doubles


def component(package: dict, sums: dict[tuple[str, str], str]) -> dict:
    """A crate as CycloneDX has it."""
    name, version = package["name"], package["version"]
    purl = f"pkg:cargo/{name}@{version}"
    entry = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if package["license"]:
        entry["licenses"] = [{"expression": ALTERNATIVES.sub(" OR ", package["license"])}]
    if digest := sums.get((name, version)):
        entry["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if package["repository"]:
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def bill(told: dict, sums: dict[tuple[str, str], str]) -> dict:
    """The whole document."""
    packages = {package["id"]: package for package in told["packages"]}
    refs = {id_: f"pkg:cargo/{package['name']}@{package['version']}" for id_, package in packages.items()}
    own = set(told["workspace_members"])
    version = next(packages[id_]["version"] for id_ in own)
    members = sorted((refs[id_] for id_ in own))
    needs = [
        {"ref": refs[node["id"]], "dependsOn": sorted({refs[dep["pkg"]] for dep in node["deps"]})}
        for node in told["resolve"]["nodes"]
    ]
    root = {"type": "application", "bom-ref": "limbwise", "name": "limbwise", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": sorted((component(package, sums) for package in packages.values()), key=lambda c: c["bom-ref"]),
        "dependencies": [{"ref": "limbwise", "dependsOn": members}, *sorted(needs, key=lambda n: n["ref"])],
    }


def main() -> int:
    """The status for the shell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="licences, sources and checksums")
    parser.add_argument("--out", type=Path, help="the file")
    given = parser.parse_args()
    told, sums = metadata(), checksums(ROOT)
    if given.check:
        wrong, doubles = check(told["packages"], sums, tomllib.loads((ROOT / "deny.toml").read_text()))
        for line in wrong:
            print(line, file=sys.stderr)
        for line in doubles:
            print(f"in several versions: {line}")
        print(f"sbom: {len(told['packages'])} crates, {len(doubles)} in several versions, {len(wrong)} problems")
        return 1 if wrong else 0
    text = json.dumps(bill(told, sums), indent=1) + "\n"
    given.out.write_text(text) if given.out else sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
