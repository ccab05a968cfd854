#!/usr/bin/env python3
"""ringload as a whole, against servers that answer well, badly, or not at all.

Goal:   it always ends by itself, with the exit code and the counts that the server deserves.
Method: small servers in this process; one run of the program for each; no timed assertion (a run
        that never ends is killed after a minute).
"""

import json
import socket
import subprocess
import sys
import threading
import unittest

RINGLOAD = ""
BODY = b'{"jsonrpc":"2.0","result":5,"id":1}'
ERROR = b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}'


def reply(body=BODY, status=b"200 OK"):
    return (b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\nContent-Length: "
            + str(len(body)).encode() + b"\r\n\r\n" + body)


class FakeServer:
    """Runs behave(connection, requests) for each connection: requests yields whole requests."""

    def __init__(self, behave, backlog=128):
        self.behave = behave
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        if behave is not None:
            self.acceptor.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                self.behave(connection, self.read(connection))
            except OSError:
                pass

    def read(self, connection):
        buffer = b""
        while True:
            head, end, rest = buffer.partition(b"\r\n\r\n")
            if end:
                size = 0
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        size = int(line.partition(b":")[2])
                if len(rest) >= size:
                    self.requests.append(head + end + rest[:size])
                    buffer = rest[size:]
                    yield self.requests[-1]
                    continue
            piece = connection.recv(65536)
            if not piece:
                return
            buffer += piece

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Closing does not end an accept() that is under way: its thread would go on listening, or
        # take connections of the next server, whose descriptor has the same number.
        if self.behave is not None:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.acceptor.join()
        self.listener.close()


def always(answer):
    def behave(connection, requests):
        for _ in requests:
            connection.sendall(answer)
    return behave


