"""Pixels to ciphertexts: an image a slot, a pixel a ciphertext."""

from common import Run, existing, limbwise

run = Run()
secret = existing(run.secret, "client_key_generation")
pixels = existing(run.pixels, "the harness's input generation")
limbwise("encrypt", "--client", secret, "--data", pixels, "--out", run.emptied(run.upload))
