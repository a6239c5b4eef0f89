"""Ciphertexts to scores, ten an image."""

from common import Run, existing, limbwise

run = Run()
secret, download = existing(run.secret, "client_key_generation"), existing(run.download, "server_encrypted_compute")
limbwise("decrypt", "--client", secret, "--in", download, "--out", run.scores, "--force")
