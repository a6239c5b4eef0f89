"""Has programs evaluated by ``limbwise serve``: uploads that go on where they broke off, jobs, results.

>>> server = Server("https://fhe.example:8443", token=token, authority="authority.pem")
>>> program, keys = server.upload("theirs/program.json"), server.upload("theirs/evaluation.keys")
>>> results = server.evaluate(program, [keys], [server.upload("in/input-000.ct")])
>>> server.download(results[0], "results/result-000.ct")

Files have the SHA-256 of their bytes as names on the server; what it has already is not sent again. The secret key has no
business here: ``limbwise encrypt`` makes the inputs before, ``limbwise decrypt`` reads the results afterwards, both on the
client's own machine. This module uses the standard library alone, and runs without the rest of the package:

    python -m limbwise.client URL --program program.json --keys evaluation.keys --out results INPUT.ct ...
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import ssl
import sys
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Refused", "Result", "Server"]

# Answers that are worth another try: the server is busy, or a proxy before it finds none.
_AGAIN = frozenset({502, 503, 504})
# Bytes of a part of a download.
_PART = 1 << 24
# Longest answer that is kept in memory, beside parts of files.
_MOST_ANSWER = 64 << 20
# Kinds of files that are secret keys (docs/file-format.md).
_SECRET = frozenset({4, 11})
# Digits of a SHA-256.
_DIGITS = 64
# Seconds between two looks at something that takes time, the first and the longest.
_LOOK, _LONGEST_LOOK = 0.05, 2.0

PathLike = str | os.PathLike[str]
Tell = Callable[[dict[str, Any]], None]


class Refused(Exception):  # noqa: N818 - the name says what happened
    """The server has said no. ``status`` is that of HTTP; ``problem`` has what, got, wanted and the next step."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        words = [f"{key}: {problem[key]}" for key in ("got", "wanted", "next_step") if problem.get(key)]
        super().__init__("; ".join([str(problem.get("what", "refused without a reason")), *words]))
        self.problem = dict(problem)
        status = problem.get("status", 0)
        self.status = status if isinstance(status, int) else 0


@dataclass(frozen=True)
class Result:
    """A result of a job: ``name``, the SHA-256 of its bytes, and how many they are."""

    name: str
    file: str
    bytes: int


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes


def _other_scheme(error: Exception) -> str | None:
    """Return the scheme that the server speaks, where the error says that it is not the one of the address."""
    if isinstance(error, http.client.BadStatusLine) and str(error).startswith("\x15\x03"):
        return "https://"
    if isinstance(error, ssl.SSLError) and error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST"}:
        return "http://"
    return None