class RingloadTest(unittest.TestCase):
    def run_program(self, *arguments):
        return subprocess.run([RINGLOAD, *map(str, arguments)], capture_output=True, text=True,
                              timeout=60)

    def load(self, server, *arguments, code):
        done = self.run_program(*arguments, "--json", f"http://127.0.0.1:{server.port}/rpc")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout) if done.stdout else done.stderr

    def test_so_many_requests_are_sent_and_answered(self):
        for connections, depth, threads in ((1, 1, 1), (7, 1, 1), (3, 5, 2), (16, 16, 1)):
            with self.subTest(connections=connections, depth=depth, threads=threads):
                with FakeServer(always(reply())) as server:
                    report = self.load(server, "--requests", 500, "--connections", connections,
                                       "--depth", depth, "--threads", threads, code=0)
                    self.assertEqual(report["answered"], 500)
                    self.assertEqual(len(server.requests), 500)
                    self.assertEqual(len(set(server.requests)), 1)
                    self.assertTrue(server.requests[0].startswith(b"POST /rpc HTTP/1.1\r\nHost: "))

    def test_a_run_by_time_ends_and_measures(self):
        with FakeServer(always(reply())) as server:
            report = self.load(server, "--seconds", 0.2, "--warmup", 0.05, "--connections", 4,
                               code=0)
            self.assertGreater(report["answered"], 0)
            self.assertGreaterEqual(report["replies"], report["answered"])
            self.assertGreater(report["latency_us"]["p50"], 0)

    def test_a_large_body_arrives_whole(self):
        body = json.dumps({"jsonrpc": "2.0", "method": "echo", "params": ["x" * 600_000], "id": 1})
        done = None
        with FakeServer(always(reply())) as server:
            done = self.load(server, "--requests", 6, "--connections", 2, "--depth", 2,
                             "--body-file", self.file(body), code=0)
            self.assertEqual(len(server.requests), 6)
            for request in server.requests:
                self.assertTrue(request.endswith(body.encode()))
        self.assertEqual(done["answered"], 6)

    def file(self, text):
        import tempfile
        handle = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.addCleanup(handle.close)
        handle.write(text)
        handle.flush()
        return handle.name

    def test_large_replies_are_taken_whole(self):
        body = b'{"jsonrpc":"2.0","result":"' + b"x" * 1_000_000 + b'","id":1}'
        with FakeServer(always(reply(body))) as server:
            report = self.load(server, "--requests", 20, "--connections", 2, "--depth", 4, code=0)
            self.assertEqual(report["answered"], 20)

    def test_replies_in_small_pieces_are_put_together(self):
        def behave(connection, requests):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in requests:
                for byte in reply():
                    connection.sendall(bytes([byte]))
        with FakeServer(behave) as server:
            report = self.load(server, "--requests", 20, "--connections", 2, code=0)
            self.assertEqual(report["answered"], 20)

    def test_a_wrong_status_is_an_error(self):
        with FakeServer(always(reply(status=b"500 Internal Server Error"))) as server:
            report = self.load(server, "--requests", 10, "--connections", 2, code=1)
            self.assertEqual(report["errors"]["status"], 10)

    def test_a_json_rpc_error_is_an_error(self):
        with FakeServer(always(reply(ERROR))) as server:
            report = self.load(server, "--requests", 10, "--connections", 2, code=1)
            self.assertEqual(report["errors"]["rpc"], 10)

    def test_a_server_that_closes_is_reported(self):
        def behave(connection, requests):
            for count, _ in enumerate(requests):
                if count == 3:
                    return
                connection.sendall(reply())
        with FakeServer(behave) as server:
            report = self.load(server, "--seconds", 30, "--warmup", 0, "--connections", 4, code=1)
            self.assertEqual(report["errors"]["closed"], 4)
            self.assertEqual(report["errors"]["lost"], 4)
            self.assertEqual(report["answered"], 12)

    def test_one_closed_connection_does_not_end_the_others(self):
        first = threading.Lock()

        def behave(connection, requests):
            fails = first.acquire(blocking=False)
            for count, _ in enumerate(requests):
                if fails and count == 3:
                    return
                connection.sendall(reply())
        with FakeServer(behave) as server:
            report = self.load(server, "--requests", 200, "--connections", 4, code=1)
            self.assertEqual(report["errors"]["closed"], 1)
            self.assertEqual(report["answered"], 199)

    def test_a_server_that_resets_is_reported(self):
        def behave(connection, requests):
            next(requests)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        with FakeServer(behave) as server:
            report = self.load(server, "--requests", 100, "--connections", 4, "--depth", 8, code=1)
            self.assertEqual(report["errors"]["closed"], 4)
            self.assertEqual(report["answered"], 0)

    def test_a_silent_server_is_given_up(self):
        with FakeServer(lambda connection, requests: list(requests)) as server:
            report = self.load(server, "--seconds", 30, "--timeout", 0.3, "--connections", 2,
                               code=1)
            self.assertTrue(report["errors"]["stalled"])
            self.assertEqual(report["errors"]["lost"], 2)

    def test_a_server_that_reads_nothing_is_given_up(self):
        with FakeServer(lambda connection, requests: threading.Event().wait()) as server:
            report = self.load(server, "--seconds", 30, "--timeout", 0.3, "--connections", 2,
                               "--body-file", self.file("x" * 8_000_000), code=1)
            self.assertTrue(report["errors"]["stalled"])

    def test_garbage_is_reported_and_not_followed(self):
        with FakeServer(always(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")) as server:
            report = self.load(server, "--seconds", 30, "--warmup", 0, "--connections", 2, code=1)
            self.assertEqual(report["errors"]["malformed"], 2)

    def test_replies_that_nobody_asked_for_are_reported(self):
        with FakeServer(always(reply() * 2)) as server:
            report = self.load(server, "--seconds", 30, "--warmup", 0, "--connections", 1, code=1)
            self.assertEqual(report["errors"]["malformed"], 1)

    def test_a_chunked_reply_is_reported(self):
        answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        with FakeServer(always(answer)) as server:
            report = self.load(server, "--seconds", 30, "--warmup", 0, "--connections", 1, code=1)
            self.assertEqual(report["errors"]["malformed"], 1)

    def test_refused_connections_are_exit_code_3(self):
        with FakeServer(None) as server:
            server.listener.close()
            self.assertIn("Connection refused", self.load(server, code=3))

    def test_connections_that_never_open_are_exit_code_3(self):
        with FakeServer(None, backlog=0) as server:
            self.assertIn("within the timeout",
                          self.load(server, "--connections", 64, "--timeout", 0.3, code=3))

    def test_an_unknown_host_is_exit_code_3(self):
        self.assertEqual(self.run_program("http://no-such-host.invalid/").returncode, 3)

    def test_wrong_usage_is_exit_code_2(self):
        for arguments in ((), ("localhost",), ("https://localhost/",), ("http://a/", "--nothing"),
                          ("http://a/", "--connections", "0"), ("http://a/", "--depth", "x"),
                          ("http://a/", "--seconds", "-1"), ("http://a/", "--header", "no colon"),
                          ("http://a/", "--threads", "2", "--connections", "1"),
                          ("http://a/", "--requests", "5", "--seconds", "1"),
                          ("http://a/", "--body", "x", "--body-file", "y"),
                          ("http://a/", "--body-file", "/nowhere/at/all"),
                          ("http://a/", "--connections", "1000000", "--depth", "4096")):
            with self.subTest(arguments=arguments):
                done = self.run_program(*arguments)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertNotEqual(done.stderr, "")

    def test_help_and_version_are_exit_code_0(self):
        self.assertIn("--connections", self.run_program("--help").stdout)
        self.assertEqual(self.run_program("--help").returncode, 0)
        self.assertIn("ringload", self.run_program("--version").stdout)

    def test_the_request_can_be_shown(self):
        done = self.run_program("--show-request", "--header", "Host: a", "--header", "B: c",
                                "--method", "PUT", "--body", "{}", "http://127.0.0.1/x")
        self.assertEqual(done.returncode, 0)
        self.assertIn("PUT /x HTTP/1.1\n", done.stdout)
        self.assertIn("Host: a\nB: c\n\n{}", done.stdout)

    def test_the_text_report_names_the_figures(self):
        with FakeServer(always(reply())) as server:
            done = self.run_program("--requests", 10, "--connections", 2, "--server-pid", 1,
                                    f"http://127.0.0.1:{server.port}/rpc")
            self.assertEqual(done.returncode, 0)
            for word in ("answered", "p99.9", "errors", "own", "bytes", "server"):
                self.assertIn(word, done.stdout)


if __name__ == "__main__":
    RINGLOAD = sys.argv.pop(1)
    unittest.main()
