#!/usr/bin/env python3
"""Loads a server of `limbwise serve` with many clients and kills it at random; nothing may be lost or wrong.

    scripts/soak.py [--seconds N] [--clients N] [--kill SECONDS] [--request-seconds N] [--seed N] [--tls] PROGRAM

PROGRAM is the binary limbwise. With --tls every connection has TLS, by a certificate that is made for this (needs openssl), and
clients also break handshakes off, stand still in them, and speak without TLS.

Makes keys and inputs of two programs at small, insecure parameters from seeds, and evaluates each input once with
"limbwise eval": what the server has to give, to the last bit. Then each client, with a token of its own, does one thing
after another: uploads whole or in small pieces, breaks an upload off and goes on with it, stands still in the middle of a
chunk, sends what is damaged, asks for a job and waits for it, cancels one, fetches results, asks for what is another's,
removes what it has. All the while the server is ended by SIGKILL at random moments, by SIGTERM now and then, and started
again. At the end every job that was promised has to be there and done, and every result has to have the right digest.
Memory of the server is looked at every second. A summary is printed as JSON; a defect makes this end with 1.
"""

import argparse
import dataclasses
import hashlib
import http.client
import json
import random
import re
import secrets
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from common import client_module

CLIENT = client_module()

SMALL = """log_n = 10
levels = [[50], [40], [40]]
special = [50]
dnum = 3
log_scale = 40
[insecure]
reason = "a soak of the server"
"""
# Programs with the options of "limbwise keygen"; small, so that the server and not the arithmetic is tried.
PROGRAMS = {
    "first": ["linear", "--op", "matvec", "--rows", "4", "--cols", "4", "--preset", "../small.toml"],
    "second": ["linear", "--op", "matvec", "--rows", "8", "--cols", "4", "--preset", "../small.toml"],
}
INPUTS = 3
# Status where a tool is not on the machine.
ABSENT = 2
# Between two looks at memory.
LOOK = 1.0
# Memory is flat if it grows by less than this from the middle of the run to its end, over what has been seen before.
SLACK_BYTES = 64_000_000


@dataclasses.dataclass(frozen=True)
class Task:
    """Files of a job, and the digest of its result."""

    program: Path
    keys: Path
    input: Path
    digest: str


