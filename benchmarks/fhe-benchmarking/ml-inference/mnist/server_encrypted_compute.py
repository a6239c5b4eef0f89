"""The network on ciphertexts, with public keys only."""

from common import Run, existing, limbwise

run = Run()
public, upload = existing(run.public, "client_key_generation"), existing(run.upload, "client_encode_encrypt_input")
steps = run.io / "server_reported_steps.json"
limbwise("eval", "--server", public, "--in", upload, "--out", run.emptied(run.download), "--seconds", steps)
