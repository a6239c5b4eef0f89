#!/usr/bin/env python3
"""Has a program evaluated by a server: uploads keys and ciphertexts, waits for the job, fetches the results.

    examples/serve_client.py https://HOST:PORT TOKEN_FILE AUTHORITY.pem THEIRS IN OUT

THEIRS is what "limbwise keygen" made for the server, IN what "limbwise encrypt" made. Uploads and downloads go on where they
broke off, also when the server is restarted in between. The whole client as a command: python -m limbwise.client --help.
"""

import sys
from pathlib import Path

from limbwise.client import Server

url, token_file, authority, theirs, inputs, out = sys.argv[1:]
token = Path(token_file).read_text().strip()
keys = [path for path in sorted(Path(theirs).glob("*.keys"))]
with Server(url, token=token, authority=authority) as server:
    program = server.upload(Path(theirs) / "program.json")
    job = server.submit(program, [server.upload(path) for path in keys], [server.upload(path) for path in sorted(Path(inputs).glob("*.ct"))])
    for number, result in enumerate(server.wait(job["id"], tell=lambda job: print(job["state"], file=sys.stderr))):
        print(server.download(result, Path(out) / f"result-{number:03}.ct"))
