#!/usr/bin/env python3
"""What the GPU's kernels are made of: registers, blocks a multiprocessor, machine instructions of each loop. Nothing is run.

  scripts/gpu_counts.py              compiles the kernels by `cargo run -p limbwise-cuda --example cubins` and counts
  scripts/gpu_counts.py --cubins DIR counts in what that example wrote to DIR

Needs NVRTC, as the device does (LIMBWISE_NVRTC names its folder), and NVIDIA's disassembler:
  pip install --target DIR nvidia-cuda-nvdisasm, then --nvdisasm DIR/nvidia/cu13/bin/nvdisasm (chmod +x it).

A loop's instructions are counted without those of loops in it, on its longest and on its shortest way: a step of a transform
has code for words from device memory and for words from shared memory, of which one runs. Times are those of one H200 by one
resource each, as if nothing else cost anything: floors for FP64, for issue (every instruction), for shared memory and for bytes. They are counts:
no measurement, and no prediction of the time itself.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# One H200 (sm_90). The clock is the assumed boost clock, the bandwidth what large copies are said to reach.
MULTIPROCESSORS, SCHEDULERS, HZ, BYTES_A_SECOND = 132, 4, 1.755e9, 4.3e12
REGISTERS, SHARED_BYTES, THREADS, BLOCKS = 65536, 227 << 10, 2048, 32
# Cycles for which a warp's instruction takes its scheduler's pipe: 16 lanes of FP64 and of integer multipliers.
CYCLES = 2

PIPES = (
    ("fp64", r"D(FMA|MUL|ADD|SETP)"),
    ("imad", r"IMAD(?!\.(MOV|SHL|IADD|U32 R\d+, RZ, RZ))"),
    ("shared", r"(LDS|STS)"),
    ("global", r"(LDG|STG)"),
    ("other", r""),
)


@dataclass
class Loop:
    """Instructions of one loop, those of loops in it left out: on the longest and the shortest way through it."""

    longest: Counter[str]
    shortest: Counter[str]


@dataclass
class Kernel:
    """One kernel's machine code."""

    registers: int
    loops: list[Loop]

    def floating(self) -> list[Loop]:
        """Loops of the class of primes below 2^50, most FP64 first."""
        return sorted((x for x in self.loops if x.longest["fp64"]), key=lambda x: -x.longest["fp64"])


def pipe(text: str) -> str:
    """The pipe that an instruction goes to."""
    return next(name for name, pattern in PIPES if re.match(pattern, text))


@dataclass
class Code:
    """A function: instructions as (whether conditional, text), and where each goes if it is a branch."""

    instructions: list[tuple[bool, str]]
    targets: dict[int, int]

    @staticmethod
    def of(text: str) -> "Code":
        """From the disassembler's text."""
        labels, instructions = {}, []
        for line in text.splitlines():
            if label := re.match(r"(\.L_x_\d+):", line):
                labels[label[1]] = len(instructions)
            elif found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?(\S.*?)\s*;", line):
                instructions.append((found[1] is not None, found[2]))
        branches = ((at, re.search(r"`\((\.L_x_\d+)\)", x)) for at, (_, x) in enumerate(instructions) if x.startswith("BRA"))
        return Code(instructions, {at: labels[x[1]] for at, x in branches if x and x[1] in labels})

    def ways(self, begin: int, end: int, inner: dict[int, int]) -> Loop:
        """Both ways from one place to another, loops within skipped."""
        longest: list[Counter[str] | None] = [None] * (end + 1)
        shortest = list(longest)
        longest[begin] = shortest[begin] = Counter()
        for at in range(begin, end):
            if longest[at] is None:
                continue
            conditional, text = self.instructions[at]
            own = Counter([pipe(text)])
            target = self.targets.get(at, -1)
            nexts = [at + 1] if target < 0 or conditional else []
            nexts += [target] if at < target <= end else [] if target < 0 else [] if conditional else [end]
            if at in inner:
                own, nexts = Counter(), [inner[at]]
            for to in nexts:
                for best, longer in ((longest, True), (shortest, False)):
                    way = best[at] + own
                    if best[to] is None or (way.total() > best[to].total()) == longer:
                        best[to] = way
        return Loop(longest[end] or Counter(), shortest[end] or Counter())


