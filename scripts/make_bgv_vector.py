#!/usr/bin/env python3
"""Writes a BGV ciphertext made with Python's integers alone, from the definitions: the second opinion of
crates/limbwise/tests/vectors/python_bgv.rs.

Nothing of Limbwise is used: slots are interpolated by the inverse of the evaluation at psi^(5^j) and psi^(-5^j), products are
schoolbook modulo X^N + 1, residues are taken of whole integers modulo Q. Seeded, so the file is the same each time.

    python3 scripts/make_bgv_vector.py > crates/limbwise/tests/vectors/bgv_python.json
"""

import json
import random

N, T = 1024, 12289
PRIMES = [1073707009, 1073698817]  # the two largest below 2^30 that are 1 modulo 2N


def product(a, b, q):
    """a·b modulo X^N + 1 and q."""
    out = [0] * N
    for i, x in enumerate(a):
        if x:
            for j, y in enumerate(b[: N - i]):
                out[i + j] += x * y
            for j, y in enumerate(b[N - i :]):
                out[j] -= x * y
    return [x % q for x in out]


def encoded(slots):
    """The polynomial modulo t with these values: m_k = N^-1 sum_j slot_j·point_j^-k."""
    root = next(x for x in range(2, T) if pow(x, (T - 1) // 2, T) == T - 1)
    psi = pow(root, (T - 1) // (2 * N), T)
    powers = [pow(5, j, 2 * N) for j in range(N // 2)]
    inverse = [pow(psi, 2 * N - e, T) for e in powers] + [pow(psi, e, T) for e in powers]
    terms, out = list(slots), []
    for _ in range(N):
        out.append(sum(terms) * pow(N, -1, T) % T)
        terms = [x * w % T for x, w in zip(terms, inverse)]
    return [c - T if c > T // 2 else c for c in out]


def main():
    random.seed(20261122)
    q = PRIMES[0] * PRIMES[1]
    slots = [random.randrange(-(T // 2), T // 2 + 1) for _ in range(N)]
    secret = [random.randrange(-1, 2) for _ in range(N)]
    error = [round(random.gauss(0, 3.2)) for _ in range(N)]
    a = [random.randrange(q) for _ in range(N)]
    masked = product(secret, a, q)
    c0 = [(m + T * e - x) % q for m, e, x in zip(encoded(slots), error, masked)]
    limbs = lambda poly: [[x % p for x in poly] for p in PRIMES]  # noqa: E731
    vector = {"t": T, "primes": PRIMES, "secret": secret, "slots": slots, "c0": limbs(c0), "c1": limbs(a)}
    print(json.dumps(vector, separators=(",", ":")))


if __name__ == "__main__":
    main()
