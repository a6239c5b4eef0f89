"""Makes the programs of tests/heir: small MLIR programs, compiled to the generic text of the CKKS dialect by HEIR.

    python3 scripts/make_heir_programs.py path/to/heir-opt [NAME …]

Beside each text stand arguments and the values that the program's definition, evaluated here, gives for them. heir-opt
comes with the package heir_py (PyPI). The programs have the forms of HEIR's own examples; their text and numbers are
of this project.
"""

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "heir"
SECRET = "{secret.secret}"

Numbers = list[float]


def numbers(count: int, seed: int, size: float = 1.0) -> Numbers:
    """Numbers in [-size, size] with few digits, from a seed."""
    state, drawn = 2 * seed + 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        drawn.append(round(size * ((state >> 33) / 2**30 - 1.0), 4))
    return drawn


def literal(values: Numbers, shape: Iterable[int]) -> str:
    """Nested brackets of a dense constant."""
    parts = [repr(float(v)) for v in values]
    for side in reversed(list(shape)):
        parts = ["[" + ", ".join(parts[i : i + side]) + "]" for i in range(0, len(parts), side)]
    return parts[0]


def tensor(*shape: int, of: str = "f32") -> str:
    return "tensor<" + "x".join([str(side) for side in shape] + [of]) + ">"


def dense(name: str, values: Numbers, *shape: int) -> str:
    return f"  %{name} = arith.constant dense<{literal(values, shape)}> : {tensor(*shape)}\n"


def splat(name: str, value: float, *shape: int) -> str:
    return f"  %{name} = arith.constant dense<{float(value)}> : {tensor(*shape)}\n"


class Program:
    """A function, arguments for it, and what it should give."""

    def __init__(
        self,
        name: str,
        arguments: list[tuple[str, Numbers]],
        result: str,
        body: str,
        meaning: Callable[..., Numbers | list[Numbers]],
        *,
        slots: int = 64,
        passes: Iterable[str] = (),
        options: str = "",
        backend: str = "openfhe",
        tolerance: float = 1e-4,
        clear: Iterable[int] = (),
    ) -> None:
        named = [
            f"%a{i}: {of}" + ("" if i in set(clear) else f" {SECRET}") for i, (of, _) in enumerate(arguments)
        ]
        self.name, self.tolerance, self.passes = name, tolerance, list(passes)
        self.text = f"func.func @{name}({', '.join(named)}) -> {result} {{\n{body}}}\n"
        self.arguments = [values for _, values in arguments]
        expected = meaning(*self.arguments)
        self.expected = expected if isinstance(expected[0], list) else [expected]
        self.options = f"min-slot-count={slots} {options}".strip()
        self.backend = backend

    def compiled(self, tool: str) -> str:
        flags = [f"--annotate-module=backend={self.backend} scheme=ckks", f"--mlir-to-ckks={self.options}"]
        command = [tool, *self.passes, *flags, "--mlir-print-op-generic", "-"]
        done = subprocess.run(command, input=self.text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.name}: {done.stderr[:600]}")
        return done.stdout

    def write(self, tool: str) -> None:
        (FOLDER / f"{self.name}.mlir").write_text(self.compiled(tool))
        values = {"arguments": self.arguments, "expected": self.expected, "tolerance": self.tolerance}
        (FOLDER / f"{self.name}.json").write_text(json.dumps(values) + "\n")


def matvec(m: Numbers, x: Numbers, b: Numbers) -> Numbers:
    n = len(x)
    return [sum(m[i * n + j] * x[j] for j in range(n)) + b[i] for i in range(len(b))]


def matmul(a: Numbers, b: Numbers, rows: int, inner: int, columns: int) -> Numbers:
    return [
        sum(a[i * inner + k] * b[k * columns + j] for k in range(inner))
        for i in range(rows)
        for j in range(columns)
    ]


def conv2d(x: Numbers, k: Numbers, side: int, kernel: int, outs: int, ins: int = 1, stride: int = 1) -> Numbers:
    places = (side - kernel) // stride + 1
    return [
        sum(
            x[(c * side + stride * i + u) * side + stride * j + v] * k[((o * ins + c) * kernel + u) * kernel + v]
            for c in range(ins)
            for u in range(kernel)
            for v in range(kernel)
        )
        for o in range(outs)
        for i in range(places)
        for j in range(places)
    ]