class Defect(Exception):
    """What must not happen."""


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def prepared(program: Path, folder: Path) -> list[Task]:
    """Keys, inputs, and what comes out, of each program."""
    (folder / "small.toml").write_text(SMALL)
    tasks = []
    for number, (name, options) in enumerate(PROGRAMS.items()):
        place = folder / name
        place.mkdir()

        def verb(*arguments: str, place: Path = place) -> None:
            done = subprocess.run([program, *arguments], cwd=place, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")

        verb("keygen", *options, "--seed", str(number), "--insecure-seed", "--client", "mine", "--server", "theirs")
        for at in range(INPUTS):
            verb("encrypt", "--client", "mine", "--out", f"in-{at}", "--seed", str(100 + at), "--insecure-seed")
            verb("eval", "--server", "theirs", "--in", f"in-{at}", "--out", f"out-{at}")
            theirs, input_ = place / "theirs", place / f"in-{at}" / "input-000.ct"
            tasks.append(Task(theirs / "program.json", theirs / "evaluation.keys", input_, digest(place / f"out-{at}" / "result-000.ct")))
    return tasks


@dataclasses.dataclass(frozen=True)
class Certificate:
    """For this machine alone, and two days."""

    certificate: Path
    key: Path

    @classmethod
    def made(cls, folder: Path) -> "Certificate":
        """One of its own, trusted by nobody else."""
        both = cls(folder / "cert.pem", folder / "key.pem")
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        command += ["-keyout", str(both.key), "-out", str(both.certificate)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            print("--tls makes a certificate with openssl, which is not here", file=sys.stderr)
            raise SystemExit(ABSENT) from None
        if done.returncode:
            raise SystemExit(f"openssl made no certificate: {done.stderr}")
        both.key.chmod(0o600)
        return both


class Serving:
    """The server, which is killed and started again on the same address."""

    def __init__(self, program: Path, folder: Path, tokens: dict[str, str], request_seconds: int, tls: Certificate | None) -> None:
        self.program, self.folder, self.port, self.request_seconds = program, folder, free_port(), request_seconds
        self.tls = tls
        self.context = ssl.create_default_context(cafile=tls.certificate) if tls else None
        self.tokens = folder / "tokens"
        self.tokens.touch(mode=0o600)
        self.tokens.write_text("".join(f"{name} {token}\n" for name, token in tokens.items()))
        self.log = (folder / "log").open("a")
        self.starts, self.process, self.lock = 0, None, threading.Lock()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def client(self, token: str, **more: float) -> object:
        """A client of the Python package."""
        return CLIENT.Server(self.url, token=token, authority=self.tls.certificate if self.tls else None, **more)

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        options = ["--bind", f"127.0.0.1:{self.port}", "--token-file", self.tokens, "--chunk", "50kB", "--jobs", "2"]
        options += ["--memory", "2GB", "--resident-keys", "500MB", "--threads", "1", "--grace-seconds", "10"]
        options += ["--request-seconds", str(self.request_seconds)]
        if self.tls:
            options += ["--tls-cert", self.tls.certificate, "--tls-key", self.tls.key]
        started = time.monotonic()
        process = subprocess.Popen([self.program, "serve", self.folder / "state", *options], stderr=self.log, stdout=subprocess.DEVNULL)
        with self.lock:
            self.process, self.starts = process, self.starts + 1
        while time.monotonic() < started + 120:
            if process.poll() is not None:
                raise Defect(f"the server does not start again: status {process.returncode}")
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1):
                    return
            except OSError:
                time.sleep(0.05)
        raise Defect("the server does not answer two minutes after its start")

    def end(self, how: signal.Signals) -> None:
        """Ends it, by force or in order."""
        self.process.send_signal(how)
        status = self.process.wait(60)
        if how == signal.SIGTERM and status != 0:
            raise Defect(f"SIGTERM ended the server with status {status}")

    def resident_bytes(self) -> int | None:
        """Its memory now."""
        try:
            found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        except OSError:
            return None
        return int(found[1]) * 1024 if found else None


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Client(threading.Thread):
    """One that does one thing after another until its time is over, and then settles what it was promised."""

    def __init__(self, number: int, serving: Serving, token: str, tasks: list[Task], until: float, seed: int) -> None:
        super().__init__(name=f"client-{number}")
        self.server = serving.client(token, patience=120.0, timeout=30.0)
        self.address, self.token, self.context = ("127.0.0.1", serving.port), token, serving.context
        self.tasks, self.until, self.random = tasks, until, random.Random(seed * 100_003 + number)
        self.promised: dict[str, Task] = {}
        self.canceled: set[str] = set()
        self.did: Counter[str] = Counter()
        self.defects: list[str] = []
        self.other: Client | None = None
        self.pause = 0.5

    def run(self) -> None:
        """Its life."""
        things = [self.job] * 4 + [self.in_pieces, self.broken_off, self.slow, self.damaged, self.cancel, self.foreign, self.removal]
        things += [self.handshake] if self.context else []
        try:
            while time.monotonic() < self.until:
                thing = self.random.choice(things)
                thing()
                self.did[thing.__name__] += 1
                time.sleep(self.random.random() * self.pause)
            self.settle()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a defect of the server or of this
            self.defects.append(f"{self.name}: {type(error).__name__}: {error}")
        finally:
            self.server.close()

    def submitted(self) -> tuple[str, Task]:
        """A job that the server has promised."""
        task = self.random.choice(self.tasks)
        names = [self.server.upload(path) for path in (task.program, task.keys, task.input)]
        while True:
            try:
                job = self.server.submit(names[0], [names[1]], [names[2]])
            except CLIENT.Refused as refused:
                # Another thing of this client has removed a file between: that it is missing is right.
                if refused.status != http.client.UNPROCESSABLE_ENTITY:
                    raise
                names = [self.server.upload(path) for path in (task.program, task.keys, task.input)]
            else:
                self.promised[job["id"]] = task
                return job["id"], task

    def compare(self, name: str, task: Task, results: list) -> None:
        """A result has the right digest, by what the server says and by its bytes."""
        if [result.file for result in results] != [task.digest]:
            raise Defect(f"job {name} gave {results}, wanted {task.digest}")
        got = hashlib.sha256(self.server.request("GET", f"/v1/files/{task.digest}/content")).hexdigest()
        if got != task.digest:
            raise Defect(f"job {name}: bytes of its result have digest {got}")

    def job(self) -> None:
        """Has a job done, and fetches its result."""
        name, task = self.submitted()
        if self.random.random() < 0.5:
            self.compare(name, task, self.server.wait(name))

    def begun(self, bytes_: bytes) -> dict:
        return self.server.ask("POST", "/v1/uploads", {"bytes": len(bytes_), "sha256": hashlib.sha256(bytes_).hexdigest()})

    def odd(self) -> bytes:
        """A file that only this client has; what begins like a description is taken for one until a job reads it."""
        return json.dumps({"of": self.name, "number": self.random.random(), "filler": "x" * self.random.randrange(1, 100_000)}).encode()

    def chunk(self, upload: dict, bytes_: bytes, length: int) -> dict:
        """Sends some bytes from where the server is."""
        offset = upload["received"]
        part = bytes_[offset : offset + length]
        place = f"/v1/uploads/{upload['id']}"
        try:
            there = f"{place}/chunk?offset={offset}&sha256={hashlib.sha256(part).hexdigest()}"
            return json.loads(self.server.request("PUT", there, part, {"Content-Type": "application/octet-stream"}))
        except CLIENT.Refused as refused:
            if refused.status != http.client.CONFLICT:
                raise
            return self.server.ask("GET", place)

    def in_pieces(self) -> None:
        """Uploads in many small chunks; what is taken in has the right bytes."""
        bytes_ = self.odd()
        upload = self.begun(bytes_)
        while upload["state"] == "receiving":
            upload = self.chunk(upload, bytes_, self.random.randrange(1, 50_000))
        while upload["state"] == "checking":
            time.sleep(0.05)
            upload = self.server.ask("GET", f"/v1/uploads/{upload['id']}")
        if upload["state"] != "complete":
            raise Defect(f"an upload is {upload}")
        if self.server.request("GET", f"/v1/files/{upload['sha256']}/content") != bytes_:
            raise Defect(f"file {upload['sha256']} has other bytes than were sent")
        self.server.remove(upload["sha256"])

    def broken_off(self) -> None:
        """Goes away in the middle of a chunk; the rest is taken from where the server is, or the upload is removed."""
        bytes_ = self.odd()
        upload = self.begun(bytes_)
        part = bytes_[: min(len(bytes_), 40_000)]
        self.raw(self.head(upload, part) + part[: self.random.randrange(len(part))])
        upload = self.server.ask("GET", f"/v1/uploads/{upload['id']}")
        if self.random.random() < 0.5:
            try:
                self.server.request("DELETE", f"/v1/uploads/{upload['id']}")
            except CLIENT.Refused as refused:
                # Sent twice around a kill, or its bytes are being written.
                if refused.status not in {http.client.NOT_FOUND, http.client.CONFLICT}:
                    raise
            return
        while upload["state"] == "receiving":
            upload = self.chunk(upload, bytes_, 50_000)

    def head(self, upload: dict, part: bytes) -> bytes:
        sha256 = hashlib.sha256(part).hexdigest()
        lines = [
            f"PUT /v1/uploads/{upload['id']}/chunk?offset=0&sha256={sha256} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/octet-stream",
            f"Content-Length: {len(part)}",
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def raw(self, bytes_: bytes, pause: float = 0.0) -> None:
        """Sends bytes, waits, and goes away without a word."""
        try:
            with socket.create_connection(self.address, 5) as plain:
                stream = self.context.wrap_socket(plain, server_hostname="127.0.0.1") if self.context else plain
                with stream:
                    stream.sendall(bytes_)
                    time.sleep(pause)
        except OSError:
            pass  # it was killed

    def handshake(self) -> None:
        """Begins a handshake and breaks it off or stands still, or sends what is none: others must not wait for it."""
        first = ssl.MemoryBIO()
        hello = self.context.wrap_bio(ssl.MemoryBIO(), first, server_hostname="127.0.0.1")
        try:
            hello.do_handshake()
        except ssl.SSLWantReadError:
            pass  # the hello is written
        bytes_ = self.random.choice([first.read(), b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", self.random.randbytes(300)])
        try:
            with socket.create_connection(self.address, 5) as stream:
                stream.sendall(bytes_[: self.random.randrange(1, len(bytes_) + 1)])
                time.sleep(self.random.random() * 3)
        except OSError:
            pass  # it was killed

    def slow(self) -> None:
        """Stands still in the middle of a request: others must not wait for it."""
        bytes_ = self.odd()
        upload = self.begun(bytes_)
        part = bytes_[:1000]
        self.raw(self.head(upload, part) + part[: len(part) // 2], self.random.random() * 3)
        while upload["state"] == "receiving":
            upload = self.chunk(upload, bytes_, 50_000)

    def damaged(self) -> None:
        """Sends bytes that are not those of their digest: they are refused, and nothing is taken in."""
        bytes_ = self.odd()
        upload = self.begun(bytes_)
        changed = bytearray(bytes_)
        changed[self.random.randrange(len(changed))] ^= 1
        while upload["state"] == "receiving":
            upload = self.chunk(upload, bytes(changed), 50_000)
        while upload["state"] == "checking":
            time.sleep(0.05)
            upload = self.server.ask("GET", f"/v1/uploads/{upload['id']}")
        if upload["state"] != "refused":
            raise Defect(f"an upload with other bytes than announced is {upload['state']}")

    def cancel(self) -> None:
        """Cancels a job that may be anywhere on its way."""
        name, _ = self.submitted()
        self.canceled.add(name)
        time.sleep(self.random.random() * 0.3)
        self.server.cancel(name)

    def foreign(self) -> None:
        """Asks for what another has: it is not there."""
        theirs = list(self.other.promised)
        if not theirs:
            return
        name = self.random.choice(theirs)
        try:
            self.server.job(name)
        except CLIENT.Refused as refused:
            if refused.status != http.client.NOT_FOUND:
                raise
        else:
            raise Defect(f"job {name} of another client was shown")

    def removal(self) -> None:
        """Removes jobs that are over, so that there is room for others. Each is looked at a last time."""
        for name in list(self.promised)[:-1]:
            if self.settled(name, self.promised[name]):
                try:
                    self.server.request("DELETE", f"/v1/jobs/{name}")
                except CLIENT.Refused as refused:
                    if refused.status != http.client.NOT_FOUND:  # sent twice around a kill
                        raise
                del self.promised[name]
                self.canceled.discard(name)
                self.did["settled"] += 1
        try:
            self.server.remove(self.random.choice(self.tasks).digest)
        except CLIENT.Refused as refused:
            if refused.status != http.client.CONFLICT:
                raise

    def settled(self, name: str, task: Task) -> bool:
        """Whether a job is over, as it has to be."""
        job = self.server.job(name)  # one that is lost is refused here
        if "ended" not in job:
            return False
        if job["state"] == "done":
            if [result["file"] for result in job["results"]] != [task.digest]:
                raise Defect(f"job {name} gave {job['results']}, wanted {task.digest}")
        elif not (job["state"] == "cancelled" and name in self.canceled):
            raise Defect(f"job {name} is {job['state']}: {job.get('refusal')}")
        return True

    def settle(self) -> None:
        """Waits for all that was promised."""
        for name, task in self.promised.items():
            start = time.monotonic()
            while not self.settled(name, task):
                if time.monotonic() > start + 300:
                    raise Defect(f"job {name} is {self.server.job(name)['state']} five minutes after the load")
                time.sleep(0.2)
            self.did["settled"] += 1


class Watch(threading.Thread):
    """Looks at the server's memory until it is told to stop."""

    def __init__(self, serving: Serving) -> None:
        super().__init__(name="watch", daemon=True)
        self.serving, self.begin, self.over = serving, time.monotonic(), threading.Event()
        self.seen: list[tuple[float, int]] = []

    def run(self) -> None:
        """Looks."""
        while not self.over.wait(LOOK):
            if resident := self.serving.resident_bytes():
                self.seen.append((time.monotonic() - self.begin, resident))


def disturb(serving: Serving, until: float, every: float, chance: random.Random) -> Counter[str]:
    """Ends the server at random moments, and starts it again, until the time is over."""
    ends: Counter[str] = Counter()
    while (pause := chance.expovariate(1 / every)) < until - time.monotonic():
        time.sleep(pause)
        how = signal.SIGTERM if chance.random() < 0.2 else signal.SIGKILL
        serving.end(how)
        serving.start()
        ends[how.name] += 1
    time.sleep(max(0.0, until - time.monotonic()))
    return ends


def flat(memory: list[tuple[float, int]], begin: float, defects: list[str]) -> dict[str, int]:
    """Memory without kills: the middle half of the samples against the last quarter, by their medians."""
    seen = [resident for at, resident in memory if at >= begin]
    if len(seen) < 30:  # a minute and a half of load: before, what is kept on purpose still grows
        return {}
    quarter = len(seen) // 4
    before, after = statistics.median(seen[quarter : 3 * quarter]), statistics.median(seen[3 * quarter :])
    if after > before + SLACK_BYTES:
        defects.append(f"memory grows from {before} to {after} bytes")
    return {"first": seen[0], "middle": int(before), "last": int(after), "most": max(seen)}


def run(given: argparse.Namespace, folder: Path) -> dict:
    """The load, and what is to be said of it."""
    program = given.program.resolve()
    tasks = prepared(program, folder)
    names = [f"client-{number}" for number in range(given.clients)]
    tokens = {name: secrets.token_hex(32) for name in [*names, "operator"]}
    serving = Serving(program, folder, tokens, given.request_seconds, Certificate.made(folder) if given.tls else None)
    serving.start()
    watch = Watch(serving)
    watch.start()
    begin = time.monotonic()
    # Kills for two thirds of the time; then memory can be seen to be flat.
    calm, until = begin + given.seconds * 2 / 3, begin + given.seconds
    clients = [Client(number, serving, tokens[name], tasks, until, given.seed) for number, name in enumerate(names)]
    for number, client in enumerate(clients):
        client.other = clients[number - 1]
        client.pause = max(0.5, given.clients / 30)  # so that two cores can do what all ask for
        client.start()
    defects: list[str] = []
    ends: Counter[str] = Counter()
    try:
        ends = disturb(serving, calm, given.kill, random.Random(given.seed))
        for client in clients:
            client.join(given.seconds + 600)
            defects += client.defects if not client.is_alive() else [f"{client.name} does not come to its end"]
        operator = serving.client(tokens["operator"])
        counts = operator.request("GET", "/metrics").decode()
        watch.over.set()
        memory = flat(watch.seen, calm - watch.begin, defects)
        serving.end(signal.SIGTERM)
    except Defect as defect:
        defects.append(str(defect))
        counts, memory = "", {}
    finally:
        if serving.process.poll() is None:
            serving.process.kill()
    if "panicked" in (log := (folder / "log").read_text()):
        defects.append(log[log.index("panicked") - 200 :][:2000])
    did = sum((client.did for client in clients), Counter())
    kept = re.findall(r"^limbwise_(jobs\{.*\}|resident_key_\w+|process_resident_bytes) (\d+)", counts, re.MULTILINE)
    times = dict(re.findall(r"^limbwise_((?:plan|job)_seconds_(?:sum|count)) (\S+)", counts, re.MULTILINE))
    statuses: Counter[str] = Counter()
    for line in log.splitlines():
        if found := re.search(r"(?:GET|PUT|POST|DELETE) \S+ (\d{3}) \d+ ms", line):
            statuses[found[1]] += 1
    if statuses.keys() & {"500", "507"}:
        defects.append(f"answers of the server's own fault: {dict(statuses)}")
    return {
        "seconds": given.seconds,
        "clients": given.clients,
        "tls": given.tls,
        "ends": dict(ends),
        "did": dict(sorted(did.items())),
        "answers": dict(sorted(statuses.items())),
        "memory_without_kills": memory,
        "at_the_end": dict(kept),
        "since_the_last_start": times,
        "defects": defects[:20],
    }


def main() -> int:
    """The status for the shell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--seconds", type=float, default=600, help="time of the load (%(default)s)")
    parser.add_argument("--clients", type=int, default=200, help="clients at the same time (%(default)s)")
    parser.add_argument("--kill", type=float, default=15, help="mean seconds between two ends of the server (%(default)s)")
    parser.add_argument("--request-seconds", type=int, default=10, help="the server's; more on a busy machine (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="repeats what clients do, not when (%(default)s)")
    parser.add_argument("--tls", action="store_true", help="over TLS")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="limbwise-soak-") as name:
        report = run(given, Path(name))
    json.dump(report, sys.stdout, indent=2)
    print()
    return int(bool(report["defects"]))


if __name__ == "__main__":
    sys.exit(main())
