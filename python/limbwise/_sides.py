"""What compiled networks and forests share: a folder of their own, keys, and the two sides."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise._workloads import ClientFiles, PathLike, ServerFiles, Workload
from limbwise.errors import ParamsError

Numbers = npt.NDArray[np.float64]


class Compiled:
    """A model that was compiled for so many samples at once."""

    workload: Workload

    def __init__(self, path: Path, samples: Numbers, home: tempfile.TemporaryDirectory[str]) -> None:
        self.path, self.samples, self._home = path, len(samples), home
        self._numbers = samples.size // max(len(samples), 1)

    def _write(self, name: str, values: npt.ArrayLike) -> Path:
        path = Path(self._home.name) / f"{name}.npy"
        np.save(path, np.asarray(values, dtype=np.float64))
        return path

    def keygen(
        self, client: PathLike | None = None, server: PathLike | None = None, *, passphrase: str | None = None
    ) -> tuple[Client, Server]:
        """Make keys and return the two sides, each with a directory of its own.

        Args:
            client: directory of the client; one that goes with this object by default.
            server: directory of the server; the same.
            passphrase: encrypts the secret key.
        """
        home = Path(self._home.name)
        client = home / "client" if client is None else client
        server = home / "server" if server is None else server
        theirs, ours = self.workload.keygen(client, server, passphrase=passphrase)
        return Client(theirs, (self.samples, self._numbers), self._home), Server(ours, self.path, self._home)


class Client:
    """The client's side: encrypts samples and decrypts outputs."""

    def __init__(self, files: ClientFiles, samples: tuple[int, int], home: tempfile.TemporaryDirectory[str]) -> None:
        self.files, (self.samples, self._numbers) = files, samples
        self._home, self._count = home, 0

    def encrypt(self, samples: npt.ArrayLike) -> Path:
        """Return the directory of the encrypted samples, as many as the model was compiled for.

        Raises:
            ParamsError: another number of samples, or numbers outside the calibrated range.
        """
        values = np.asarray(samples, dtype=np.float64)
        if values.size != self.samples * self._numbers:
            raise ParamsError(
                f"an array of {values.shape}: the model was compiled for {self.samples} samples of {self._numbers} numbers"
            )
        self._count += 1
        data, out = (self.files.directory / f"{name}{self._count}" for name in ("samples", "inputs"))
        path = data.with_suffix(".npy")
        np.save(path, values)
        try:
            self.files.encrypt(out, data=path)
        finally:
            path.unlink()
        return out

    def decrypt(self, results: PathLike, *, inputs: PathLike | None = None) -> Any:
        """Return the outputs, a sample a row; a list of them if the network has several.

        Args:
            results: the directory that the server returned.
            inputs: the directory of the encrypted samples that they are of; by default those that were encrypted last.
        """
        values = [one.values for one in self.files.decrypt(results, inputs=inputs)]
        return values[0] if len(values) == 1 else values


class Server:
    """The server's side: evaluates, and decrypts nothing."""

    def __init__(self, files: ServerFiles, model: Path, home: tempfile.TemporaryDirectory[str]) -> None:
        self.files, self.model = files, model
        self._home, self._count = home, 0
        self._prepared: Path | None = None

    def prepare(self, path: PathLike | None = None) -> Path:
        """Encode the weights once into a file that every call then reads, and return its path.

        Args:
            path: the file; one in the server's directory by default. A file of the same program and weights that is
                there already is taken as it is.

        Raises:
            LimbwiseError: a model that encodes nothing before its inputs come, such as a forest.
        """
        file = self.files.directory / "prepared.limbwise" if path is None else Path(path)
        if not file.exists():
            self.files.prepare(file, weights=self.model)
        self._prepared = file
        return file

    def __call__(self, inputs: PathLike) -> Path:
        """Return the directory of the encrypted outputs."""
        self._count += 1
        out = self.files.directory / f"results{self._count}"
        self.files.evaluate(inputs, out, weights=self.model, prepared=self._prepared)
        return out