def pointwise(name: str, shape: tuple[int, ...], lines: str, meaning: Callable[[float], float], **more) -> Program:
    """A function of each number; `lines` turn %a0 into %r, with T for the type."""
    count = math.prod(shape)
    of = tensor(*shape)
    body = lines.replace("T", of) + f"  return %r : {of}\n"
    return Program(name, [(of, numbers(count, len(name)))], of, body, lambda x: [meaning(v) for v in x], **more)


def product(terms: Numbers) -> float:
    return math.prod(terms)


UNROLL = ("--full-loop-unroll",)


def scalars() -> list[Program]:
    chain = "".join(f"  %{i} = arith.mulf %{i - 1 if i else 'a0'}, %a0 : f32\n" for i in range(4))
    squares = "".join(f"  %{i} = arith.mulf %{i - 1 if i else 'a0'}, %{i - 1 if i else 'a0'} : T\n" for i in range(6))
    tree = "".join(f"  %p{i} = arith.mulf %a{2 * i}, %a{2 * i + 1} : f32\n" for i in range(4))
    tree += "  %q0 = arith.mulf %p0, %p1 : f32\n  %q1 = arith.mulf %p2, %p3 : f32\n"
    tree += "  %r = arith.mulf %q0, %q1 : f32\n  return %r : f32\n"
    select = "  %o = arith.constant 1.0 : f32\n  %0 = arith.mulf %a0, %a2 : f32\n  %1 = arith.subf %o, %a2 : f32\n"
    select += "  %2 = arith.mulf %a1, %1 : f32\n  %r = arith.addf %0, %2 : f32\n  return %r : f32\n"
    both = "  %0 = arith.mulf %a0, %a2 : f32\n  %1 = arith.mulf %a1, %a3 : f32\n  %re = arith.subf %0, %1 : f32\n"
    both += "  %2 = arith.mulf %a0, %a3 : f32\n  %3 = arith.mulf %a1, %a2 : f32\n  %im = arith.addf %2, %3 : f32\n"
    both += "  return %re, %im : f32, f32\n"
    one = [("f32", [0.9])]
    eight = [("f32", [v]) for v in (0.9, -0.8, 0.7, 0.95, -0.6, 0.85, 0.75, 0.99)]
    return [
        Program("mult_dep", one, "f32", chain + "  return %3 : f32\n", lambda x: [x[0] ** 5]),
        pointwise("squarings", (16,), squares + "  %r = arith.mulf %5, %5 : T\n", lambda x: x**128),
        Program("mult_indep", eight, "f32", tree, lambda *x: [product([v[0] for v in x])]),
        Program(
            "cmux",
            [("f32", [0.3]), ("f32", [-0.7]), ("f32", [1.0])],
            "f32",
            select,
            lambda a, b, c: [a[0] * c[0] + b[0] * (1 - c[0])],
        ),
        Program(
            "complex_product",
            [("f32", [v]) for v in (0.5, -0.25, 0.75, 0.6)],
            "(f32, f32)",
            both,
            lambda a, b, c, d: [[a[0] * c[0] - b[0] * d[0]], [a[0] * d[0] + b[0] * c[0]]],
        ),
    ]