class Server:
    """A server of ``limbwise serve``.

    ``url`` is ``http://HOST:PORT`` or ``https://…``. ``token`` is what the operator gave. ``authority`` is a file of
    certificates (PEM) that is trusted in the place of the system's. A request is tried again for ``patience`` seconds while
    the server cannot be reached, breaks off, or says that it is busy; every request of this API may be sent twice.
    ``timeout`` is in seconds, of one try. An instance is for one thread.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        authority: PathLike | None = None,
        patience: float = 60.0,
        timeout: float = 120.0,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
            msg = f"got {url!r} as the address of a server; wanted http://HOST:PORT or https://HOST:PORT"
            raise ValueError(msg)
        if authority is not None and parts.scheme != "https":
            msg = f"got certificates for {url!r}; wanted https://, for without TLS nothing is proved"
            raise ValueError(msg)
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._tls = ssl.create_default_context(cafile=authority) if parts.scheme == "https" else None
        self._patience, self._timeout = patience, timeout
        self._open: http.client.HTTPConnection | None = None
        self._chunk = 0

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __enter__(self) -> Server:
        """Return the server itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._open is None:
            if self._tls is None:
                self._open = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
            else:
                self._open = http.client.HTTPSConnection(
                    self._host, self._port, timeout=self._timeout, context=self._tls
                )
        return self._open

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> _Answer:
        """Try once; a connection that was in use before may have been closed meanwhile."""
        connection = self._connection()
        try:
            connection.request(method, self._path + path, body=body, headers={**self._headers, **headers})
            with connection.getresponse() as answer:
                body = answer.read(_MOST_ANSWER + 1)
                if len(body) > _MOST_ANSWER:
                    raise Refused({"what": "the answer is too long", "wanted": f"at most {_MOST_ANSWER} bytes"})
                length = answer.getheader("Content-Length")
                if length is not None and method != "HEAD" and len(body) != int(length):
                    raise http.client.IncompleteRead(body)
                return _Answer(answer.status, body)
        except BaseException:
            self.close()
            raise

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the bytes of an answer.

        Raises ``Refused`` for one that says no, ``OSError`` where there is none for ``patience`` seconds or the server
        speaks HTTP for HTTPS or the other way round, and ``ssl.SSLCertVerificationError`` at once for a server that does
        not prove who it is.
        """
        until, wait = time.monotonic() + self._patience, _LOOK
        while True:
            try:
                answer = self._once(method, path, body, headers or {})
            except ssl.SSLCertVerificationError:
                raise
            except (OSError, http.client.HTTPException) as error:
                scheme = _other_scheme(error)
                if scheme:
                    msg = f"{self._host} answers {scheme}: write {scheme} in its address"
                    raise ConnectionError(msg) from error
                if time.monotonic() > until:
                    msg = f"{method} {path}: no answer in {self._patience:g} seconds: {error!r}"
                    raise ConnectionError(msg) from error
            else:
                if answer.status < 300:
                    return answer.body
                if answer.status not in _AGAIN or time.monotonic() > until:
                    raise Refused(_problem(answer))
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_LOOK)

    def ask(self, method: str, path: str, value: object = None) -> Any:
        """Return the JSON of an answer, for JSON or nothing."""
        if value is None:
            body = self.request(method, path)
        else:
            body = self.request(method, path, json.dumps(value).encode(), {"Content-Type": "application/json"})
        return json.loads(body) if body else None

    def status(self) -> dict[str, Any]:
        """Return the limits of the server, and the client's use."""
        found: dict[str, Any] = self.ask("GET", "/v1/status")
        return found

    def upload(self, path: PathLike) -> str:
        """Bring a file to the server, from where it broke off in this call or before; return its name there.

        Raises ``ValueError`` for a secret key, of which nothing is sent.
        """
        path = Path(path)
        with path.open("rb") as file:
            head = file.read(12)
            if head[:8] == b"LIMBWISE" and int.from_bytes(head[10:12], "little") in _SECRET:
                msg = f"{path} is a secret key: it stays on the client's machine, and nothing of it was sent"
                raise ValueError(msg)
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        bytes_ = path.stat().st_size
        upload = self._unfinished(sha256, bytes_) or self.ask(
            "POST", "/v1/uploads", {"bytes": bytes_, "sha256": sha256}
        )
        place = f"/v1/uploads/{upload['id']}"
        with path.open("rb") as file:
            while upload["state"] == "receiving":
                file.seek(upload["received"])
                upload = self._send(place, upload["received"], file)
        upload = self._until(place, lambda now: now["state"] != "checking", upload)
        if upload["state"] != "complete":
            raise Refused(upload.get("refusal", {"what": f"the upload is {upload['state']}"}))
        return sha256

    def _unfinished(self, sha256: str, bytes_: int) -> dict[str, Any] | None:
        """Find an upload of the same file that broke off, by this client or one before."""
        found = self.ask("GET", "/v1/uploads")
        same = (u for u in found if u["sha256"] == sha256 and u["bytes"] == bytes_ and u["state"] == "receiving")
        return next(same, None)

    def _send(self, place: str, offset: int, file: Any) -> dict[str, Any]:
        """Send the next chunk; return what has become of the upload."""
        if not self._chunk:
            self._chunk = int(self.status()["limits"]["chunk_bytes"])
        chunk = file.read(self._chunk)
        there = f"{place}/chunk?offset={offset}&sha256={hashlib.sha256(chunk).hexdigest()}"
        try:
            body = self.request("PUT", there, chunk, {"Content-Type": "application/octet-stream"})
        except Refused as refused:
            # The server has the chunk and its answer was lost, or is still writing it: its word counts.
            if refused.status != http.client.CONFLICT:
                raise
            time.sleep(_LOOK)
            body = self.request("GET", place)
        upload: dict[str, Any] = json.loads(body)
        return upload

    def submit(self, program: str, keys: Sequence[str], inputs: Sequence[str]) -> dict[str, Any]:
        """Ask for a job on files that the server has. The same job again is the same job."""
        asked = {"program": program, "keys": keys[0] if len(keys) == 1 else list(keys), "inputs": list(inputs)}
        job: dict[str, Any] = self.ask("POST", "/v1/jobs", asked)
        return job

    def job(self, name: str) -> dict[str, Any]:
        """Return a job as it is now."""
        found: dict[str, Any] = self.ask("GET", f"/v1/jobs/{name}")
        return found

    def cancel(self, name: str) -> dict[str, Any]:
        """Cancel a job, at the end of its present step; one that is over stays as it is."""
        try:
            self.request("POST", f"/v1/jobs/{name}/cancel")
        except Refused as refused:
            if refused.status != http.client.CONFLICT:
                raise
        return self.job(name)

    def wait(self, name: str, tell: Tell | None = None) -> list[Result]:
        """Return the results of a job when it is over; ``tell`` gets it at every change. Raise ``Refused`` without any."""
        job = self._until(f"/v1/jobs/{name}", lambda job: "ended" in job, None, tell)
        if job["state"] != "done":
            raise Refused(job.get("refusal", {"what": f"the job was {job['state']}"}))
        return [Result(result["name"], result["file"], result["bytes"]) for result in job["results"]]

    def evaluate(
        self, program: str, keys: Sequence[str], inputs: Sequence[str], tell: Tell | None = None
    ) -> list[Result]:
        """Return the results of a program on files that the server has."""
        return self.wait(self.submit(program, keys, inputs)["id"], tell)

    def download(self, result: Result, path: PathLike) -> Path:
        """Fetch a file whole, under another name until it has its digest; a download that broke off goes on."""
        if len(result.file) != _DIGITS or not set(result.file) <= set("0123456789abcdef"):
            raise Refused({"what": "no name of a file", "got": result.file[:100], "wanted": "a SHA-256"})
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        # What is left of another file goes by another name.
        temporary = path.with_name(f"{path.name}.{result.file[:16]}.part")
        with temporary.open("ab") as file:
            while file.tell() < result.bytes:
                last = min(file.tell() + _PART, result.bytes) - 1
                part = {"Range": f"bytes={file.tell()}-{last}"}
                got = self.request("GET", f"/v1/files/{result.file}/content", headers=part)
                if not 0 < len(got) <= last + 1 - file.tell():
                    wanted = f"1 to {last + 1 - file.tell()} bytes"
                    raise Refused(
                        {"what": "not the part that was asked for", "got": f"{len(got)} bytes", "wanted": wanted}
                    )
                file.write(got)
        with temporary.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != result.file:
            temporary.unlink()
            raise Refused({"what": "the bytes are not those of the file", "got": digest, "wanted": result.file})
        return temporary.replace(path)

    def remove(self, file: str) -> None:
        """Remove a file from the server; one that is not there stays so."""
        try:
            self.request("DELETE", f"/v1/files/{file}")
        except Refused as refused:
            if refused.status != http.client.NOT_FOUND:
                raise

    def _until(
        self,
        place: str,
        over: Callable[[dict[str, Any]], bool],
        now: dict[str, Any] | None,
        tell: Tell | None = None,
    ) -> dict[str, Any]:
        """Look until it is as wanted, ever more seldom."""
        wait, told = _LOOK, None
        while True:
            now = now or self.ask("GET", place)
            progress = now.get("progress") or {}
            state = (now["state"], progress.get("step"), progress.get("done"))
            if tell is not None and state != told:
                tell(now)
                told, wait = state, _LOOK
            if over(now):
                return now
            time.sleep(wait)
            wait, now = min(1.5 * wait, _LONGEST_LOOK), None


