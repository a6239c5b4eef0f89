#!/usr/bin/env python3
"""A reader of Limbwise's files that was written from docs/file-format.md alone: decrypts the fixtures of every version.

Standard library only, BLAKE3 included (https://github.com/BLAKE3-team/BLAKE3-specs). Clear and slow: what it is for is
to prove that the page is complete.
"""

import cmath
import json
import math
import struct
import unittest
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "crates/limbwise/tests/wire"

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
START, END, PARENT, ROOT, KEYED, CONTEXT, DERIVED = 1, 2, 4, 8, 16, 32, 64
MASK = 0xFFFFFFFF


def compress(chaining, block, counter, length, flags):
    """The compression function: 16 words."""
    m = list(block)
    v = [*chaining, *IV[:4], counter & MASK, counter >> 32, length, flags]

    def mix(a, b, c, d, x, y):
        for word, turns in ((x, (16, 12)), (y, (8, 7))):
            v[a] = (v[a] + v[b] + word) & MASK
            v[d] ^= v[a]
            v[d] = (v[d] >> turns[0] | v[d] << 32 - turns[0]) & MASK
            v[c] = (v[c] + v[d]) & MASK
            v[b] ^= v[c]
            v[b] = (v[b] >> turns[1] | v[b] << 32 - turns[1]) & MASK

    for _ in range(7):
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = [m[k] for k in ORDER]
    return [v[i] ^ v[i + 8] for i in range(8)] + [v[i + 8] ^ chaining[i] for i in range(8)]


def words(block):
    return struct.unpack("<16I", block.ljust(64, b"\0"))


def chunk(key, data, counter, flags):
    """What is left to compress of up to 1024 bytes: the arguments of the last compression."""
    blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
    chaining = key
    for i, block in enumerate(blocks):
        f = flags | (START if i == 0 else 0) | (END if i + 1 == len(blocks) else 0)
        if i + 1 == len(blocks):
            return chaining, words(block), counter, len(block), f
        chaining = compress(chaining, words(block), counter, 64, f)[:8]


