"""Measures SEAL, as the wheel `tenseal` carries it, on one thread (README.md).

That build has no HEXL. SEAL has one special prime, so every prime is a digit of its own: dnum is the number of limbs.
"""

import time
from importlib.metadata import version

import tenseal.sealapi as seal

from driver import serve, several, words

SPECIAL_BITS = 60
ROTATION_BY_ONE = 3  # the Galois element: SEAL's generator
MOST = 32768  # the largest ring of SEAL's own tables; scheme operations on larger ones are not asked of it


def context(scheme, n, bits):
    """A context without a security check."""
    parameters = seal.EncryptionParameters(scheme)
    parameters.set_poly_modulus_degree(n)
    parameters.set_coeff_modulus(seal.CoeffModulus.Create(n, bits))
    if scheme == seal.SCHEME_TYPE.BFV:
        parameters.set_plain_modulus(seal.PlainModulus.Batching(n, 20))
    return seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.NONE)


def transform(question):
    """Seconds a limb: a BFV ciphertext of two polynomials of one limb is transformed there and back."""
    n, bits = question["n"], question["prime_bits"]
    made = context(seal.SCHEME_TYPE.BFV, n, [bits, SPECIAL_BITS])
    public = seal.PublicKey()
    seal.KeyGenerator(made).create_public_key(public)
    a, evaluator = seal.Ciphertext(), seal.Evaluator(made)
    seal.Encryptor(made, public).encrypt(seal.Plaintext("1"), a)
    forward, inverse = [], []
    for _ in range(300):
        start = time.perf_counter()
        evaluator.transform_to_ntt_inplace(a)
        between = time.perf_counter()
        evaluator.transform_from_ntt_inplace(a)
        forward.append((between - start) / 2)
        inverse.append((time.perf_counter() - between) / 2)
    return sorted(forward if question["op"] == "ntt" else inverse), f"one limb of {bits} bits"


def scheme(question):
    """Times of an operation on fresh ciphertexts at the top level."""
    n, chain, op = question["n"], question["chain_bits"], question["op"]
    if n > MOST:
        raise LookupError(f"SEAL's tables end at N = {MOST}")
    made = context(seal.SCHEME_TYPE.CKKS, n, chain + [SPECIAL_BITS])
    generator, public = seal.KeyGenerator(made), seal.PublicKey()
    generator.create_public_key(public)
    encoder, evaluator = seal.CKKSEncoder(made), seal.Evaluator(made)
    relinearization, rotation = seal.RelinKeys(), seal.GaloisKeys()
    if op.startswith("multiply"):
        generator.create_relin_keys(relinearization)
    if op == "rotate":
        generator.create_galois_keys([ROTATION_BY_ONE], rotation)
    plain, a = seal.Plaintext(), seal.Ciphertext()
    encoder.encode([0.5] * (n // 2), 2.0 ** chain[-1], plain)
    seal.Encryptor(made, public).encrypt(plain, a)
    out, product = seal.Ciphertext(), seal.Ciphertext()
    evaluator.multiply_plain(a, plain, product)

    def multiply():
        evaluator.multiply(a, a, out)
        evaluator.relinearize_inplace(out, relinearization)

    def multiply_and_rescale():
        multiply()
        evaluator.rescale_to_next_inplace(out)

    runs = {
        "multiply_relinearize": multiply,
        "multiply_relinearize_rescale": multiply_and_rescale,
        "rotate": lambda: evaluator.rotate_vector(a, 1, rotation, out),
        "rescale": lambda: evaluator.rescale_to_next(product, out),
        "mul_plain": lambda: evaluator.multiply_plain(a, plain, out),
        "add": lambda: evaluator.add(a, a, out),
    }
    if op not in runs:
        raise LookupError("no such operation here")
    return several(runs[op]), words(question, SPECIAL_BITS, len(chain))


def measure(question):
    """A transform or a scheme operation."""
    if question["op"] in ("ntt", "intt"):
        return transform(question)
    if question.get("chain_bits"):
        return scheme(question)
    raise LookupError("no such operation here")


if __name__ == "__main__":
    serve("SEAL", f"of tenseal {version('tenseal')} (no HEXL)", measure)