def _problem(answer: _Answer) -> dict[str, Any]:
    """Read what an answer says; a proxy's need not be JSON."""
    try:
        problem = json.loads(answer.body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        text = answer.body[:200].decode(errors="replace")
        problem = {"what": f"the answer has status {answer.status}", "got": text, "wanted": "JSON of limbwise serve"}
    return {**problem, "status": answer.status}


def _show(job: dict[str, Any]) -> None:
    progress = job.get("progress") or {}
    steps = f" {progress['step']} {progress['done']}/{progress['total']}" if progress.get("step") else ""
    sys.stderr.write(f"job {job['id']}: {job['state']}{steps}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Upload, evaluate, download."""
    parser = argparse.ArgumentParser(
        prog="python -m limbwise.client", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="http://127.0.0.1:8080")
    parser.add_argument("--program", type=Path, required=True, help="the description of the program")
    parser.add_argument(
        "--keys",
        type=Path,
        required=True,
        action="append",
        help="a file of keys; given twice where there are two kinds",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--token-file", type=Path, help="your token for the server")
    parser.add_argument("--authority", type=Path, help="certificates to trust, as PEM")
    parser.add_argument("inputs", type=Path, nargs="+", help="encrypted inputs, in the program's order")
    given = parser.parse_args(arguments)
    try:
        token = given.token_file.read_text().strip() if given.token_file else None
        with Server(given.url, token=token, authority=given.authority) as server:
            program, keys = server.upload(given.program), [server.upload(path) for path in given.keys]
            inputs = [server.upload(path) for path in given.inputs]
            for number, result in enumerate(server.evaluate(program, keys, inputs, _show)):
                path = server.download(result, given.out / f"result-{number:03}.ct")
                sys.stdout.write(f"{path}\n")
    except (Refused, OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
