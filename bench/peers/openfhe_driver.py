"""Measures the OpenFHE wheel on one thread (README.md).

It is a CPython 3.10 extension, built without HEXL, and does not offer a single transform.
"""

import os
from importlib.metadata import version

os.environ["OMP_NUM_THREADS"] = "1"  # read when the library is loaded
import openfhe

from driver import serve, several, words

AUXILIARY_BITS = 60  # each special prime of this build; as many as the widest digit needs


def context(question):
    """A context without a security check, and its parameters in words."""
    chain, dnum = question["chain_bits"], question["dnum"]
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetSecurityLevel(openfhe.HEStd_NotSet)
    parameters.SetRingDim(question["n"])
    parameters.SetBatchSize(question["n"] // 2)
    parameters.SetScalingTechnique(openfhe.FIXEDMANUAL)
    parameters.SetKeySwitchTechnique(openfhe.HYBRID)
    parameters.SetMultiplicativeDepth(len(chain) - 1)
    parameters.SetScalingModSize(chain[-1])
    parameters.SetFirstModSize(chain[0])
    parameters.SetNumLargeDigits(dnum)
    crypto = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        crypto.Enable(feature)
    width = -(-len(chain) // dnum)
    widest = max(sum(chain[i : i + width]) for i in range(0, len(chain), width))
    return crypto, words(question, -(-widest // AUXILIARY_BITS) * AUXILIARY_BITS, dnum)


def measure(question):
    """Times of an operation on fresh ciphertexts at the top level."""
    op = question["op"]
    if not question.get("chain_bits"):
        raise LookupError("the wheel offers no such operation")
    crypto, parameters = context(question)
    keys = crypto.KeyGen()
    if op.startswith("multiply"):
        crypto.EvalMultKeyGen(keys.secretKey)
    if op == "rotate":
        crypto.EvalRotateKeyGen(keys.secretKey, [1])
    plain = crypto.MakeCKKSPackedPlaintext([0.5] * (question["n"] // 2))
    a = crypto.Encrypt(keys.publicKey, plain)
    product = crypto.EvalMult(a, plain)
    runs = {
        "multiply_relinearize": lambda: crypto.EvalMult(a, a),
        "multiply_relinearize_rescale": lambda: crypto.Rescale(crypto.EvalMult(a, a)),
        "rotate": lambda: crypto.EvalRotate(a, 1),
        "rescale": lambda: crypto.Rescale(product),
        "mul_plain": lambda: crypto.EvalMult(a, plain),
        "mul_scalar": lambda: crypto.EvalMult(a, 0.5),
        "add": lambda: crypto.EvalAdd(a, a),
    }
    if op not in runs:
        raise LookupError("no such operation here")
    times = several(runs[op])
    openfhe.ClearEvalMultKeys()
    openfhe.ReleaseAllContexts()
    return times, parameters


if __name__ == "__main__":
    serve("OpenFHE", f"{version('openfhe')} (wheel, no HEXL)", measure)
