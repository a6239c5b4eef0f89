"""Bootstraps with the OpenFHE wheel: a question on standard input, one row on standard output (README.md).

The mode that OpenFHE 1.6 recommends: a secret encapsulated by a sparse one, scales that the library keeps itself, both
orders of the linear steps. How many threads is said by OMP_NUM_THREADS, before the library is loaded.
"""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

import openfhe

N = 65536
FIRST_BITS = 60
BUDGET = [3, 3]  # levels of both linear steps
DIGITS = 4  # of key switching: with the default of 3, special primes leave two levels fewer
# The name of a set: bits of a level, levels above the depth of bootstrapping (the most that the library's own check of
# 128 bits lets pass at N = 2^16), and whether slots go to coefficients first.
SETS = {
    "openfhe-59-s2c": (59, 6, True),
    "openfhe-59-c2s": (59, 6, False),
    "openfhe-50-s2c": (50, 9, True),
    "openfhe-50-c2s": (50, 9, False),
}


def context(bits, levels):
    """A context that passes the library's check, and its depth."""
    secret = openfhe.SPARSE_ENCAPSULATED
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetSecurityLevel(openfhe.HEStd_128_classic)
    parameters.SetSecretKeyDist(secret)
    parameters.SetCKKSDataType(openfhe.COMPLEX)
    parameters.SetRingDim(N)
    parameters.SetBatchSize(N // 2)
    parameters.SetScalingTechnique(openfhe.FLEXIBLEAUTO)
    parameters.SetKeySwitchTechnique(openfhe.HYBRID)
    parameters.SetNumLargeDigits(DIGITS)
    parameters.SetScalingModSize(bits)
    parameters.SetFirstModSize(FIRST_BITS)
    depth = levels + openfhe.CryptoContext.GetBootstrapDepth(BUDGET, secret)
    parameters.SetMultiplicativeDepth(depth)
    crypto = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE, openfhe.ADVANCEDSHE, openfhe.FHE):
        crypto.Enable(feature)
    return crypto, depth


def used(ciphertext):
    """Levels that are used up: dropped primes, and the rescaling that is still owed."""
    return ciphertext.GetLevel() + ciphertext.GetNoiseScaleDeg() - 1


def key_bytes(crypto, secret):
    """The bytes of all evaluation keys as the library writes them, counted in a pipe by another process: the wheel writes
    to a file's name or into memory, and they are some gigabytes."""
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "keys")
        os.mkfifo(pipe)
        for write in (crypto.SerializeEvalAutomorphismKey, crypto.SerializeEvalMultKey):
            with subprocess.Popen(["wc", "-c", pipe], stdout=subprocess.PIPE, text=True) as counter:
                written = write(pipe, openfhe.BINARY, secret.GetKeyTag())
                total += int(counter.communicate()[0].split()[0])
            if not written:
                raise RuntimeError("the library did not write its keys")
    return total


def peak_bytes():
    """The most memory that this process has held; none where the system does not say."""
    try:
        with open("/proc/self/status") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return None


def measure(name):
    """The row of a set: two bootstrappings of random complex slots, encrypted under the secret key."""
    if name not in SETS:
        raise LookupError(f"no parameter set {name!r} here; there are {', '.join(SETS)}")
    bits, levels, slots_first = SETS[name]
    crypto, depth = context(bits, levels)
    crypto.EvalBootstrapSetup(BUDGET, [0, 0], N // 2, 0, True, slots_first)
    start = time.perf_counter()
    keys = crypto.KeyGen()
    crypto.EvalMultKeyGen(keys.secretKey)
    crypto.EvalBootstrapKeyGen(keys.secretKey, N // 2)
    keygen = time.perf_counter() - start
    draw = random.Random(0).uniform
    want = [complex(draw(-1, 1), draw(-1, 1)) for _ in range(N // 2)]
    # The last level, and those that slots-to-coefficients uses where it comes first.
    level = depth - 1 - (BUDGET[1] if slots_first else 0)
    plain = crypto.MakeCKKSPackedPlaintext(want, 1, level)
    a = crypto.Encrypt(keys.secretKey, plain)
    run = crypto.EvalBootstrapStCFirst if slots_first else crypto.EvalBootstrap
    times = []
    for _ in range(2):
        start = time.perf_counter()
        out = run(a)
        times.append(time.perf_counter() - start)
    result = crypto.Decrypt(keys.secretKey, out)
    result.SetLength(N // 2)
    got = result.GetCKKSPackedValue()
    errors = [abs(e) for g, w in zip(got, want, strict=True) for e in ((g - w).real, (g - w).imag)]
    peak = peak_bytes()
    return {
        "seconds": min(times),
        "median_seconds": sorted(times)[len(times) // 2],
        "levels": used(a) - used(out),
        "level_bits": bits,
        "slots": N // 2,
        "keygen_seconds": keygen,
        "key_bytes": key_bytes(crypto, keys.secretKey),
        "peak_bytes": peak,
        "mean_bits": -math.log2(sum(errors) / len(errors)),
        "min_bits": -math.log2(max(errors)),
        "parameters": f"{name}: N = 2^16, FLEXIBLEAUTO, SPARSE_ENCAPSULATED, {depth + 1} limbs of {bits} bits (first "
        f"{FIRST_BITS}), {DIGITS} digits, {BUDGET[0]} + {BUDGET[1]} levels of linear steps",
        "security": "the library's own check: HEStd_128_classic",
    }


if __name__ == "__main__":
    row = {"name": "bootstrap", "library": "OpenFHE", "version": f"{version('openfhe')} (wheel, no HEXL)"}
    try:
        row |= measure(json.load(sys.stdin)["parameters"])
    except Exception as reason:
        row["absent"] = str(reason)
    print(json.dumps(row))
