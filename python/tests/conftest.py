"""Contexts that several files share: small rings, so that everything runs in seconds."""

import os
import signal
from pathlib import Path

import limbwise as lw
import numpy as np
import pytest

# Nothing is measured in tests, whose seconds would be those of a busy host.
os.environ["LIMBWISE_RATES"] = str(Path(__file__).parents[2] / "crates/cli/tests/fixtures/rates.json")


# A TFHE set with few steps; the reason says that it is a test.
SMALL_INTEGERS = """
log_n = 10
masks = 1
prime = 48
glwe_sigma = 3.2
lwe_dimension = 30
log_lwe_modulus = 32
lwe_sigma = 3.2
bootstrap = { base_log = 16, levels = 2 }
key_switch = { base_log = 4, levels = 5 }
message_bits = 4
norm = 5.0
log2_failure = -40.0
insecure = { reason = "a test of correctness" }
"""


@pytest.fixture(scope="session")
def small_integers(tmp_path_factory):
    path = tmp_path_factory.mktemp("tfhe") / "small.toml"
    path.write_text(SMALL_INTEGERS)
    return lw.tfhe.keys(path)


@pytest.fixture(scope="session")
def ctx():
    """Depth 6 on 2048 slots: arrays of a few thousand values are several ciphertexts."""
    return lw.ckks(depth=6, slots=2048, precision=24)


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """A job in the background of a shell starts with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def close(got, wanted, tolerance=1e-4):
    assert got.shape == np.shape(wanted), f"{got.shape} for {np.shape(wanted)}"
    worst = np.max(np.abs(got - wanted))
    assert worst < tolerance, f"off by {worst}"