def vectors() -> list[Program]:
    dot = "  %s = linalg.dot ins(%a0, %a1 : T, T) outs(%z : tensor<f32>) -> tensor<f32>\n"
    dot += "  %r = tensor.extract %s[] : tensor<f32>\n  return %r : f32\n"
    start = "  %z = arith.constant dense<0.25> : tensor<f32>\n"

    def dots(name: str, n: int, **more) -> Program:
        body = start + dot.replace("T", tensor(n))
        pair = [(tensor(n), numbers(n, 1)), (tensor(n), numbers(n, 2))]
        meaning = lambda x, y: [0.25 + sum(a * b for a, b in zip(x, y, strict=True))]  # noqa: E731
        return Program(name, pair, "f32", body, meaning, **more)

    total = "  %z = arith.constant dense<0.0> : tensor<f32>\n"
    total += "  %s = linalg.reduce { arith.addf } ins(%a0 : T) outs(%z : tensor<f32>) dimensions = [0]\n"
    total += "  %r = tensor.extract %s[] : tensor<f32>\n  return %r : f32\n"
    distance = "  %d = arith.subf %a0, %a1 : T\n  %q = arith.mulf %d, %d : T\n" + total.replace("%a0", "%q")
    turned = "  %c = arith.constant 3 : index\n  %t = tensor_ext.rotate %a0, %c : T, index\n"
    turned += "  %m = arith.mulf %t, %a0 : T\n  %r = arith.negf %m : T\n  return %r : T\n"
    known = "  %d = arith.subf %a1, %a0 : T\n  %r = arith.mulf %d, %a0 : T\n  return %r : T\n"
    whole = "  %c = arith.constant dense<[1, -2, 3, -4, 5, -6, 7, -8]> : T\n  %m = arith.muli %a0, %c : T\n"
    whole += "  %r = arith.addi %m, %c : T\n  return %r : T\n"
    fifth = "".join(f"  %{i} = arith.mulf %{i - 1 if i else 'a0'}, %a0 : T\n" for i in range(4)) + "  return %3 : T\n"
    loop = "  %o = arith.constant dense<0.5> : T\n"
    loop += "  %r = affine.for %i = 0 to 5 iter_args(%s = %o) -> (T) {\n    %m = arith.mulf %a0, %s : T\n"
    loop += "    %n = arith.addf %m, %o : T\n    affine.yield %n : T\n  }\n  return %r : T\n"

    def horner(x: float) -> float:
        total = 0.5
        for _ in range(5):
            total = total * x + 0.5
        return total

    t8, t16, t32 = tensor(8), tensor(16), tensor(32)
    return [
        dots("dot_product_8", 8),
        dots("dot_product_32", 32),
        dots("dot_product_lattigo", 8, backend="lattigo"),
        Program("simple_sum", [(t32, numbers(32, 3))], "f32", total.replace("T", t32), lambda x: [sum(x)]),
        Program(
            "squared_distance",
            [(t16, numbers(16, 4)), (t16, numbers(16, 5))],
            "f32",
            distance.replace("T", t16),
            lambda x, y: [sum((a - b) ** 2 for a, b in zip(x, y, strict=True))],
        ),
        Program(
            "rotate_multiply",
            [(t16, numbers(16, 6))],
            t16,
            turned.replace("T", t16),
            lambda x: [-x[(i + 3) % 16] * x[i] for i in range(16)],
        ),
        Program(
            "clear_argument",
            [(t16, numbers(16, 7)), (t16, numbers(16, 8))],
            t16,
            known.replace("T", t16),
            lambda m, x: [(b - a) * a for a, b in zip(m, x, strict=True)],
            clear=(0,),
        ),
        Program(
            "whole_numbers",
            [(tensor(8, of="i32"), [1.0, -1.0, 0.0, 1.0, 0.0, -1.0, -1.0, 1.0])],
            tensor(8, of="i32"),
            whole.replace("T", tensor(8, of="i32")),
            lambda x: [(v + 1.0) * (i + 1) * (-1) ** i for i, v in enumerate(x)],
        ),
        Program(
            "divided_first",
            [(t16, numbers(16, 11))],
            t16,
            fifth.replace("T", t16),
            lambda x: [v**5 for v in x],
            options="greedy-modulus-switch-before-first-mul=true",
        ),
        Program(
            "loop", [(t8, numbers(8, 9))], t8, loop.replace("T", t8), lambda x: [horner(v) for v in x], passes=UNROLL
        ),
    ]


