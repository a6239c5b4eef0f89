"""The network on ciphertexts, with public keys only."""

import json

from common import Run, existing, limbwise

run = Run()
public, upload = existing(run.public, "client_key_generation"), existing(run.upload, "client_encode_encrypt_input")
report = limbwise("eval", "--server", public, "--in", upload, "--out", run.emptied(run.download))
steps = report.get("steps")
if isinstance(steps, list):
    seconds = {step["name"]: round(step["seconds"], 4) for step in steps}
    (run.io / "server_reported_steps.json").write_text(json.dumps(seconds))
