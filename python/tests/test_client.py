"""The client of the server: through kills, over TLS, against a server that is busy or lies."""

import contextlib
import hashlib
import json
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from limbwise.client import Refused, Result, Server, main

TINY = """log_n = 10
levels = [[50], [40], [40]]
special = [50]
dnum = 3
log_scale = 40
[insecure]
reason = "a test of the client"
"""
# Beside the tests, where they are run from the repository.
EXAMPLE = Path(__file__).parents[2] / "examples" / "serve_client.py"
LAYER = ["linear", "--op", "matvec", "--rows", "4", "--cols", "4", "--preset", "tiny.toml"]


def command(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "limbwise", *arguments], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


class Serving:
    """A server of the package in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options, self.bind = folder, options, "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        """Starts it, at the same address as before."""
        start = [sys.executable, "-P", "-m", "limbwise", "serve", "state", "--bind", self.bind, "--threads", "1"]
        self.process = subprocess.Popen([*start, *self.options], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        for line in iter(self.process.stderr.readline, ""):
            if found := re.search(r"listening on (https?://(\S+))", line):
                self.url, self.bind = found[1], found[2]
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        pytest.fail("the server does not start")

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends it."""
        self.process.send_signal(how)
        self.process.wait(60)


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[Serving]:
    server = Serving(folder, *options)
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys, an input, and what comes out."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "tiny.toml").write_text(TINY)
    command(folder, "keygen", *LAYER, "--client", "mine", "--server", "theirs")
    command(folder, "encrypt", "--client", "mine", "--out", "in")
    command(folder, "eval", "--server", "theirs", "--in", "in", "--out", "out")
    return folder


def test_results_come_through_kills(files: Path, tmp_path: Path) -> None:
    theirs, wanted = files / "theirs", (files / "out" / "result-000.ct").read_bytes()
    with serving(tmp_path, "--chunk", "20kB") as process:
        with Server(process.url) as server:
            # A client that broke off in the middle; another goes on where it was.
            keys = (theirs / "evaluation.keys").read_bytes()
            names = {"bytes": len(keys), "sha256": hashlib.sha256(keys).hexdigest()}
            upload = server.ask("POST", "/v1/uploads", names)
            place = f"/v1/uploads/{upload['id']}/chunk?offset=0&sha256={hashlib.sha256(keys[:20_000]).hexdigest()}"
            server.request("PUT", place, keys[:20_000], {"Content-Type": "application/octet-stream"})
        process.end()
        threading.Timer(0.5, process.start).start()
        states: list[str] = []
        with Server(process.url) as server:
            assert server.upload(theirs / "evaluation.keys") == names["sha256"]
            assert [u["received"] for u in server.ask("GET", "/v1/uploads")] == [len(keys)]
            program, given = server.upload(theirs / "program.json"), server.upload(files / "in" / "input-000.ct")
            process.end(signal.SIGTERM)
            process.start()
            results = server.evaluate(program, [names["sha256"]], [given], lambda job: states.append(job["state"]))
            (tmp_path / f"result.ct.{results[0].file[:16]}.part").write_bytes(wanted[:1000])
            assert server.download(results[0], tmp_path / "result.ct").read_bytes() == wanted
            again = server.submit(program, [names["sha256"]], [given])
            assert again["state"] == "done"
            assert server.cancel(again["id"])["state"] == "done"
            server.remove(given)
            server.remove(given)
            with pytest.raises(Refused, match="not there") as refused:
                server.submit(program, [given], [given])
            assert refused.value.status == 422
            assert server.status()["client"] == "default"
        assert states[-1] == "done"