def loops(text: str) -> list[Loop]:
    """All loops of a function: branches backwards."""
    code = Code.of(text)
    ends: dict[int, int] = {}
    for at, target in code.targets.items():
        if target <= at and "WARPSYNC" not in code.instructions[at][1]:
            ends[target] = max(at + 1, ends.get(target, 0))
    found = sorted((x for x in ends.items() if x[1] - x[0] > 1), key=lambda x: (x[0], -x[1]))
    return [code.ways(a, b, {c: d for c, d in found if a < c and d <= b and (c, d) != (a, b)}) for a, b in found]


def kernels(folder: Path, nvdisasm: str) -> dict[str, Kernel]:
    """All kernels of a folder of cubins and logs."""
    found = {}
    for cubin in sorted(folder.glob("*.cubin")):
        log = cubin.with_suffix(".log").read_text()
        registers = dict(re.findall(r"entry function '(\w+)'[^\0]*?Used (\d+) registers", log))
        text = subprocess.run([nvdisasm, "-c", cubin], check=True, stdout=subprocess.PIPE, text=True).stdout
        for part in re.split(r"(?m)^\.text\.", text)[1:]:
            name = part.split(":")[0]
            found[name] = Kernel(int(registers[name]), loops(part))
    return found


def resident(registers: int, threads: int, shared_bytes: int) -> int:
    """Blocks that one multiprocessor holds: registers go out by 256 a warp, and each block has 1 KB of shared memory besides."""
    a_warp = -(-registers * 32 // 256) * 256
    return min(REGISTERS // a_warp // (threads // 32), SHARED_BYTES // (shared_bytes + 1024), THREADS // threads, BLOCKS)


def padded_bytes(words: int) -> int:
    """Of shared memory for a tile: `padded` in ntt.cuh."""
    return 8 * (words + words // 16)


# Kernel, threads and bytes of shared memory of a block: as launch.rs has them.
SHAPES = [
    *(
        (name, "2^16", 256, padded_bytes(4096))
        for name in ("lw_ntt_columns", "lw_ntt_blocks", "lw_intt_blocks", "lw_intt_columns")
    ),
    ("lw_blind_rotate", "1024, l = 2", 128, 6 * padded_bytes(1024)),
    ("lw_blind_rotate", "2048, l = 1", 256, 4 * padded_bytes(2048)),
    ("lw_basis_convert", "5 sources", 128, 5 * 128 * 8),
]


def show_shapes(found: dict[str, Kernel]) -> None:
    """Registers and occupancy."""
    print(f"{'kernel':<18} {'case':<12} {'registers':>9} {'threads':>8} {'shared':>8} {'blocks':>7} {'warps':>6}")
    for name, case, threads, shared in SHAPES:
        blocks = resident(found[name].registers, threads, shared)
        row = (found[name].registers, threads, shared, blocks, blocks * threads // 32)
        print(f"{name:<18} {case:<12} {row[0]:>9} {row[1]:>8} {row[2]:>8} {row[3]:>7} {row[4]:>6}")


def show_loops(found: dict[str, Kernel], least: int) -> None:
    """Instructions by pipe."""
    print(f"\n{'loops of, longest way':<28}" + "".join(f"{name:>8}" for name, _ in PIPES) + f"{'all':>8}{'shortest':>10}")
    for name, kernel in found.items():
        for loop in (x for x in kernel.loops if x.longest.total() >= least):
            way = loop.longest
            counts = "".join(f"{way[name]:>8}" for name, _ in PIPES)
            print(f"{name:<28}{counts}{way.total():>8}{loop.shortest.total():>10}")


def floors(work: list[tuple[float, Counter[str]]]) -> tuple[float, float, float]:
    """Seconds of the whole GPU for so many turns of a warp on each way: by FP64, issue and shared memory.

    A warp's 64-bit access takes shared memory, one a multiprocessor, for two cycles.
    """
    cycles = MULTIPROCESSORS * HZ
    fp64 = sum(turns * way["fp64"] for turns, way in work) * CYCLES / SCHEDULERS
    issue = sum(turns * way.total() for turns, way in work) / SCHEDULERS
    return fp64 / cycles, issue / cycles, sum(turns * way["shared"] for turns, way in work) * 2 / cycles


def show_transform(found: dict[str, Kernel]) -> None:
    """A limb of 2^16 below 2^50: 128 warps of 16 words a thread, two steps of four stages a pass, the last one twisted."""
    warps = 65536 / 16 / 32
    names = ("lw_ntt_columns", "lw_ntt_blocks", "lw_intt_columns", "lw_intt_blocks")
    columns, blocks, back_columns, back_blocks = (found[name].floating() for name in names)
    if [len(x) for x in (columns, blocks, back_columns, back_blocks)] != [2, 4, 2, 3]:
        print("\nthe loops of the transforms are others than this script knows: no floors")
        return
    step, back = columns[0].longest, back_columns[0].longest
    ahead = [(2 * warps, step), (warps, blocks[0].longest), (warps, blocks[1].longest), (16 * warps, blocks[3].longest)]
    behind = [(2 * warps, back), (warps, back_blocks[0].longest), (warps, back_blocks[1].longest)]
    print(f"\na limb of 2^16 below 2^50: bytes {4 * 8 * 65536 / BYTES_A_SECOND * 1e6:.2f} us", end="")
    for name, work in (("forward", ahead), ("inverse", behind)):
        fp64, issue, shared = (1e6 * x for x in floors(work))
        print(f"; {name}: FP64 {fp64:.2f} us, issue {issue:.2f} us, shared memory {shared:.2f} us", end="")
    a, b = (x["fp64"] / 32 for x in (step, back))
    print(f"\nFP64 instructions of a butterfly in a step of four stages: {a:.2f} forward, {b:.2f} back")


def show_rotations(found: dict[str, Kernel]) -> None:
    """Blind rotations below 2^50 a second."""
    all_loops = found["lw_blind_rotate"].floating()
    if len(all_loops) != 8:
        print(f"\nthe loops of blind rotation are others than this script knows ({len(all_loops)}): no floors")
        return
    back4, ahead4, _, back3, _, row, ahead3, task = all_loops  # two of them for two mask polynomials
    for n, steps, levels in ((1024, 500, 2), (2048, 918, 1)):
        warps, rows = n / 32, 2 * levels
        ahead, back, words, more = (ahead4, back4, 16, 1) if n == 1024 else (ahead3, back3, 8, 2)
        work = [
            *((rows * warps / words * turns, way) for turns, way in ((1, ahead.longest), (more, ahead.shortest))),
            *((2 * warps / words * turns, way) for turns, way in ((1, back.longest), (more, back.shortest))),
            (rows * warps / 4, row.shortest),
            (warps / 4, task.longest),
        ]
        fp64, issue, shared = (1e6 * steps * x for x in floors(work))
        print(
            f"blind rotation N = {n}, n = {steps}, l = {levels}: FP64 {fp64:.1f} us of the whole GPU, issue {issue:.1f} us, "
            f"shared memory {shared:.1f} us: at most {1e6 / max(fp64, issue, shared):,.0f} a second"
        )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cubins", type=Path, help="folder that the example has written")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="the disassembler")
    parser.add_argument("--least", type=int, default=24, help="smallest loop to show, in instructions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.cubins or Path(made)
        if not options.cubins:
            command = ["cargo", "run", "--quiet", "-p", "limbwise-cuda", "--example", "cubins", "--", made]
            subprocess.run(command, cwd=ROOT, check=True)
        found = kernels(folder, options.nvdisasm)
    show_shapes(found)
    show_loops(found, options.least)
    show_transform(found)
    show_rotations(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
