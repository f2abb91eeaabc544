"""Test a query library against captures of game servers.

serve() answers queries as the server in a capture did; check() compares captures
with their goldens. Both run the program qdissect: the one that the environment
variable QDISSECT_BIN names, or else the one in PATH.

    with qdissect.serve("server.pcap") as (host, port):
        assert mylib.info(host, port).map == "ctf_2fort"

Standard library only, Python 3.8 or newer, every system.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import threading
import warnings
from typing import Any, Dict, Iterable, Iterator, List, Optional, Union

__all__ = ["serve", "serve_all", "check", "Server", "Error", "Difference"]

Path = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """qdissect is not installed, refuses its arguments, or cannot read a file."""


class Difference(AssertionError):
    """A capture differs from its golden, or has none."""


class Server(collections.namedtuple("Server", "host port")):
    """A server that answers: a tuple of host and port, with more attributes.

    captured is its address in the capture, protocols are their names. exchanges are
    the requests so far as dictionaries, with their results: see qdissect's
    docs/serving-captures.md. log is their text. Requests are logged just after they
    are answered; all are there once the with statement ended.
    """

    captured: str
    protocols: List[str]
    _lines: List[Dict[str, Any]]

    @property
    def address(self) -> str:
        """host:port, with brackets around an IPv6 address."""
        return ("[%s]:%d" if ":" in self.host else "%s:%d") % self

    @property
    def exchanges(self) -> List[Dict[str, Any]]:
        return [line for line in list(self._lines) if line["type"] == "exchange" and line["to"] == self.address]

    @property
    def log(self) -> str:
        return "\n".join(exchange["text"] for exchange in self.exchanges)


@contextlib.contextmanager
def serve(capture: Path, *, server: Optional[str] = None, **options: Any) -> Iterator[Server]:
    """Answer on loopback as a server in the capture did, until the with statement ends.

    It is the first server that answers in a known protocol, or the one with the
    address server="198.51.100.10:27015" (or "27015") in the capture. Challenges are
    new, replies are split and delayed as in the capture. See serve_all for options.
    """
    with serve_all(capture, server=server, **options) as servers:
        yield next(iter(servers.values()))


@contextlib.contextmanager
def serve_all(
    capture: Path,
    *,
    server: Optional[str] = None,
    delay: bool = True,
    loss: float = 0,
    duplicate: float = 0,
    reorder: float = 0,
    truncate: float = 0,
    seed: Optional[int] = None,
    arguments: Iterable[str] = (),
) -> Iterator[Dict[str, Server]]:
    """Answer as all servers in the capture did, each on a port of its own.

    The dictionary has them by their addresses in the capture. delay=False answers at
    once. loss, duplicate, reorder and truncate are the probabilities, from 0 to 1,
    that this happens to a datagram of a reply; the same seed chooses the same ones.
    arguments are further flags of qdissect serve.
    """
    command = [_program(), "serve", "--format", "jsonl", "--until-eof", "--rate", "1000000"]
    if server is not None:
        command += ["--server", str(server)]
    if not delay:
        command += ["--no-delay"]
    for flag, value in (("loss", loss), ("duplicate", duplicate), ("reorder", reorder), ("truncate", truncate)):
        if value:
            command += ["--" + flag, str(value)]
    if seed is not None:
        command += ["--seed", str(seed)]
    command += [*arguments, "--", os.fspath(capture)]

    process = _start(command)
    lines: List[Dict[str, Any]] = []
    failed = False
    try:
        first = process.stdout.readline()
        if not first:
            raise Error(_message(process.communicate()[1]))
        servers = {}
        for on in json.loads(first)["servers"]:
            one = Server(on["host"], on["port"])
            one.captured, one.protocols, one._lines = on["captured"], on["protocols"], lines
            servers[one.captured] = one

        def read() -> None:
            for line in process.stdout:
                lines.append(json.loads(line))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield servers
        except Exception as error:
            failed = True
            said = _end(process, reader)
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note("\n".join(filter(None, [_note(os.fspath(capture), lines), said])))
            raise
        finally:
            said = _end(process, reader)
            if said and not failed:
                warnings.warn(said, stacklevel=3)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def check(
    *paths: Path,
    ignore: Iterable[str] = (),
    relative_time: bool = False,
    strict: bool = False,
    update: Optional[bool] = None,
) -> None:
    """Compare captures, or all captures of folders, with their goldens.

    Raises Difference, an AssertionError with the differences, unless all are equal.
    The golden of x.pcap is x.golden.jsonl; QDISSECT_UPDATE=1 in the environment, or
    update=True, writes it. ignore has paths of values that may differ, such as
    "a2s.players[*].score", relative_time counts times from the first packet, and
    strict also compares the wording.
    """
    if update is None:
        update = os.environ.get("QDISSECT_UPDATE", "") not in ("", "0", "false")
    command = [_program(), "check"]
    command += ["--update"] if update else []
    command += ["--relative-time"] if relative_time else []
    command += ["--strict"] if strict else []
    for path in ignore:
        command += ["--ignore", path]
    process = _start([*command, "--", *map(os.fspath, paths)])
    out, err = process.communicate()
    if process.returncode == 1:
        raise Difference("%s\nIf it is right as it is now: run the test with QDISSECT_UPDATE=1" % out.strip())
    if process.returncode != 0:
        raise Error("\n".join(filter(None, [out.strip(), _message(err)])))


def _program() -> str:
    program = os.environ.get("QDISSECT_BIN") or shutil.which("qdissect")
    if not program:
        raise Error(
            "the program qdissect is not in PATH, and QDISSECT_BIN is not set; "
            "go install github.com/qdissect/qdissect/cmd/qdissect@latest installs it"
        )
    return program


def _start(command: List[str]) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        raise Error("%s: %s" % (command[0], error.strerror)) from None


def _end(process: "subprocess.Popen[str]", reader: threading.Thread) -> str:
    """End serve, which ends with its standard input. Return what it complained about."""
    if process.stdin.closed:
        return ""
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    reader.join()
    said = process.stderr.read()
    return _message(said) if said else ""


def _message(text: str) -> str:
    lines = [line[len("qdissect: ") :] if line.startswith("qdissect: ") else line for line in text.strip().splitlines()]
    return "\n".join(lines) or "qdissect ended without a message"


def _note(capture: str, lines: List[Dict[str, Any]]) -> str:
    log: List[str] = []
    for text, equal in itertools.groupby(line["text"] for line in lines if line["type"] == "exchange"):
        more = len(list(equal)) - 1  # clients that take every reply for a challenge ask for ever
        log += [text] + (["… %d more like this" % more] if more else [])
    if not log:
        return "qdissect served %s and received no request" % capture
    end = ["… further requests are not shown"] if len(log) > 100 else []
    return "\n  ".join(["qdissect served %s and received:" % capture, *log[:100], *end])
