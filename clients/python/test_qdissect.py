"""Tests of the module: python3 -m unittest discover clients/python. They build the
program of this checkout unless QDISSECT_BIN is set."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import types
import unittest
import warnings

import qdissect

ROOT = pathlib.Path(__file__).resolve().parents[2]
PCAPS = ROOT / "testdata" / "pcaps"
SOURCE = PCAPS / "a2s" / "source.pcap"
MANY = PCAPS / "quake3-master" / "q3-master-dpmaster.pcap"
INFO = b"\xff\xff\xff\xffTSource Engine Query\0"
built = tempfile.TemporaryDirectory()


def setUpModule():
    os.environ.pop("QDISSECT_UPDATE", None)
    if not os.environ.get("QDISSECT_BIN"):
        program = os.path.join(built.name, "qdissect.exe")
        subprocess.run(["go", "build", "-o", program, "./cmd/qdissect"], cwd=ROOT, check=True)
        os.environ["QDISSECT_BIN"] = program


def tearDownModule():
    built.cleanup()


def ask(host, port, *requests):
    """Send requests from one socket and return a reply to each."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(10)
        replies = []
        for request in requests:
            s.sendto(request(replies[-1]) if callable(request) else request, (host, port))
            replies.append(s.recv(65536))
        return replies


def info(host, port):
    """Stand for the function of a query library."""
    reply = ask(host, port, INFO, lambda challenge: INFO + challenge[5:])[1]
    assert reply[:5] == b"\xff\xff\xff\xffI"
    name, map = reply[6:].split(b"\0")[:2]
    return types.SimpleNamespace(name=name, map=map.decode())


class Serve(unittest.TestCase):
    def test_readme(self):
        """The example of the README runs as it is."""
        sys.modules["mylib"] = types.SimpleNamespace(info=info)
        old = os.getcwd()
        with tempfile.TemporaryDirectory() as dir:
            os.mkdir(os.path.join(dir, "testdata"))
            shutil.copy(SOURCE, os.path.join(dir, "testdata", "server.pcap"))
            os.chdir(dir)
            try:
                readme = ROOT / "clients" / "python" / "README.md"
                examples = [
                    block
                    for block in re.findall("```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.S)
                    if "qdissect.serve" in block
                ]
                self.assertEqual(len(examples), 1, readme)
                scope = {}
                exec(examples[0], scope)
                scope["test_info"]()
            finally:
                os.chdir(old)

    def test_challenge(self):
        with qdissect.serve(SOURCE) as server:
            host, port = server
            challenge, reply = ask(host, port, INFO, lambda challenge: INFO + challenge[5:])
            self.assertEqual(challenge[:5], b"\xff\xff\xff\xffA")
            self.assertIn(b"ctf_2fort", reply)
        self.assertEqual((server.captured, server.protocols), ("198.51.100.10:27015", ["a2s"]))
        self.assertEqual([e["result"] for e in server.exchanges], ["challenged", "answered"])
        self.assertIn("info request", server.log)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind((host, port))  # it has ended

    def test_split(self):
        rules = b"\xff\xff\xff\xffV"
        with qdissect.serve(PCAPS / "a2s" / "a2s-goldsrc-split.pcap", delay=False, duplicate=1) as (host, port):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.settimeout(10)
                s.sendto(rules + b"\xff\xff\xff\xff", (host, port))
                challenge = s.recv(65536)
                self.assertEqual(challenge, s.recv(65536))
                s.sendto(rules + challenge[5:], (host, port))
                self.assertEqual([s.recv(65536)[8] for _ in range(8)], [0x04, 0x04, 0x14, 0x14, 0x24, 0x24, 0x34, 0x34])

    def test_many(self):
        request = b"\xff\xff\xff\xffgetinfo mine"
        with qdissect.serve_all(MANY, delay=False) as servers:
            self.assertEqual(len(servers), 9)
            self.assertIn(b"OA 27960", ask(*servers["10.77.0.1:27960"], request)[0])
        self.assertEqual([len(s.exchanges) for s in servers.values()].count(1), 1)
        with qdissect.serve(MANY, server="10.77.0.22:27962", arguments=["--listen", "127.0.0.1"]) as server:
            self.assertEqual(server.captured, "10.77.0.22:27962")

    def test_failing(self):
        """An exception of the block says what was asked."""
        with self.assertRaises(ValueError) as caught:
            with qdissect.serve(SOURCE, delay=False) as (host, port):
                ask(host, port, INFO)
                raise ValueError("mine")
        if hasattr(caught.exception, "__notes__"):
            self.assertRegex(caught.exception.__notes__[0], r"source.pcap and received:\n  127.0.0.1:\d+ > 127.0.0.1:\d+  A2S  info request")

    def test_trouble(self):
        for arguments, said in (
            (("nowhere.pcap",), "nowhere.pcap: no such file|cannot find the file"),
            ((SOURCE, "192.0.2.1:1"), "no such server answers in the capture"),
            (("-q",), "-q: "),
        ):
            with self.assertRaisesRegex(qdissect.Error, said):
                with qdissect.serve(arguments[0], server=(*arguments, None)[1]):
                    self.fail("it serves")
        program = os.environ["QDISSECT_BIN"]
        try:
            os.environ["QDISSECT_BIN"] = os.path.join(built.name, "none")
            with self.assertRaisesRegex(qdissect.Error, "none: "):
                qdissect.check("x")
            path = os.environ["PATH"]
            os.environ["QDISSECT_BIN"] = os.environ["PATH"] = ""
            with self.assertRaisesRegex(qdissect.Error, "not in PATH.*go install"):
                qdissect.check("x")
        finally:
            os.environ["QDISSECT_BIN"], os.environ["PATH"] = program, path

    def test_damaged(self):
        with tempfile.TemporaryDirectory() as dir:
            short = pathlib.Path(dir, "short.pcap")
            short.write_bytes(SOURCE.read_bytes()[:1500])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with qdissect.serve(short, delay=False) as (host, port):
                    self.assertEqual(info(host, port).map, "ctf_2fort")
            self.assertIn("cut short", str(caught[0].message))


class Check(unittest.TestCase):
    def test_check(self):
        with tempfile.TemporaryDirectory() as dir:
            capture = pathlib.Path(dir, "x.pcap")
            shutil.copy(SOURCE, capture)
            with self.assertRaisesRegex(AssertionError, "no golden"):
                qdissect.check(dir)
            os.environ["QDISSECT_UPDATE"] = "1"
            try:
                qdissect.check(dir)
            finally:
                del os.environ["QDISSECT_UPDATE"]
            qdissect.check(capture, strict=True)
            capture.write_bytes(SOURCE.read_bytes().replace(b"ctf_2fort", b"ctf_3fort", 1))
            with self.assertRaisesRegex(qdissect.Difference, 'a2s.map: "ctf_2fort" → "ctf_3fort"(.|\n)*QDISSECT_UPDATE=1'):
                qdissect.check(dir)
            qdissect.check(dir, ignore=["**.map"], relative_time=True)
            with self.assertRaisesRegex(qdissect.Error, "nowhere"):
                qdissect.check(dir, "nowhere")


if __name__ == "__main__":
    unittest.main()
