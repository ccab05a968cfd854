#!/usr/bin/env python3
"""Where ringrpcd listens beside HTTP on TCP: lines, Unix sockets, stdin and stdout.

Usage: doors_test.py BIN_DIR [unittest arguments]
"""

import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest

from wire_support import BACKENDS, BIN, PATIENCE_S, message, read_response, request, main

RINGRPCD = os.path.join(BIN, "ringrpcd")
SUM = {"jsonrpc": "2.0", "id": 1, "method": "sum", "params": [2, 3]}
FIVE = b'{"jsonrpc":"2.0","result":5,"id":1}\n'


def line(value):
    return json.dumps(value).encode() + b"\n"


def read_line(peer):
    data = b""
    while not data.endswith(b"\n"):
        piece = peer.recv(65536)
        if not piece:
            raise EOFError(data)
        data += piece
    return data


class Folder(unittest.TestCase):
    """Each test has a working directory of its own, where relative paths of sockets lie."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ringrpc-doors-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.processes = []
        self.addCleanup(self.end)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def path(self, name):
        return os.path.join(self.folder, name)

    def popen(self, *arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen([RINGRPCD, *arguments], cwd=self.folder,
                                   stderr=subprocess.PIPE, **options)
        self.processes.append(process)
        return process

    def start(self, *arguments, **options):
        """Returns the process and the lines of its port file, once it serves."""
        name = f"ports-{len(self.processes)}"
        process = self.popen("--port-file", name, *arguments, **options)
        ready, _, _ = select.select([process.stderr], [], [], PATIENCE_S)
        self.assertTrue(ready)
        process.start_line = process.stderr.readline().decode()
        if not os.path.exists(self.path(name)):
            self.fail(process.start_line)
        with open(self.path(name), encoding="ascii") as ports:
            return process, ports.read().splitlines()

    def refused(self, *arguments):
        """Returns the exit code and stderr of a server that does not start."""
        done = subprocess.run([RINGRPCD, *arguments], cwd=self.folder, capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        # What is wrong with a flag is told with a hint.
        hint = "Run with --help" in done.stderr
        self.assertEqual(2 if hint else 1, done.stderr.strip().count("\n") + 1, done.stderr)
        return done.returncode, done.stderr

    def connect(self, path):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(PATIENCE_S)
        self.addCleanup(peer.close)
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            peer.connect(path)
        finally:
            os.chdir(before)
        return peer

    def stop(self, process, code=0, number=signal.SIGTERM):
        process.send_signal(number)
        self.assertEqual(code, process.wait(PATIENCE_S))


class Listeners(Folder):
    def test_the_port_file_and_the_start_line_have_the_listeners_in_the_order_given(self):
        for io in BACKENDS:
            process, ports = self.start(
                "--io", io, "--tcp", "127.0.0.1:0", "--unix", "a", "--listen", "[::1]:0",
                "--unix-http", self.path("b"), "--unix", "c", "--listen", "127.0.0.1:0")
            words = [one.split(" ", 1) for one in ports]
            self.assertEqual(["tcp", "unix", "http", "unix-http", "unix", "http"],
                             [kind for kind, _ in words])
            self.assertEqual(["a", self.path("b"), "c"], [words[i][1] for i in (1, 3, 4)])
            self.assertIn(f"tcp://127.0.0.1:{words[0][1]} unix:a http://[::1]:{words[2][1]} "
                          f"unix-http:{self.path('b')} unix:c http://127.0.0.1:{words[5][1]},",
                          process.start_line)
            with socket.create_connection(("127.0.0.1", int(words[0][1])), PATIENCE_S) as peer:
                peer.sendall(line(SUM))
                self.assertEqual(FIVE, read_line(peer))
            for path in ("a", "c"):
                peer = self.connect(path)
                peer.sendall(line(SUM))
                self.assertEqual(FIVE, read_line(peer))
            peer = self.connect("b")
            peer.sendall(request(message("sum", [2, 3])))
            self.assertEqual(FIVE.strip(), read_response(peer)[1])
            self.stop(process)

    def test_without_http_nothing_listens_on_the_default_port(self):
        process, ports = self.start("--tcp", "127.0.0.1:0")
        self.assertEqual(1, len(ports))
        self.assertNotIn("http://", process.start_line)
        self.stop(process)

    def test_all_workers_share_one_path(self):
        for io in BACKENDS:
            process, _ = self.start("--io", io, "--workers", "3", "--unix", "shared")
            peers = [self.connect("shared") for _ in range(60)]
            for peer in peers:
                peer.sendall(line(SUM))
            for peer in peers:
                self.assertEqual(FIVE, read_line(peer))
            self.stop(process)

    def test_ringload_and_ringcall_speak_all_of_them(self):
        process, ports = self.start("--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--unix",
                                    "s", "--unix-http", "t")
        http, tcp = (one.split()[1] for one in ports[:2])
        for url in (f"http://127.0.0.1:{http}/rpc", f"tcp://127.0.0.1:{tcp}", "unix:s",
                    "unix-http:t"):
            for program, arguments in (
                    ("ringload", ("--requests", "300", "--check", "1", "--connections", "3",
                                  "--depth", "4")),
                    ("ringload", ("--requests", "50", "--batch", "5")),
                    ("ringcall", ("sum", "[2,3]"))):
                done = subprocess.run([os.path.join(BIN, program), url, *arguments],
                                      cwd=self.folder, capture_output=True, text=True,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(0, done.returncode, (url, done.stdout, done.stderr))
        # Without a body it is the same call everywhere.
        done = subprocess.run([os.path.join(BIN, "ringload"), f"ws://127.0.0.1:{http}/rpc",
                               "--requests", "50"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(0, done.returncode, (done.stdout, done.stderr))
        done = subprocess.run([os.path.join(BIN, "ringload"), "unix:s", "--body",
                               '{"jsonrpc":"2.0","method":"sum"}'], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(2, done.returncode, done.stderr)
        self.stop(process)

    def test_a_browser_is_no_client_of_lines(self):
        process, ports = self.start("--tcp", "127.0.0.1:0")
        with socket.create_connection(("127.0.0.1", int(ports[0].split()[1])), 5) as peer:
            peer.sendall(request(message("sum", [2, 3]) + "\n"))
            answer = b""
            while piece := peer.recv(4096):
                answer += piece
        self.assertIn(b'"reason":"http"', answer)
        self.assertEqual(1, answer.count(b"\n"))
        self.stop(process)

    def test_local_names_are_good_hosts_on_a_path_and_others_are_not(self):
        process, _ = self.start("--unix-http", "web")
        for host, status in ((b"localhost", b"200"), (b"127.0.0.1:99", b"200"),
                             (b"evil.example", b"403")):
            peer = self.connect("web")
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
            self.assertIn(b"HTTP/1.1 " + status, read_response(peer)[0])
        self.stop(process)


class Paths(Folder):
    def test_a_socket_is_its_owners_alone_unless_told_otherwise(self):
        for umask in (0o000, 0o022, 0o777):
            for flag, mode in (((), 0o600), (("--unix-mode", "0666"), 0o666),
                               (("--unix-mode", "660"), 0o660)):
                process, _ = self.start("--unix", "s", *flag, umask=umask)
                self.assertEqual(mode, stat.S_IMODE(os.stat(self.path("s")).st_mode))
                self.stop(process)

    def test_modes_are_octal_permissions(self):
        for text in ("", "8", "888", "07777", "1777", "rw", "-600"):
            code, errors = self.refused("--unix", "s", f"--unix-mode={text}")
            self.assertEqual(2, code, errors)

    def test_the_path_is_gone_after_the_end(self):
        for io in BACKENDS:
            process, _ = self.start("--io", io, "--unix", "s", "--unix-http", "t")
            self.assertEqual({"s", "t"}, {"s", "t"} & set(os.listdir(self.folder)))
            self.stop(process)
            self.assertEqual(set(), {"s", "t"} & set(os.listdir(self.folder)))

    def test_a_path_that_somebody_serves_is_in_use(self):
        first, _ = self.start("--unix", "s")
        for io in BACKENDS:
            code, errors = self.refused("--io", io, "--unix", "s")
            self.assertEqual(3, code)
            self.assertIn("address in use", errors)
        peer = self.connect("s")
        peer.sendall(line(SUM))
        self.assertEqual(FIVE, read_line(peer))
        self.stop(first)

    def test_what_a_killed_server_left_is_replaced(self):
        for io in BACKENDS:
            first, _ = self.start("--io", io, "--unix", "s")
            first.kill()
            first.wait()
            self.assertTrue(stat.S_ISSOCK(os.stat(self.path("s")).st_mode))
            second, _ = self.start("--io", io, "--unix", "s")
            peer = self.connect("s")
            peer.sendall(line(SUM))
            self.assertEqual(FIVE, read_line(peer))
            self.stop(second)

    def test_what_is_no_socket_is_left_alone(self):
        with open(self.path("file"), "w", encoding="ascii") as file:
            file.write("precious")
        os.mkdir(self.path("folder"))
        os.symlink("nowhere", self.path("link"))
        os.mkfifo(self.path("fifo"))
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(datagrams.close)
        datagrams.bind(self.path("datagrams"))
        for name in ("file", "folder", "link", "fifo", "datagrams"):
            for flag in ("--unix", "--unix-http"):
                code, errors = self.refused(flag, name)
                self.assertEqual(3, code, errors)
                self.assertIn("is left alone", errors)
                self.assertTrue(os.path.lexists(self.path(name)), name)
        with open(self.path("file"), encoding="ascii") as file:
            self.assertEqual("precious", file.read())

    def test_a_path_that_cannot_be_one_is_wrong_usage(self):
        longest = "x" * 107
        process, _ = self.start("--unix", longest)
        self.stop(process)
        code, errors = self.refused("--unix", longest + "x")
        self.assertEqual(2, code)
        self.assertIn("108 bytes", errors)
        self.assertIn("107", errors)
        self.assertEqual(2, self.refused("--unix", "")[0])
        self.assertEqual(2, self.refused("--unix-http", "a\nb")[0])

    def test_a_folder_that_is_not_there_is_told(self):
        code, errors = self.refused("--unix", "nowhere/s")
        self.assertEqual(3, code)
        self.assertIn("folder", errors)

    def test_the_path_of_a_successor_is_left_alone(self):
        first, _ = self.start("--unix", "s")
        os.unlink(self.path("s"))
        second, _ = self.start("--unix", "s")
        self.stop(first)
        peer = self.connect("s")
        peer.sendall(line(SUM))
        self.assertEqual(FIVE, read_line(peer))
        self.stop(second)

    def test_of_rivals_for_a_stale_path_one_has_it(self):
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(self.path("s"))
        stale.close()
        rivals = [self.popen("--unix", "s", "--workers", "1") for _ in range(8)]
        ends = []
        deadline = time.monotonic() + PATIENCE_S
        while len(ends) < 7 and time.monotonic() < deadline:
            ends = [one.poll() for one in rivals if one.poll() is not None]
        self.assertEqual([3] * 7, ends)
        peer = self.connect("s")
        peer.sendall(line(SUM))
        self.assertEqual(FIVE, read_line(peer))


class Stdio(Folder):
    def talk(self, *arguments, stdin, **options):
        """Returns what stands on stdout once the server has ended by itself."""
        process = self.popen("--stdio", "rpc", *arguments, stdin=stdin, **options)
        out, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(0, process.returncode, errors)
        self.assertEqual(1, errors.count(b"\n"), errors)
        self.assertIn(b"listening on stdio,", errors)
        return out

    def test_a_file_is_answered_to_its_end(self):
        with open(self.path("in"), "wb") as file:
            for i in range(5000):
                file.write(line({**SUM, "id": i, "params": [i, 1]}))
            file.write(b'{"jsonrpc":"2.0","id":"last","method":"sum","params":[1,1]}')
        for io in BACKENDS:
            with open(self.path("in"), "rb") as file, open(self.path("out"), "wb") as out:
                self.assertIsNone(self.talk("--io", io, stdin=file, stdout=out))
            with open(self.path("out"), "rb") as out:
                answers = [json.loads(one) for one in out.read().splitlines()]
            self.assertEqual([{"jsonrpc": "2.0", "result": i + 1, "id": i} for i in range(5000)] +
                             [{"jsonrpc": "2.0", "result": 2, "id": "last"}], answers)

    def test_an_empty_stdin_is_an_end(self):
        for io in BACKENDS:
            self.assertEqual(b"", self.talk("--io", io, stdin=subprocess.DEVNULL))

    def test_a_pipe_is_answered_as_it_comes(self):
        for io in BACKENDS:
            process = self.popen("--stdio", "rpc", "--io", io, stdin=subprocess.PIPE, bufsize=0)
            for _ in range(3):
                process.stdin.write(line(SUM))
                self.assertEqual(FIVE, process.stdout.readline())
            process.stdin.close()
            self.assertEqual(b"", process.stdout.read())
            self.assertEqual(0, process.wait(PATIENCE_S))

    def test_calls_that_sleep_are_answered_after_the_end_of_input(self):
        calls = [{**SUM, "id": i, "method": "sleep", "params": [300 - 100 * i]} for i in range(3)]
        for io in BACKENDS:
            process = self.popen("--stdio", "rpc", "--io", io, stdin=subprocess.PIPE)
            out, _ = process.communicate(b"".join(line(one) for one in calls), PATIENCE_S)
            self.assertEqual({0, 1, 2}, {json.loads(one)["id"] for one in out.splitlines()})
            self.assertEqual(0, process.returncode)

    def test_a_large_answer_waits_for_a_slow_reader(self):
        size = 8_000_000
        for io in BACKENDS:
            process = self.popen("--stdio", "rpc", "--io", io, stdin=subprocess.PIPE, bufsize=0)
            process.stdin.write(line({**SUM, "method": "blob", "params": [size]}))
            process.stdin.close()
            received = 0
            while piece := process.stdout.read(65536):
                received += len(piece)
            self.assertEqual(size + len('{"jsonrpc":"2.0","result":"","id":1}\n'), received)
            self.assertEqual(0, process.wait(PATIENCE_S))

    def test_a_signal_ends_it_though_stdin_is_open(self):
        for io in BACKENDS:
            for number in (signal.SIGTERM, signal.SIGINT):
                process = self.popen("--stdio", "rpc", "--io", io, stdin=subprocess.PIPE, bufsize=0)
                process.stdin.write(line(SUM))
                self.assertEqual(FIVE, process.stdout.readline())
                self.stop(process, 0, number)

    def test_a_reader_that_goes_ends_it(self):
        for io in BACKENDS:
            process = self.popen("--stdio", "rpc", "--io", io, stdin=subprocess.PIPE, bufsize=0)
            process.stdin.write(line(SUM))
            self.assertEqual(FIVE, process.stdout.readline())
            process.stdout.close()
            self.assertEqual(0, process.wait(PATIENCE_S))

    def test_other_listeners_serve_beside_it(self):
        for io in BACKENDS:
            process, ports = self.start("--stdio", "rpc", "--io", io, "--workers", "2", "--tcp",
                                        "127.0.0.1:0", stdin=subprocess.PIPE, bufsize=0)
            self.assertEqual(1, len(ports))
            with socket.create_connection(("127.0.0.1", int(ports[0].split()[1])), 5) as peer:
                process.stdin.write(line(SUM))
                self.assertEqual(FIVE, process.stdout.readline())
                peer.sendall(line(SUM))
                self.assertEqual(FIVE, read_line(peer))
                process.stdin.close()
                self.assertEqual(0, process.wait(PATIENCE_S))

    def test_without_stdin_or_stdout_it_does_not_start(self):
        for closed in (0, 1):
            done = subprocess.run([RINGRPCD, "--stdio", "rpc"], stderr=subprocess.PIPE,
                                  preexec_fn=lambda fd=closed: os.close(fd), timeout=PATIENCE_S,
                                  check=False)
            self.assertEqual(3, done.returncode, done.stderr)
            self.assertIn(b"stdin", done.stderr)

    def test_a_terminal_is_a_stdin(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        process = self.popen("--stdio", "rpc", stdin=slave)
        os.close(slave)
        os.write(master, line(SUM))
        self.assertEqual(FIVE, process.stdout.readline())
        os.write(master, b"\x04")  # End of input, at the beginning of a line.
        self.assertEqual(b"", process.stdout.read())
        self.assertEqual(0, process.wait(PATIENCE_S))

    def test_what_it_serves_is_said(self):
        self.assertEqual(2, self.refused("--stdio", "mcp")[0])
        code = subprocess.run([RINGRPCD, "--stdio", "xml"], capture_output=True, check=False,
                              timeout=PATIENCE_S).returncode
        self.assertEqual(2, code)


if __name__ == "__main__":
    main()