def functions() -> list[Program]:
    cubic = splat("a", 0.5, 16) + splat("b", 0.1972, 16) + splat("c", -0.004, 16)
    cubic += "  %x2 = arith.mulf %a0, %a0 : T\n  %x3 = arith.mulf %x2, %a0 : T\n  %t1 = arith.mulf %b, %a0 : T\n"
    cubic += "  %t3 = arith.mulf %c, %x3 : T\n  %s = arith.addf %t1, %t3 : T\n  %r = arith.addf %s, %a : T\n"
    relu = "  %z = arith.constant dense<0.0> : T\n"
    relu += "  %r = arith.maximumf %a0, %z {domain_lower = -1.0 : f64, domain_upper = 1.0 : f64} : T\n"
    exp = "  %r = math.exp %a0 {domain_lower = -1.0 : f64, domain_upper = 1.0 : f64} : T\n"
    wide = "  %n = arith.negf %a0 : T\n  %r = math.exp %n {domain_lower = -2.0 : f64, domain_upper = 2.0 : f64} : T\n"
    from_one = "  %o = arith.constant dense<1.0> : T\n  %s = arith.subf %o, %a0 : T\n  %r = arith.mulf %s, %a0 : T\n"
    gated = "  %h = arith.constant dense<0.125> : T\n  %x2 = arith.mulf %a0, %a0 : T\n  %n = arith.negf %x2 : T\n"
    gated += "  %y = arith.addf %n, %a0 : T\n  %w = arith.mulf %y, %h : T\n  %r = arith.subf %w, %a0 : T\n"
    tanh = "  %r = math.tanh %a0 {domain_lower = -1.0 : f64, domain_upper = 1.0 : f64} : T\n"
    return [
        pointwise("cubic", (16,), cubic, lambda x: 0.5 + 0.1972 * x - 0.004 * x**3),
        pointwise("relu", (16,), relu, lambda x: max(x, 0.0), tolerance=0.1),
        pointwise("exponential", (16,), exp, math.exp, tolerance=1e-2),
        pointwise("exponential_wide", (8,), wide, lambda x: math.exp(-x), tolerance=3e-2),
        pointwise("tanh", (16,), tanh, math.tanh, tolerance=1e-2),
        pointwise("logistic_map", (4, 4), from_one, lambda x: x * (1 - x)),
        pointwise("mixed", (16,), gated, lambda x: 0.125 * (x - x * x) - x),
    ]


def matrices() -> list[Program]:
    def vec(name: str, rows: int, columns: int, **more) -> Program:
        m, b = numbers(rows * columns, rows, 0.5), numbers(rows, columns)
        body = dense("m", m, rows, columns) + dense("b", b, rows)
        body += f"  %r = linalg.matvec ins(%m, %a0 : {tensor(rows, columns)}, {tensor(columns)})"
        body += f" outs(%b : {tensor(rows)}) -> {tensor(rows)}\n  return %r : {tensor(rows)}\n"
        x = [(tensor(columns), numbers(columns, 11))]
        return Program(name, x, tensor(rows), body, lambda x: matvec(m, x, b), **more)

    m1, m2, zero = numbers(64, 12, 0.25), numbers(32, 13, 0.5), [0.125] * 8
    layers = dense("m", m1, 8, 8) + splat("b", 0.125, 8) + dense("n", m2, 4, 8) + splat("c", 0.25, 4)
    layers += "  %0 = linalg.matvec ins(%m, %a0 : tensor<8x8xf32>, tensor<8xf32>) outs(%b : tensor<8xf32>) -> tensor<8xf32>\n"
    layers += "  %1 = arith.mulf %0, %0 : tensor<8xf32>\n"
    layers += "  %2 = linalg.matvec ins(%n, %1 : tensor<4x8xf32>, tensor<8xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>\n"
    layers += "  return %2 : tensor<4xf32>\n"

    def network(x: Numbers) -> Numbers:
        return matvec(m2, [v * v for v in matvec(m1, x, zero)], [0.25] * 4)

    def mm(name: str, rows: int, inner: int, columns: int, right: Numbers | None, **more) -> Program:
        a, b, c = tensor(rows, inner), tensor(inner, columns), tensor(rows, columns)
        body = splat("z", 0.0, rows, columns) + ("" if right is None else dense("a1", right, inner, columns))
        body += f"  %r = linalg.matmul ins(%a0, %a1 : {a}, {b}) outs(%z : {c}) -> {c}\n  return %r : {c}\n"
        given = [(a, numbers(rows * inner, 14)), (b, numbers(inner * columns, 15))][: 1 if right else 2]
        meaning = lambda x, y=right: matmul(x, y, rows, inner, columns)  # noqa: E731
        return Program(name, given, c, body, meaning, **more)

    def conv(name: str, side: int, kernel: int, outs: int, ins: int, stride: int, **more) -> Program:
        places = (side - kernel) // stride + 1
        x, k, y = tensor(1, ins, side, side), tensor(outs, ins, kernel, kernel), tensor(1, outs, places, places)
        filters = numbers(outs * ins * kernel**2, 16)
        body = dense("k", filters, outs, ins, kernel, kernel) + splat("z", 0.0, 1, outs, places, places)
        body += f"  %r = linalg.conv_2d_nchw_fchw {{dilations = dense<1> : vector<2xi64>, strides = dense<{stride}> : vector<2xi64>}}"
        body += f" ins(%a0, %k : {x}, {k}) outs(%z : {y}) -> {y}\n  return %r : {y}\n"
        given = [(x, numbers(ins * side * side, 17))]
        meaning = lambda x: conv2d(x, filters, side, kernel, outs, ins, stride)  # noqa: E731
        return Program(name, given, y, body, meaning, **more)

    k1 = [1.0, 0.5, -1.0]
    line = dense("k", k1, 1, 1, 3) + splat("z", 0.0, 1, 1, 6)
    line += "  %r = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}"
    line += " ins(%a0, %k : tensor<1x1x8xf32>, tensor<1x1x3xf32>) outs(%z : tensor<1x1x6xf32>) -> tensor<1x1x6xf32>\n"
    line += "  return %r : tensor<1x1x6xf32>\n"
    return [
        vec("matvec_8x4", 8, 4),
        vec("matvec_4x8", 4, 8),
        vec("matvec_16x16", 16, 16),
        vec("matvec_3x5", 3, 5),
        vec("matvec_lattigo", 8, 8, backend="lattigo"),
        Program("two_layers", [(tensor(8), numbers(8, 18))], tensor(4), layers, network),
        mm("matmul_3x4x5", 3, 4, 5, None),
        mm("matmul_clear", 3, 4, 5, numbers(20, 19)),
        conv("conv2d_stride", 4, 2, 2, 1, 2),
        conv("conv2d", 4, 3, 1, 1, 1),
        conv("conv2d_channels", 4, 2, 2, 2, 1),
        Program(
            "conv1d",
            [(tensor(1, 1, 8), numbers(8, 20))],
            tensor(1, 1, 6),
            line,
            lambda x: [sum(k1[j] * x[i + j] for j in range(3)) for i in range(6)],
        ),
    ]


