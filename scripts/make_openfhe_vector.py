#!/usr/bin/env python3
"""Writes files of OpenFHE for the importer's tests, and decrypts what comes back.

    scripts/make_openfhe_vector.py make DIR [--log-n 10] [--first 36] [--scale 30] [--depth 1] [--digits 2] [--secure] [--plain]
    scripts/make_openfhe_vector.py decrypt DIR FILE.json

Wants the wheel `openfhe` of PyPI (1.6.1; its CPython 3.10 build runs with an older libstdc++ than the others). `make` writes
context, keys and ciphertexts as JSON without spaces, gzip; `--plain` leaves OpenFHE's own layout. Slot i of the values is
(i mod 17)/16 − 1/2: `a.json` holds them, `product.json` their squares (relinearized and divided), `rotated.json` the values
rotated left by 3. The small ring is below 128 bits: it is a test's data and hides nothing. `decrypt` prints the slots of a
ciphertext under DIR's secret key, a line each.
"""

import argparse
import gzip
import json
import os
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # read when the library is loaded
import openfhe


def values(slots: int) -> list[float]:
    """What is encrypted; the tests have the same formula."""
    return [(i % 17) / 16 - 0.5 for i in range(slots)]


def make(options: argparse.Namespace) -> None:
    """Context, keys, ciphertexts."""
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetSecurityLevel(openfhe.HEStd_128_classic if options.secure else openfhe.HEStd_NotSet)
    parameters.SetRingDim(1 << options.log_n)
    parameters.SetBatchSize(1 << (options.log_n - 1))
    parameters.SetScalingTechnique(openfhe.FIXEDMANUAL)
    parameters.SetKeySwitchTechnique(openfhe.HYBRID)
    parameters.SetMultiplicativeDepth(options.depth)
    parameters.SetScalingModSize(options.scale)
    parameters.SetFirstModSize(options.first)
    parameters.SetNumLargeDigits(options.digits)
    context = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        context.Enable(feature)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, [3])
    plain = context.MakeCKKSPackedPlaintext(values(1 << (options.log_n - 1)))
    a = context.Encrypt(keys.publicKey, plain)
    product = context.Rescale(context.EvalMult(a, a))
    objects = {
        "context": context,
        "secret": keys.secretKey,
        "public": keys.publicKey,
        "a": a,
        "product": product,
        "rotated": context.EvalRotate(a, 3),
    }
    for name, thing in objects.items():
        path = options.dir / f"{name}.json"
        if not openfhe.SerializeToFile(str(path), thing, openfhe.JSON):
            raise SystemExit(f"{path}: OpenFHE did not write it")
    context.SerializeEvalMultKey(str(options.dir / "relin.json"), openfhe.JSON)
    context.SerializeEvalAutomorphismKey(str(options.dir / "galois.json"), openfhe.JSON)
    if options.plain:
        return
    for path in sorted(options.dir.glob("*.json")):
        text = json.dumps(json.loads(path.read_text()), separators=(",", ":"))
        path.with_suffix(".json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        path.unlink()


def text(path: Path) -> str:
    """A file, packed or not."""
    packed = path.with_suffix(".json.gz")
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text()


def decrypt(options: argparse.Namespace) -> None:
    """Decrypts with OpenFHE itself."""
    secret = openfhe.DeserializePrivateKeyString(text(options.dir / "secret.json"), openfhe.JSON)
    ciphertext, read = openfhe.DeserializeCiphertext(str(options.file), openfhe.JSON)
    if not read:
        raise SystemExit(f"{options.file}: OpenFHE does not read it")
    plain = ciphertext.GetCryptoContext().Decrypt(ciphertext, secret)
    for value in plain.GetRealPackedValue():
        print(repr(value))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    made = verbs.add_parser("make")
    made.add_argument("dir", type=Path)
    for name, default in (("log-n", 10), ("first", 36), ("scale", 30), ("depth", 1), ("digits", 2)):
        made.add_argument(f"--{name}", type=int, default=default)
    made.add_argument("--secure", action="store_true")
    made.add_argument("--plain", action="store_true")
    read = verbs.add_parser("decrypt")
    read.add_argument("dir", type=Path)
    read.add_argument("file", type=Path)
    options = parser.parse_args()
    (make if options.verb == "make" else decrypt)(options)


if __name__ == "__main__":
    main()
