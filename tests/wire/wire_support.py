"""What the tests of this folder share: a running ringrpcd, and ways to take things away from it."""

import ctypes
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/dev/bin"
BACKENDS = ("uring", "epoll")
PATIENCE_S = 60  # It only ends a test that would hang.

IO_URING_SETUP = 425
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
BPF_LOAD_WORD, BPF_JUMP_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06
SECCOMP_ALLOW, SECCOMP_ERRNO = 0x7FFF0000, 0x00050000


class Server:
    """ringrpcd on a free port, with its start line."""

    def __init__(self, *arguments, before=None):
        self.folder = tempfile.mkdtemp(prefix="ringrpc-wire-")
        os.chmod(self.folder, 0o777)
        port_file = os.path.join(self.folder, "ports")
        self.process = subprocess.Popen(
            [os.path.join(BIN, "ringrpcd"), "--listen", "127.0.0.1:0", "--port-file", port_file,
             *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=before)
        self.errors = b""
        # The start line comes when it serves, and the port file is complete by then or soon.
        while b"\n" not in self.errors and self.process.poll() is None:
            ready, _, _ = select.select([self.process.stderr], [], [], PATIENCE_S)
            piece = os.read(self.process.stderr.fileno(), 4096) if ready else b""
            if not piece:
                break
            self.errors += piece
        self.start_line = self.errors.decode().split("\n")[0]
        found = re.search(r"127\.0\.0\.1:(\d+)", self.start_line)
        self.port = int(found.group(1)) if found else 0
        self.url = f"http://127.0.0.1:{self.port}/rpc"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        shutil.rmtree(self.folder)

    def stop(self, number=signal.SIGTERM):
        """Returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def connect(self):
        peer = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return peer


    def metric(self, name):
        """The sum of one of its own figures over all labels."""
        with self.connect() as peer:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            _, text = read_response(peer)
        found = re.findall(rf"(?m)^{name}(?:{{.*}})? (\S+)$", text.decode())
        return sum(map(float, found))

    def wait_until(self, name, value):
        """Waits until one of its figures has that value."""
        end = time.monotonic() + PATIENCE_S
        while self.metric(name) != value:
            if self.process.poll() is not None or time.monotonic() > end:
                raise TimeoutError(f"{name} is {self.metric(name)}, not {value}")
            time.sleep(0.01)


def message(method, params=None, token=1):
    text = {"jsonrpc": "2.0", "id": token, "method": method}
    if params is not None:
        text["params"] = params
    return json.dumps(text)


def request(body, *fields):
    more = "".join(f"{field}\r\n" for field in fields)
    return (f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def read_response(peer):
    """Returns (head, body) of one response with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = peer.recv(65536)
        if not piece:
            raise EOFError(data)
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1))
    while len(body) < length:
        body += peer.recv(65536)
    return head, body


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          **options)


def need(program):
    """Returns the program's path, or skips the test and says so."""
    path = shutil.which(program)
    if path is None:
        raise unittest.SkipTest(f"{program} is not installed")
    return path


def refuse_io_uring(number):
    """Makes io_uring_setup fail with this errno, in this process and for ever."""
    def rule(code, true, false, value):
        return struct.pack("HBBI", code, true, false, value)
    program = (rule(BPF_LOAD_WORD, 0, 0, 0) + rule(BPF_JUMP_EQUAL, 0, 1, IO_URING_SETUP) +
               rule(BPF_RETURN, 0, 0, SECCOMP_ERRNO | number) +
               rule(BPF_RETURN, 0, 0, SECCOMP_ALLOW))
    text = ctypes.create_string_buffer(program)
    header = ctypes.create_string_buffer(struct.pack("HP", 4, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no new privileges")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def main():
    """Runs a file's tests, says each skip, and exits with 77 when nothing else was done."""
    result = unittest.main(exit=False).result
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}", flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.skipped and len(result.skipped) >= result.testsRun else 0)