def images() -> list[Program]:
    """Images of 4 × 4 pixels, row by row; neighbours are fetched by rotations, which go around."""
    of = tensor(16)

    def fetched(name: str, down: int, right: int) -> str:
        steps = (4 * down + right) % 16
        text = f"  %c{name} = arith.constant {steps} : index\n"
        return text + f"  %{name} = tensor_ext.rotate %a0, %c{name} : {of}, index\n"

    near = [(u, v) for u in (-1, 0, 1) for v in (-1, 0, 1) if (u, v) != (0, 0)]
    blur = "".join(fetched(f"t{i}", u, v) for i, (u, v) in enumerate(near))
    blur += "".join(
        f"  %{'r' if i == 7 else f's{i}'} = arith.addf %{f's{i - 1}' if i else 'a0'}, %t{i} : {of}\n" for i in range(8)
    )
    cross = fetched("a", -1, -1) + fetched("b", -1, 0) + fetched("c", 0, -1)
    cross += f"  %e = arith.subf %a, %a0 : {of}\n  %f = arith.subf %b, %c : {of}\n"
    cross += f"  %g = arith.mulf %e, %e : {of}\n  %h = arith.mulf %f, %f : {of}\n  %r = arith.addf %g, %h : {of}\n"

    def at(x: Numbers, place: int, down: int, right: int) -> float:
        return x[(place + 4 * down + right) % 16]

    def crossed(x: Numbers) -> Numbers:
        return [
            (at(x, p, -1, -1) - x[p]) ** 2 + (at(x, p, -1, 0) - at(x, p, 0, -1)) ** 2 for p in range(16)
        ]

    def blurred(x: Numbers) -> Numbers:
        return [x[p] + sum(at(x, p, u, v) for u, v in near) for p in range(16)]

    given, end = [(of, numbers(16, 22))], f"  return %r : {of}\n"
    return [
        Program("roberts_cross", given, of, cross + end, crossed),
        Program("box_blur", given, of, blur + end, blurred),
    ]


def main() -> None:
    tool, *names = sys.argv[1:]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for program in [*scalars(), *vectors(), *functions(), *matrices(), *images()]:
        if not names or program.name in names:
            program.write(tool)
            print(program.name)


if __name__ == "__main__":
    main()
