#!/usr/bin/env python3
"""Names of x86 stand in the modules of x86 kernels only, so that everything else builds for any 64-bit target.

Looked for: `std::arch`, `core::arch`, `target_arch`, run-time detection of features, and inline assembly. A module outside
the list has no such name. A file on the list that has none any more is an error too: the list says what is true.
"""

import re
import sys
from pathlib import Path

from common import files, report

# What may name an architecture, and why.
KERNELS = {
    "crates/cpu/src/kernels/avx2/": "the AVX2 kernels; `absent_vector.rs` stands in their place elsewhere",
    "crates/cpu/src/kernels/avx512/": "the AVX-512 kernels; `absent_vector.rs` stands in their place elsewhere",
    "crates/cpu/src/kernels/floats/blind.rs": "an instruction that all x86 vector units have",
    "crates/cpu/src/kernels/ifma/": "the AVX-512 IFMA kernels; `absent.rs` stands in their place elsewhere",
    "crates/cpu/src/kernels/factors.rs": "prefetching of factors, for the two above",
    "crates/cpu/src/kernels/matrix.rs": "signed products in 32-bit parts, written once for both kernels",
    "crates/cpu/src/kernels/mod.rs": "chooses between kernels and their absence",
    "crates/cpu/src/kernels/words.rs": "conversions in 32-bit parts, written once for both kernels",
    "crates/taint/src/lib.rs": "a request to valgrind; elsewhere it does nothing",
    "crates/cuda/src/host.rs": "a flag of the C++ compiler that builds the GPU's kernels for the host, in tests",
}
NAMES = re.compile(r"\b(?:std|core)::arch\b|\barch::(?:x86|aarch)|\btarget_arch\b|\bis_\w+_feature_detected!|\b(?:global_)?asm!")
COMMENT = re.compile(r"^\s*//")


def check(root: Path) -> list[str]:
    """One message for each name in a place that is not listed, and for each place that has none."""
    problems = []
    found: set[str] = set()
    for path in files(root / "crates", ".rs"):
        name = path.relative_to(root).as_posix()
        place = next((listed for listed in KERNELS if name.startswith(listed)), None)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if COMMENT.match(line) or not (match := NAMES.search(line)):
                continue
            if place:
                found.add(place)
            else:
                problems.append(
                    f"{name}:{number}: {match[0]} outside the x86 kernels (move it into one of them, with a portable form beside it)"
                )
    problems += [f"{place}: names no architecture (take it off the list)" for place in KERNELS if place not in found]
    return problems


if __name__ == "__main__":
    sys.exit(report(check, "names of x86 stand in its kernels only"))
