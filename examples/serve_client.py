#!/usr/bin/env python3
"""Has a program evaluated by a server: uploads keys and ciphertexts, waits for the job, fetches the results.

    examples/serve_client.py URL --program program.json --keys evaluation.keys --out results INPUT.ct ...

A question to a table has two kinds of keys: --keys evaluation.keys --keys bootstrap.keys.

Only Python's standard library. Uploads and downloads go on where they broke off, also when the server is restarted in
between; what the server has already is not sent again. The secret key has no business here: "limbwise encrypt" makes
the inputs before, "limbwise decrypt" reads the results afterwards, both on the client's own machine.
"""

import argparse
import hashlib
import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path


class Refused(Exception):
    """The server has said no, and why."""

    def __init__(self, problem: dict):
        parts = [problem["what"]] + [f"{key}: {problem[key]}" for key in ("got", "wanted", "next_step") if key in problem]
        super().__init__("; ".join(parts))
        self.status = problem.get("status", 0)


class Server:
    """A server; a request is tried again while the server cannot be reached, for `patience` seconds."""

    def __init__(self, url: str, token: str | None = None, patience: float = 60.0):
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.patience = patience

    def request(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None) -> bytes:
        """The bytes of the answer."""
        until = time.monotonic() + self.patience
        while True:
            request = urllib.request.Request(self.url + path, data=body, method=method, headers=self.headers | (headers or {}))
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                raise Refused(json.loads(error.read())) from None
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def ask(self, method: str, path: str, value: object = None) -> dict:
        """The JSON of the answer, for JSON or nothing."""
        if value is None:
            return json.loads(self.request(method, path))
        return json.loads(self.request(method, path, json.dumps(value).encode(), {"Content-Type": "application/json"}))

    def upload(self, path: Path) -> str:
        """Brings a file to the server; its name there."""
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        upload = self.ask("POST", "/v1/uploads", {"bytes": path.stat().st_size, "sha256": sha256})
        place = f"/v1/uploads/{upload['id']}"
        most = self.ask("GET", "/v1/status")["limits"]["chunk_bytes"]
        with path.open("rb") as file:
            while upload["state"] == "receiving":
                file.seek(upload["received"])
                chunk = file.read(most)
                there = f"{place}/chunk?offset={upload['received']}&sha256={hashlib.sha256(chunk).hexdigest()}"
                try:
                    answer = self.request("PUT", there, chunk, {"Content-Type": "application/octet-stream"})
                    upload = json.loads(answer)
                except Refused as refused:
                    # The server has the chunk and its answer was lost, or is still writing it: its word counts.
                    if refused.status != 409:
                        raise
                    time.sleep(0.1)
                    upload = self.ask("GET", place)
        while upload["state"] == "checking":
            time.sleep(0.05)
            upload = self.ask("GET", place)
        if upload["state"] != "complete":
            raise Refused(upload["refusal"])
        return sha256

    def evaluate(self, program: str, keys: list[str], inputs: list[str]) -> list[dict]:
        """The results of a job on files that the server has."""
        asked = {"program": program, "keys": keys[0] if len(keys) == 1 else keys, "inputs": inputs}
        job = self.ask("POST", "/v1/jobs", asked)
        said = None
        while "ended" not in job:
            time.sleep(0.1)
            job = self.ask("GET", f"/v1/jobs/{job['id']}")
            progress = job.get("progress", {})
            now = (job["state"], progress.get("step"), progress.get("done"))
            if now != said:
                steps = f"{progress['step']} {progress['done']}/{progress['total']}" if progress.get("step") else ""
                print(f"job {job['id']}: {job['state']} {steps}".rstrip(), file=sys.stderr)
                said = now
        if job["state"] != "done":
            raise Refused(job.get("refusal", {"what": f"the job was {job['state']}"}))
        return job["results"]

    def download(self, result: dict, path: Path) -> None:
        """Fetches a file whole: into a temporary name first, and compared with its own name."""
        temporary = path.with_suffix(path.suffix + ".part")
        with temporary.open("ab") as file:
            while file.tell() < result["bytes"]:
                part = {"Range": f"bytes={file.tell()}-{min(file.tell() + (1 << 24), result['bytes']) - 1}"}
                file.write(self.request("GET", f"/v1/files/{result['file']}/content", headers=part))
        with temporary.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != result["file"]:
                raise SystemExit(f"{temporary}: not what the server has; remove it and fetch again")
        temporary.replace(path)


def main() -> None:
    """Uploads, evaluates, downloads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="http://127.0.0.1:8080")
    parser.add_argument("--program", type=Path, required=True, help="the description of the program")
    parser.add_argument("--keys", type=Path, required=True, action="append", help="a file of keys; two where there are two kinds")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--token-file", type=Path, help="the server's token")
    parser.add_argument("inputs", type=Path, nargs="+", help="encrypted inputs, in the program's order")
    given = parser.parse_args()
    token = given.token_file.read_text().strip() if given.token_file else None
    server = Server(given.url, token)
    try:
        program, keys = server.upload(given.program), [server.upload(path) for path in given.keys]
        results = server.evaluate(program, keys, [server.upload(path) for path in given.inputs])
        given.out.mkdir(parents=True, exist_ok=True)
        for number, result in enumerate(results):
            path = given.out / f"result-{number:03}.ct"
            server.download(result, path)
            print(path)
    except Refused as refused:
        raise SystemExit(f"error: {refused}") from None


if __name__ == "__main__":
    main()