def test_the_server_proves_who_it_is(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("no openssl to make certificates")
    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    own = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    for name in ("server", "other"):
        files_of = ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run([openssl, *new, *own, *files_of], cwd=tmp_path, check=True, capture_output=True)
        (tmp_path / f"{name}.key").chmod(0o600)
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("ada " + "a" * 40 + "\nbob " + "b" * 40)
    options = ["--tls-cert", "server.pem", "--tls-key", "server.key", "--token-file", "token"]
    with serving(tmp_path, *options) as process:
        url = process.url.replace("127.0.0.1", "localhost")
        with Server(url, token="b" * 40, authority=tmp_path / "server.pem") as server:
            assert server.status()["client"] == "bob"
        for authority in (tmp_path / "other.pem", None):
            with pytest.raises(ssl.SSLCertVerificationError), Server(url, authority=authority) as server:
                server.status()
        plain = pytest.raises(ConnectionError, match="answers https://: write https:// in its address")
        with plain, Server(url.replace("https", "http")) as server:
            server.status()
        wrong = pytest.raises(Refused, match="another token")
        with wrong, Server(url, token="c" * 40, authority=tmp_path / "server.pem") as server:
            server.status()
        mine = tmp_path / "mine"
        mine.write_text("a" * 40)
        theirs = files / "theirs"
        paths = ["--program", theirs / "program.json", "--keys", theirs / "evaluation.keys", "--out", tmp_path / "got"]
        more = ["--token-file", mine, "--authority", tmp_path / "server.pem", files / "in" / "input-000.ct"]
        main([url, *map(str, paths), *map(str, more)])
        assert capsys.readouterr().out == f"{tmp_path / 'got' / 'result-000.ct'}\n"
        wanted = (files / "out" / "result-000.ct").read_bytes()
        assert (tmp_path / "got" / "result-000.ct").read_bytes() == wanted
        if EXAMPLE.exists():
            words = [url, mine, tmp_path / "server.pem", theirs, files / "in", tmp_path / "again"]
            example = [sys.executable, "-P", EXAMPLE, *words]
            done = subprocess.run([str(word) for word in example], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert (tmp_path / "again" / "result-000.ct").read_bytes() == wanted
    with serving(tmp_path) as process:
        secure = pytest.raises(ConnectionError, match="answers http://: write http:// in its address")
        with secure, Server(process.url.replace("http", "https")) as server:
            server.status()


class Busy(BaseHTTPRequestHandler):
    """Answers what it was told to, one after another; ``None`` goes away without an answer."""

    answers: list[tuple[int, bytes] | None]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        answer = self.answers.pop(0)
        if answer is None:
            self.close_connection = True
            return
        status, body = answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def busy(*answers: tuple[int, bytes] | None) -> Iterator[str]:
    handler = type("Told", (Busy,), {"answers": list(answers)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_busy_server_is_asked_again_and_one_that_refuses_is_not() -> None:
    with busy((503, b"busy"), None, (502, b""), (200, b'{"a": 1}')) as url, Server(url) as server:
        assert server.ask("GET", "/") == {"a": 1}
    with busy((503, b"busy")) as url, Server(url, patience=-1) as server, pytest.raises(Refused, match="status 503"):
        server.ask("GET", "/")
    problem = {"what": "no", "got": "a", "wanted": "b", "next_step": "c", "status": 200}
    with busy((409, json.dumps(problem).encode())) as url, Server(url) as server:
        with pytest.raises(Refused, match="no; got: a; wanted: b; next_step: c") as refused:
            server.ask("GET", "/")
        assert refused.value.status == 409
    for body in (b"<html>", b"[1]", b"\xff"):
        with busy((404, body)) as url, Server(url) as server, pytest.raises(Refused, match="status 404"):
            server.ask("GET", "/")
    with busy() as url:
        pass
    with pytest.raises(ConnectionError, match=r"no answer in 0\.2 seconds"), Server(url, patience=0.2) as server:
        server.ask("GET", "/")


def test_bytes_of_another_file_are_not_kept(tmp_path: Path) -> None:
    result = Result("result", hashlib.sha256(b"right").hexdigest(), 5)
    with busy((206, b"wrong"), (206, b"ri"), (206, b"ght")) as url, Server(url) as server:
        with pytest.raises(Refused, match="not those of the file"):
            server.download(result, tmp_path / "x")
        assert list(tmp_path.iterdir()) == []
        assert server.download(result, tmp_path / "x").read_bytes() == b"right"


def test_a_server_that_sends_no_parts_of_the_file_is_not_asked_for_ever(tmp_path: Path) -> None:
    result = Result("result", hashlib.sha256(b"right").hexdigest(), 5)
    for body in (b"", b"rightandmore"):
        with busy((206, body)) as url, Server(url) as server, pytest.raises(Refused, match="not the part"):
            server.download(result, tmp_path / "x")
    with Server("http://127.0.0.1:1") as server, pytest.raises(Refused, match="no name of a file"):
        server.download(Result("result", "../../x", 5), tmp_path / "x")
    # What another download left is not taken for a part of this one.
    (tmp_path / f"x.{'0' * 16}.part").write_bytes(b"ot")
    with busy((206, b"right")) as url, Server(url) as server:
        assert server.download(result, tmp_path / "x").read_bytes() == b"right"


def test_a_secret_key_is_not_sent(files: Path, tmp_path: Path) -> None:
    (tmp_path / "harmless.ct").write_bytes((files / "mine" / "secret.key").read_bytes())
    with busy() as url, Server(url) as server, pytest.raises(ValueError, match="is a secret key"):
        server.upload(tmp_path / "harmless.ct")


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://a", "https://me:secret@a", "http://"])
def test_addresses_are_whole(url: str) -> None:
    with pytest.raises(ValueError, match="wanted http://HOST:PORT"):
        Server(url)
    with pytest.raises(ValueError, match="wanted https://"):
        Server("http://a", authority="x.pem")