def tree(key, data, counter, flags):
    """The same of any number of bytes."""
    if len(data) <= 1024:
        return chunk(key, data, counter, flags)
    left = 1024 << ((len(data) - 1) // 1024).bit_length() - 1
    halves = [tree(key, data[:left], counter, flags), tree(key, data[left:], counter + left // 1024, flags)]
    block = [word for half in halves for word in compress(*half)[:8]]
    return key, block, 0, 64, flags | PARENT


def blake3(data, key=None, length=32, flags=KEYED):
    """The hash, keyed (or in the mode of other flags) if there is a key, with extended output."""
    start, flags = (IV, 0) if key is None else (struct.unpack("<8I", key), flags)
    chaining, block, _, size, flags = tree(start, data, 0, flags)
    out = b""
    while len(out) < length:
        out += struct.pack("<16I", *compress(chaining, block, len(out) // 64, size, flags | ROOT))
    return out[:length]


def derived(context, data):
    """The hash in derivation mode."""
    key = blake3(context, struct.pack("<8I", *IV), flags=CONTEXT)
    return blake3(data, key, flags=DERIVED)


class File:
    """A file: its header is checked at once, its blocks when they are read, in order."""

    def __init__(self, version, name):
        data = (FIXTURES / f"v{version}" / name).with_suffix(".lw").read_bytes()
        magic, written, self.kind, size, self.fingerprint = struct.unpack("<8sHHI32s", data[:48])
        assert (magic, written) == (b"LIMBWISE", version)
        self.origin = (bytes(32), bytes(32), bytes(32), 0)
        end = 48 if version == 1 else 152
        if version > 1:
            *self.origin, reserved = struct.unpack("<32s32s32sII", data[48:152])
            assert reserved == 0
        self.digest = data[end : end + 32]
        begin = end + 32
        self.text, self.rest, self.next = data[begin : begin + size], data[begin + size :], 0
        assert blake3(data[:end] + self.text) == self.digest
        self.header = json.loads(self.text)

    def block(self, length):
        payload, checksum, self.rest = self.rest[:length], self.rest[length : length + 16], self.rest[length + 16 :]
        assert blake3(payload + struct.pack("<Q", self.next), self.digest, 16) == checksum
        self.next += 1
        return payload

    def row(self, n, q):
        w = q.bit_length()
        bits = int.from_bytes(self.block(n * w // 8), "little")
        return [bits >> i * w & (1 << w) - 1 for i in range(n)]


def expand(seed, batch, n, q):
    """The row that a seed stands for."""
    w = q.bit_length()
    source = b"limbwise expand_seed " + struct.pack("<QQ", batch, q)
    drawn = struct.unpack(f"<{4 * n}Q", blake3(source, seed, 32 * n))
    kept = [x & (1 << w) - 1 for x in drawn]
    return [x for x in kept if x < q][:n]


def reverse(i, bits):
    return int(format(i, f"0{bits}b")[::-1], 2)


def exponents(log_n):
    return [2 * reverse(i, log_n) + 1 for i in range(1 << log_n)]


def root(q, log_n):
    x = next(x for x in range(2, q) if pow(x, (q - 1) // 2, q) == q - 1)
    return pow(x, q - 1 >> log_n + 1, q)


def evaluate(coefficients, q, log_n):
    """Values at the odd powers of ψ, by the recursion on even and odd coefficients; in natural order of exponents."""
    psi = root(q, log_n)

    def at(a, zeta):
        """Values of a polynomial of degree below len(a) at zeta^(2i + 1)."""
        if len(a) == 1:
            return a
        even, odd = at(a[::2], zeta * zeta % q), at(a[1::2], zeta * zeta % q)
        half = len(even)
        out, power = [], zeta
        for i in range(len(a)):
            out.append((even[i % half] + power * odd[i % half]) % q)
            power = power * zeta * zeta % q
        return out

    natural = at(coefficients, psi)
    return [natural[(e - 1) // 2] for e in exponents(log_n)]


def interpolate(values, q, log_n):
    """Undoes evaluate: coefficient k is the mean of value · ψ^(−k·exponent)."""
    n = 1 << log_n
    inverse = pow(root(q, log_n), -1, q)
    natural = [0] * n
    for value, e in zip(values, exponents(log_n)):
        natural[(e - 1) // 2] = value
    step = inverse * inverse % q

    def sums(a, zeta):
        """Σ_i a[i]·zeta^(i·k) for k below len(a)."""
        if len(a) == 1:
            return a
        even, odd = sums(a[::2], zeta * zeta % q), sums(a[1::2], zeta * zeta % q)
        half, power, out = len(even), 1, []
        for k in range(len(a)):
            out.append((even[k % half] + power * odd[k % half]) % q)
            power = power * zeta % q
        return out

    scale, power, out = pow(n, -1, q), 1, []
    for value in sums(natural, step):
        out.append(value * power * scale % q)
        power = power * inverse % q
    return out


class DecryptsVersion1(unittest.TestCase):
    version = 1

    def setUp(self):
        file = File(self.version, "params")
        self.assertEqual((file.kind, file.rest), (1, b""))
        self.fingerprint = blake3(file.text)
        self.assertEqual(file.fingerprint, self.fingerprint)
        self.log_n = file.header["literal"]["log_n"]
        self.chain = file.header["primes"][: sum(map(len, file.header["literal"]["levels"]))]
        self.n = 1 << self.log_n

    def opened(self, name, kind):
        file = File(self.version, name)
        self.assertEqual((file.kind, file.fingerprint), (kind, self.fingerprint))
        return file

    def secret(self):
        file = self.opened("secret-key", 4)
        self.assertIsNone(file.header["lock"])
        packed = file.block(self.n // 4)
        self.assertEqual(file.rest, b"")
        return [(0, 1, -1)[packed[i // 4] >> 2 * (i % 4) & 3] for i in range(self.n)]

    def slots(self, residues, header):
        """Slots of a message from its coefficients modulo each prime."""
        product = math.prod(self.chain)
        factors = [product // q * pow(product // q, -1, q) for q in self.chain]
        message = []
        for coefficient in zip(*residues):
            x = sum(r * f for r, f in zip(coefficient, factors)) % product
            message.append((x if 2 * x < product else x - product) / header["scale"])
        gap = self.n // 2 // header["slots"]
        values = []
        for j in (0, 1, 2, 77, header["slots"] - 1):
            e = pow(5, j, 2 * self.n)
            turn = cmath.pi * e * gap / self.n
            values.append((j, sum(c * cmath.exp(1j * turn * k) for k, c in enumerate(message[::gap]))))
        return values

    def expect(self, residues, header, most):
        for j, value in self.slots(residues, header):
            self.assertLess(abs(value - math.sin(0.1 * j)), most)

    def decrypted(self, file, halves):
        secret = self.secret()
        out = []
        for q, c0, c1 in zip(self.chain, *halves):
            s = evaluate([c % q for c in secret], q, self.log_n)
            out.append(interpolate([(x + y * z) % q for x, y, z in zip(c0, c1, s)], q, self.log_n))
        self.assertEqual(file.rest, b"")
        return out

    def polynomial(self, file):
        return [file.row(self.n, q) for q in self.chain]

    def test_plaintext(self):
        file = self.opened("plaintext", 6)
        residues = [interpolate(row, q, self.log_n) for row, q in zip(self.polynomial(file), self.chain)]
        self.expect(residues, file.header, 1e-3)

    def test_ciphertext(self):
        file = self.opened("ciphertext", 5)
        halves = [self.polynomial(file), self.polynomial(file)]
        self.expect(self.decrypted(file, halves), file.header, 0.3)

    def test_seeded_ciphertext(self):
        file = self.opened("ciphertext-seeded", 5)
        seed = file.block(32)
        halves = [self.polynomial(file), [expand(seed, 0, self.n, q) for q in self.chain]]
        self.expect(self.decrypted(file, halves), file.header, 0.02)

    def test_public_key(self):
        file = self.opened("public-key", 2)
        seed = file.block(32)
        halves = [self.polynomial(file), [expand(seed, 0, self.n, q) for q in self.chain]]
        for q, row in zip(self.chain, self.decrypted(file, halves)):
            self.assertLess(max(min(x, q - x) for x in row), 40)  # nothing but the error, of deviation 3.2

    def test_the_name_of_a_key_set(self):
        if self.version > 1:
            coefficients = bytes(c % 256 for c in self.secret())
            name = derived(b"limbwise 2026-11-22 identity of a CKKS or BGV key set", self.fingerprint + coefficients)
            self.assertEqual(self.opened("secret-key", 4).origin[1], name)

    def test_blake3(self):
        self.assertEqual(
            blake3(b"").hex(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        )


class DecryptsVersion2(DecryptsVersion1):
    version = 2


if __name__ == "__main__":
    unittest.main()
