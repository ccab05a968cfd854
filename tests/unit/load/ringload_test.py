#!/usr/bin/env python3
"""ringload as a whole, against servers that answer well, badly, or not at all.

Goal:   it always ends by itself, with the exit code and the counts that the server deserves.
Method: small servers in this process; one run of the program for each; no timed assertion (a run
        that never ends is killed after a minute).
"""

import json
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
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
        self.accepted = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/rpc"
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        if behave is not None:
            self.acceptor.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                self.behave(connection, self.read(connection))
            except OSError:
                pass

    def serve_one(self, behave):
        self.behave = behave
        self.serve(self.listener.accept()[0])

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


class MessageServer(FakeServer):
    """The same for lines of JSON and WebSockets: behave(send, messages), and its URL.

    messages yields texts, send(text) sends one.
    """

    def __init__(self, scheme, behave, behind=b""):
        self.scheme, self.behind = scheme, behind  # behind the handshake, at once
        super().__init__(behave)
        self.url = f"{scheme}://127.0.0.1:{self.port}" + ("/rpc" if scheme == "ws" else "")

    def serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as file:
            try:
                if self.scheme == "ws":
                    while file.readline().strip():
                        pass
                    connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + self.behind)
                    self.behave(lambda text, opcode=1: connection.sendall(frame(text, opcode)),
                                frames(file))
                else:
                    self.behave(lambda text: connection.sendall(text.encode() + b"\n"), file)
            except OSError:
                pass


def frame(text, opcode=1):
    data = text if isinstance(text, bytes) else text.encode()
    size = struct.pack("!B", len(data)) if len(data) < 126 else struct.pack("!BH", 126, len(data))
    return bytes([0x80 | opcode]) + size + data


def frames(file):
    while head := file.read(2):
        size = head[1] & 0x7F
        if size >= 126:
            size = int.from_bytes(file.read(2 if size == 126 else 8), "big")
        key = file.read(4)
        data = file.read(size)
        text = bytes(byte ^ key[i % 4] for i, byte in enumerate(data)).decode()
        yield text if head[0] == 0x81 else (head[0] & 15, text)


def result_of(call):
    return 5 if call["method"] == "sum" else call["params"]


def reversing(group, change=lambda call, answer: [answer]):
    """Answers so many messages at a time, the last one first; change() may spoil an answer."""
    def behave(send, messages):
        texts = []
        for message in messages:
            value = json.loads(message)
            calls = value if isinstance(value, list) else [value]
            answers = [answer for call in calls for answer in change(
                call, {"jsonrpc": "2.0", "result": result_of(call), "id": call["id"]})]
            if isinstance(value, list):
                texts.append([json.dumps(answers[::-1])])
            else:
                texts.append([json.dumps(answer) for answer in answers])
            if len(texts) == group:
                for text in (text for few in texts[::-1] for text in few):
                    send(text)
                texts.clear()
    return behave


RESET = b"\1\0\0\0\0\0\0\0"  # of SO_LINGER: closing resets


def answering(change=lambda call, answer: answer):
    """Answers each call with 5 and its own id, a batch with an array; change may spoil it."""
    def behave(connection, requests):
        for request in requests:
            body = json.loads(request.partition(b"\r\n\r\n")[2])
            calls = body if isinstance(body, list) else [body]
            answers = [change(call, {"jsonrpc": "2.0", "result": 5, "id": call["id"]})
                       for call in calls if "id" in call]
            if not answers:
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            else:
                text = json.dumps(answers if isinstance(body, list) else answers[0])
                connection.sendall(reply(text.encode()))
    return behave


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
        done = self.run_program(*arguments, "--json", server.url)
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
            self.assertEqual(report["replies"], report["answered"])
            self.assertGreater(report["outside"]["replies"], 0)
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
            self.assertEqual(report["errors"]["by_status"], {"500": 10})
            self.assertIn("500 Internal Server Error", report["errors"]["first"])

    def test_a_json_rpc_error_is_an_error(self):
        with FakeServer(always(reply(ERROR))) as server:
            report = self.load(server, "--requests", 10, "--connections", 2, code=1)
            self.assertEqual(report["errors"]["rpc"], 10)
            self.assertEqual(report["errors"]["by_code"], {"-32601": 10})

    def test_answers_and_errors_are_counted_over_the_same_time(self):
        busy = reply(ERROR, b"503 Service Unavailable")
        for loop in ((), ("--rate", 2000)):
            with FakeServer(always(busy)) as server:
                report = self.load(server, "--seconds", 0.3, "--warmup", 0.2, *loop, code=1)
            errors, outside = report["errors"], report["outside"]
            self.assertGreater(report["answered"], 0)
            self.assertEqual([report["answered"]] * 4, [report["replies"], errors["status"],
                                                        errors["rpc"], errors["by_status"]["503"]])
            self.assertGreater(outside["replies"], 0)
            self.assertEqual(2 * outside["replies"], outside["errors"])  # status and JSON-RPC

    def test_errors_of_the_warm_up_are_told_apart_and_fail_the_run(self):
        def behave(connection, requests):
            for count, _ in enumerate(requests):
                connection.sendall(reply(status=b"500 Oh" if count < 5 else b"200 OK"))
        arguments = ("--seconds", "0.2", "--warmup", "1", "--connections", "1")
        with FakeServer(behave) as server:
            report = self.load(server, *arguments, code=1)
            self.assertEqual((0, 5), (report["errors"]["status"], report["outside"]["errors"]))
            self.assertEqual({}, report["errors"]["by_status"])
            done = self.run_program(*arguments, server.url)
            self.assertEqual(1, done.returncode)
            self.assertRegex(done.stdout, r"\n  outside    \d+ replies .* 5 errors\n")

    def test_a_run_that_ends_in_its_warm_up_is_reported_as_a_whole(self):
        def behave(connection, requests):
            for count, _ in enumerate(requests):
                if count == 3:
                    return
                connection.sendall(reply())
        with FakeServer(behave) as server:
            report = self.load(server, "--seconds", 1, "--warmup", 60, "--connections", 4, code=1)
        self.assertEqual((12, 12), (report["answered"], report["latency_us"]["count"]))
        self.assertEqual((4, 4), (report["errors"]["closed"], report["errors"]["lost"]))
        self.assertEqual({"replies": 0, "errors": 0}, report["outside"])
        self.assertGreater(report["seconds"], 0)

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
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        with FakeServer(behave) as server:
            report = self.load(server, "--requests", 100, "--connections", 4, "--depth", 8, code=1)
            self.assertEqual(report["errors"]["closed"], 0)
            self.assertEqual(report["errors"]["reset"], 4)
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
                          ("http://a/", "--seconds", "nan"), ("http://a/", "--timeout", "inf"),
                          ("http://a/", "--rate", "0"), ("http://a/", "--rate", "nan"),
                          ("http://a/", "--rate", "5", "--ramp", "1:2:3"),
                          ("http://a/", "--ramp", "1:2"), ("http://a/", "--ramp", "1:2:0"),
                          ("http://a/", "--ramp", "0:0:1"), ("http://a/", "--ramp", "1:2:3x"),
                          ("http://a/", "--ramp", "-1:2:3"), ("http://a/", "--ramp", "a:b:c"),
                          ("http://a/", "--churn", "0"), ("http://a/", "--batch", "0"),
                          ("http://a/", "--batch", "2", "--body", "[]"),
                          ("http://a/", "--batch", "2", "--body", "x"),
                          ("http://a/", "--check", "0"), ("http://a/", "--check", "1",
                                                          "--body", "x"),
                          ("http://a/", "--fresh-ids", "--body", "{"),
                          ("http://a/", "--expect", "{"), ("http://a/", "--expect="),
                          ("http://a/", "--pin", "4000"), ("http://a/", "--method", "A B"),
                          ("http://a/", "--method", "A\r\nB: c"),
                          ("http://a/", "--server-pid", "1073741824"),
                          ("http://a/", "--spread", "-1"), ("http://a/", "--spectrum="),
                          ("http://a/", "--bodies", "/nowhere/at/all"),
                          ("http://a/", "--bodies", "/dev/null"),
                          ("http://a/", "--bodies", "/dev/null", "--body", "{}"),
                          ("http://a:65536/",), ("http://a/\x01",),
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

    def test_each_option_stands_in_a_group_of_the_help(self):
        text = self.run_program("--help").stdout
        self.assertTrue(text.endswith("\n"))
        groups = re.split(r"^(\w.*):$", text, flags=re.M)
        for name, options in (("What is sent", ("--body", "--bodies", "--batch", "--fresh-ids")),
                              ("How it is sent", ("--connections", "--depth", "--churn", "--rate",
                                                  "--ramp", "--spread", "--threads", "--spin")),
                              ("How long", ("--seconds", "--requests", "--warmup", "--timeout")),
                              ("What comes out", ("--check", "--expect", "--spectrum", "--json",
                                                  "--server-pid", "--progress"))):
            group = groups[groups.index(name) + 1]
            for option in options:
                self.assertIn(option, group, name)

    # --- Open loop ---

    def test_an_open_loop_sends_all_at_their_times(self):
        for threads in (1, 3):
            with FakeServer(always(reply())) as server:
                report = self.load(server, "--rate", 2000, "--requests", 301, "--connections", 6,
                                   "--depth", 4, "--threads", threads, code=0)
                self.assertEqual(len(server.requests), 301)
                self.assertEqual(report["latency_us"]["count"], 301)
                self.assertGreaterEqual(report["seconds"], 299 / 2000)
                self.assertEqual(report["rate"], {"from": 2000, "to": 2000, "ramp_seconds": 0})

    def stalling(self, at, seconds):
        """Answers, but does nothing for a while when that many requests have come."""
        count = []

        def behave(connection, requests):
            for _ in requests:
                count.append(1)
                if len(count) == at:
                    time.sleep(seconds)  # This is the fault, not a wait for anything.
                connection.sendall(reply())
        return behave

    def test_a_stall_counts_for_all_requests_that_it_held_up(self):
        with FakeServer(self.stalling(10, 0.4)) as server:
            report = self.load(server, "--rate", 200, "--requests", 100, "--connections", 1,
                               code=0)
        # 40 and more were due in the first 0.2 s of the stall, and left 0.2 s late at least.
        self.assertGreaterEqual(report["latency_us"]["p75"], 200_000)
        self.assertGreaterEqual(report["late"]["count"], 40)
        self.assertGreaterEqual(report["late"]["blocked"], 40)
        self.assertGreaterEqual(report["late"]["max_us"], 350_000)
        with FakeServer(self.stalling(10, 0.4)) as server:
            closed = self.load(server, "--requests", 100, "--connections", 1, code=0)
        self.assertNotIn("late", closed)  # The closed loop waits along, and hides it.

    def test_what_is_due_before_the_end_counts_though_it_is_answered_after_it(self):
        with FakeServer(self.stalling(40, 0.6)) as server:
            report = self.load(server, "--rate", 200, "--seconds", 0.4, "--warmup", 0,
                               "--connections", 1, code=0)
            self.assertEqual(len(server.requests), 80)
        self.assertEqual(report["latency_us"]["count"], 80)
        self.assertGreater(report["latency_us"]["p50"], 300_000)
        self.assertEqual(80, report["replies"] + report["outside"]["replies"])

    def test_an_open_loop_says_how_many_latencies_there_are(self):
        with FakeServer(always(reply())) as server:
            done = self.run_program("--rate", 1000, "--requests", 50, server.url)
            self.assertRegex(done.stdout, r"\n  latency us of 50 requests  p50 ")
            self.assertNotIn("requests  p50", self.run_program("--requests", 5, server.url).stdout)

    def test_a_dead_server_leaves_requests_unsent(self):
        with FakeServer(lambda connection, requests: list(requests)) as server:
            report = self.load(server, "--rate", 100, "--seconds", 30, "--timeout", 1,
                               "--warmup", 0, "--connections", 2, code=1)
        self.assertEqual(report["errors"]["lost"], 2)
        self.assertGreater(report["errors"]["unsent"], 10)

    def test_an_idle_open_loop_is_not_a_silent_server(self):
        with FakeServer(always(reply())) as server:
            report = self.load(server, "--rate", 2, "--requests", 3, "--timeout", 0.2, code=0)
            self.assertEqual(report["answered"], 3)

    def test_a_ramp_sends_what_its_rates_add_up_to(self):
        for ramp in ("100:1000:0.5", "1000:100:0.5"):
            with FakeServer(always(reply())) as server:
                self.load(server, "--ramp", ramp, "--warmup", 0, "--connections", 8, code=0)
                self.assertIn(len(server.requests), (274, 275, 276))

    def test_an_open_loop_may_spin(self):
        with FakeServer(always(reply())) as server:
            report = self.load(server, "--rate", 1000, "--requests", 100, "--spin", code=0)
            self.assertEqual(report["answered"], 100)

    def test_the_first_of_two_bounds_ends_the_run(self):
        with FakeServer(always(reply())) as server:
            report = self.load(server, "--requests", 1 << 40, "--seconds", 0.2, code=0)
            self.assertGreater(report["answered"], 0)
        for loop in ((), ("--rate", 1000)):
            with FakeServer(always(reply())) as server:
                report = self.load(server, "--requests", 50, "--seconds", 600, *loop, code=0)
                self.assertEqual(report["answered"], 50)

    # --- Connections ---

    def test_connections_are_closed_after_so_many_requests(self):
        for loop in ((), ("--depth", 3), ("--rate", 3000), ("--rate", 3000, "--depth", 4),
                     ("--threads", 2), ("--fresh-ids",)):
            counts = []

            def behave(connection, requests):
                counts.append(0)
                index = len(counts) - 1
                for request in requests:
                    counts[index] += 1
                    answering()(connection, [request])
            with self.subTest(loop=loop), FakeServer(behave) as server:
                report = self.load(server, "--requests", 200, "--connections", 4, "--churn", 7,
                                   *loop, code=0)
                self.assertEqual(sum(counts), 200)
                self.assertLessEqual(max(counts), 7)
                self.assertGreaterEqual(len(counts), 200 // 7)
                # One that was opened last may not have been needed, nor accepted, any more.
                self.assertGreaterEqual(report["connects"]["count"], len(counts))
                self.assertEqual(report["connects"]["again"], report["connects"]["count"] - 4)

    def test_churn_by_time_ends(self):
        with FakeServer(always(reply())) as server:
            report = self.load(server, "--seconds", 0.3, "--warmup", 0.1, "--connections", 3,
                               "--churn", 1, code=0)
            self.assertGreater(report["connects"]["again"], 0)

    def test_a_server_that_refuses_reconnects_is_reported(self):
        first = threading.Event()

        def behave(connection, requests):
            next(requests)
            server.listener.close()
            first.set()
            connection.sendall(reply())
            list(requests)
        server = FakeServer(None)
        acceptor = threading.Thread(target=lambda: server.serve_one(behave), daemon=True)
        acceptor.start()
        report = self.load(server, "--requests", 10, "--connections", 1, "--churn", 1,
                           "--timeout", 5, code=1)
        acceptor.join(10)
        self.assertEqual(report["errors"]["connect"], 1)
        self.assertEqual(report["answered"], 1)

    def test_one_silent_connection_is_given_up_alone(self):
        first = threading.Lock()

        def behave(connection, requests):
            silent = first.acquire(blocking=False)
            for _ in requests:
                if not silent:
                    connection.sendall(reply())
        with FakeServer(behave) as server:
            report = self.load(server, "--seconds", 3, "--timeout", 1, "--connections", 4, code=1)
        self.assertEqual((1, 1), (report["errors"]["timeout"], report["errors"]["lost"]))
        self.assertFalse(report["errors"]["stalled"])

    def test_connections_are_opened_over_a_time(self):
        with FakeServer(always(reply())) as server:
            begin = time.monotonic()
            self.load(server, "--requests", 20, "--connections", 4, "--spread", 0.4, code=0)
            self.assertEqual(server.accepted, 4)
            self.assertGreaterEqual(time.monotonic() - begin, 0.3)  # when the last one is due

    # --- Bodies and checks ---

    def test_a_batch_repeats_the_body_with_ids_of_its_own(self):
        with FakeServer(answering()) as server:
            report = self.load(server, "--batch", 3, "--requests", 20, "--connections", 2, code=0)
            calls = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
            self.assertEqual([1, 2, 3], [call["id"] for call in calls])
            self.assertAlmostEqual(report["calls_per_second"], 3 * report["per_second"], delta=1)

    def test_bodies_from_a_file_are_mixed_by_weight(self):
        lines = ('# three kinds\n6 {"jsonrpc":"2.0","method":"a","id":1} 5\n\n'
                 '3 {"jsonrpc":"2.0","method":"b","params":[1],"id":"x"} 5\n'
                 '{"jsonrpc":"2.0","method":"c"}\n')
        for more in ((), ("--depth", 5), ("--check", 1), ("--fresh-ids", "--threads", 2)):
            with self.subTest(more=more), FakeServer(answering()) as server:
                self.load(server, "--bodies", self.file(lines), "--requests", 1000,
                          "--connections", 4, *more, code=0)
                seen = [json.loads(request.partition(b"\r\n\r\n")[2])["method"]
                        for request in server.requests]
                for method, share in (("a", 600), ("b", 300), ("c", 100)):
                    self.assertAlmostEqual(seen.count(method), share, delta=100)

    def test_mixed_bodies_may_be_batched(self):
        lines = '{"jsonrpc":"2.0","method":"a","id":1} 5\n{"jsonrpc":"2.0","method":"c"}\n'
        with FakeServer(answering()) as server:
            self.load(server, "--bodies", self.file(lines), "--batch", 4, "--requests", 100,
                      "--check", 1, code=0)

    def test_a_bad_line_of_bodies_is_named(self):
        done = self.run_program("--bodies", self.file("{}\n{\n"), "http://a/")
        self.assertEqual(done.returncode, 2)
        self.assertIn("line 2", done.stderr)

    def test_fresh_ids_differ_and_must_come_back(self):
        with FakeServer(answering()) as server:
            report = self.load(server, "--fresh-ids", "--requests", 500, "--depth", 8, code=0)
            ids = {json.loads(request.partition(b"\r\n\r\n")[2])["id"]
                   for request in server.requests}
            self.assertGreater(len(ids), 250)
            self.assertEqual(report["errors"]["wrong"], 0)

    def test_a_reply_with_the_id_of_another_is_wrong(self):
        first = threading.Lock()

        def spoil(call, answer):
            if call["id"] == wrong_id and first.acquire(blocking=False):
                answer["id"] = 9999
            return answer
        for flags in (("--fresh-ids",), ("--check", 1), ("--check", 1000)):
            first, wrong_id = threading.Lock(), 1100
            with self.subTest(flags=flags), FakeServer(answering(spoil)) as server:
                done = self.run_program(*flags, "--requests", 200, "--connections", 1,
                                        f"http://127.0.0.1:{server.port}/rpc")
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("wrong 1", done.stdout)
                self.assertIn("9999", done.stderr)
                self.assertIn("HTTP/1.1 200 OK", done.stderr)

    def test_a_full_check_finds_what_the_light_one_passes(self):
        for words, answer in (
                ("the result is 6, not 5", lambda call: reply(BODY.replace(b"5", b"6"))),
                ("no JSON object", lambda call: reply(BODY.replace(b"5", b"05"))),
                ("a member x", lambda call: reply(BODY.replace(b'"result"', b'"x":1,"result"'))),
                ("not HTTP/1.1", lambda call: reply().replace(b"1.1", b"1.0")),
                ("no token", lambda call: reply().replace(b"Content-T", b"A b: c\r\nContent-T")),
                ("not application/json", lambda call: reply().replace(b"json\r", b"jsan\r"))):
            def behave(connection, requests):
                for request in requests:
                    call = json.loads(request.partition(b"\r\n\r\n")[2])
                    text = answer(call).replace(b'"id":1}', b'"id":%d}' % call["id"])
                    head, _, body = text.partition(b"\r\n\r\n")
                    head = re.sub(rb"Length: \d+", b"Length: %d" % len(body), head)
                    connection.sendall(head + b"\r\n\r\n" + body)
            with self.subTest(words=words), FakeServer(behave) as server:
                report = self.load(server, "--requests", 20, "--connections", 1, code=0)
                self.assertEqual(report["full_checks"], 0)
                report = self.load(server, "--requests", 20, "--connections", 1, "--check", 5,
                                   code=1)
                self.assertEqual(report["full_checks"], 4)
                self.assertGreaterEqual(report["errors"]["wrong"], 4)
                self.assertIn(words, report["errors"]["first"])

    def test_the_expected_result_can_be_given(self):
        for expected, code in (("5", 0), (" 5 ", 0), ("6", 1)):
            with FakeServer(answering()) as server:
                report = self.load(server, "--requests", 2000, "--expect", expected,
                                   "--body", '{"jsonrpc":"2.0","method":"m","id":1}', code=code)
                self.assertEqual(report["full_checks"], 2)

    def test_statuses_and_truncated_and_slow_replies_are_told_apart(self):
        half = reply()[:-5]

        def truncated(connection, requests):
            next(requests)
            connection.sendall(half)

        def slow(connection, requests):
            for _ in requests:
                connection.sendall(half)
                threading.Event().wait(0.02)
                connection.sendall(reply()[-5:])
        busy = reply(ERROR.replace(b"-32601", b"-31001"), b"503 Service Unavailable")
        for behave, code, kind in ((truncated, 1, "closed"), (slow, 0, None),
                                   (always(busy), 1, "status")):
            with FakeServer(behave) as server:
                report = self.load(server, "--requests", 4, "--connections", 2, code=code)
                if kind is not None:
                    self.assertGreater(report["errors"][kind], 0)
        self.assertEqual({"503": 4}, report["errors"]["by_status"])
        self.assertEqual({"-31001": 4}, report["errors"]["by_code"])

    # --- Messages that are answered in any order ---

    MIX = ('2 {"jsonrpc":"2.0","method":"m","params":[1],"id":1} [1]\n'
           '{"jsonrpc":"2.0","method":"m","params":[2],"id":1} [2]\n'
           '{"jsonrpc":"2.0","method":"m","params":{"a":3},"id":"x"} {"a":3}\n')

    def test_replies_in_any_order_belong_to_the_calls_with_their_ids(self):
        for scheme in ("tcp", "ws"):
            for flags in ((), ("--bodies", self.file(self.MIX)), ("--rate", 20_000),
                          ("--bodies", self.file(self.MIX), "--batch", 5)):
                for check in (("--check", 1), ("--check", 7), ()):
                    with self.subTest(scheme=scheme, flags=flags, check=check), \
                            MessageServer(scheme, reversing(4)) as server:
                        report = self.load(server, "--connections", 1, "--depth", 4,
                                           "--requests", 200, *flags, *check, code=0)
                        self.assertEqual(200, report["answered"])
                        self.assertEqual(200, report["latency_us"]["count"])
                        checks = -(-200 // check[1]) if check else 0
                        self.assertEqual(checks, report["full_checks"])

    def test_arrays_from_a_file_are_told_apart_by_their_ids(self):
        call = '{"jsonrpc":"2.0","method":"m","params":[%d],"id":%d}'
        lines = "".join(f"[{call % (value, value)},{call % (value, value + 100)}] [{value}]\n"
                        for value in (1, 2, 3))
        for scheme in ("tcp", "ws"):
            with MessageServer(scheme, reversing(3)) as server:
                self.load(server, "--bodies", self.file(lines), "--check", 1, "--requests", 90,
                          "--connections", 1, "--depth", 3, code=0)
        done = self.run_program("--bodies", self.file(lines.replace("102", "101")), "ws://a/")
        self.assertEqual(2, done.returncode)
        self.assertIn("the id 101", done.stderr)

    def test_a_latency_is_that_of_its_own_request(self):
        def behave(send, messages):
            calls = (json.loads(message) for message in messages)
            first = next(calls)
            for call in calls:
                send(json.dumps({"jsonrpc": "2.0", "result": 5, "id": call["id"]}))
                time.sleep(0.1)  # This is what is measured.
                if call["id"] == first["id"] + 4:
                    send(json.dumps({"jsonrpc": "2.0", "result": 5, "id": first["id"]}))
        for scheme in ("tcp", "ws"):
            with MessageServer(scheme, behave) as server:
                report = self.load(server, "--connections", 1, "--depth", 2, "--fresh-ids",
                                   "--requests", 5, code=0)
            self.assertGreaterEqual(report["latency_us"]["max"], 400_000)

    def test_what_is_wrong_is_found_in_any_order(self):
        def once(change):
            first = threading.Lock()
            return lambda call, answer: (change(answer) if first.acquire(blocking=False)
                                         else [answer])
        for change, wrong, lost, words in (
                (lambda answer: [dict(answer, result=6)], 1, 0, "the result is 6, not [1]"),
                (lambda answer: [dict(answer, id=7)], 1, 1, "no request waits for the id 7"),
                (lambda answer: [dict(answer, id="1000")], 1, 1, 'for the id "1000"'),
                (lambda answer: [dict(answer, id=None)], 1, 1, "for the id null"),
                (lambda answer: [{"jsonrpc": "2.0", "result": 5}], 1, 1, "for a reply without id"),
                (lambda answer: [answer, answer], 1, 0, "no request waits for the id 1"),
                (lambda answer: [dict(answer, x=1)], 1, 0, "a member x")):
            for scheme in ("tcp", "ws"):
                with self.subTest(scheme=scheme, words=words), \
                        MessageServer(scheme, reversing(1, once(change))) as server:
                    report = self.load(server, "--connections", 1, "--depth", 2, "--check", 1,
                                       "--requests", 20, "--timeout", 0.5, "--body",
                                       '{"jsonrpc":"2.0","method":"m","params":[1],"id":1}',
                                       "--expect", "[1]", code=1)
                    self.assertEqual((wrong, lost),
                                     (report["errors"]["wrong"], report["errors"]["lost"]))
                    self.assertIn(words, report["errors"]["first"])

    def test_pings_are_answered_also_where_nobody_waits(self):
        for flags in (("--depth", 3), ("--fresh-ids",), ("--check", 1, "--depth", 3)):
            pongs = []

            def behave(send, messages):  # Pings before replies, between them, behind the last.
                for message in messages:
                    if isinstance(message, tuple):
                        pongs.append(message)
                        continue
                    send(json.dumps({"jsonrpc": "2.0", "result": 5,
                                     "id": json.loads(message)["id"]}))
                    send("", 10)
                    if pongs:  # Of two pings that come at once the first may stay unanswered.
                        send("x" * 125, 9)
            with self.subTest(flags=flags), \
                    MessageServer("ws", behave, frame("hello", 9)) as server:
                report = self.load(server, "--connections", 1, "--rate", 200, "--requests", 50,
                                   *flags, code=0)
            self.assertEqual(50, report["answered"])
            self.assertGreater(len(pongs), 1)
            self.assertEqual((10, "hello"), pongs[0])
            self.assertEqual({(10, "x" * 125)}, set(pongs[1:]))

    def test_a_websocket_that_the_server_closes_is_said_to_be_closed(self):
        def behave(send, messages):
            next(messages)
            send(b"\x03\xf1message_size_max", 8)
            list(messages)
        for flags in ((), ("--check", 1)):
            with MessageServer("ws", behave) as server:
                report = self.load(server, "--connections", 2, "--requests", 50, *flags, code=1)
            self.assertEqual((2, 0, 2), (report["errors"]["closed"], report["errors"]["malformed"],
                                         report["errors"]["lost"]))
            self.assertIn("closed the WebSocket: 1009 message_size_max",
                          report["errors"]["first"])

    def test_other_frames_than_text_are_malformed(self):
        for opcode in (0, 2, 3, 11):
            with MessageServer("ws", lambda send, all: [send("x", opcode) for _ in all]) as server:
                report = self.load(server, "--connections", 1, "--requests", 5, code=1)
            self.assertEqual(1, report["errors"]["malformed"])

    def test_an_error_without_an_id_answers_the_oldest_request(self):
        error = '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}'
        for scheme in ("tcp", "ws"):
            with MessageServer(scheme, lambda send, all: [send(error) for _ in all]) as server:
                report = self.load(server, "--connections", 1, "--depth", 3, "--fresh-ids",
                                   "--requests", 20, code=1)
                self.assertEqual((20, 0), (report["errors"]["rpc"], report["errors"]["lost"]))
                self.assertEqual({"-32700": 20}, report["errors"]["by_code"])

    # --- What comes out ---

    def test_the_spectrum_is_written(self):
        with tempfile.TemporaryDirectory() as folder, FakeServer(always(reply())) as server:
            name = os.path.join(folder, "a.hgrm")
            self.load(server, "--requests", 100, "--spectrum", name, code=0)
            with open(name, encoding="ascii") as file:
                text = file.read()
            self.assertRegex(text, r"^ +Value +Percentile TotalCount 1/\(1-Percentile\)\n\n")
            self.assertRegex(text, r"\n +\d+\.\d{3} 1\.0{12} +100\n#\[Mean")
            done = self.run_program("--requests", 10, "--spectrum", "-",
                                    f"http://127.0.0.1:{server.port}/")
            self.assertIn("#[Max", done.stdout)
            done = self.run_program("--requests", 10, "--spectrum", folder,
                                    f"http://127.0.0.1:{server.port}/")
            self.assertEqual(3, done.returncode)
            self.assertIn("cannot write", done.stderr)

    def test_progress_is_a_line_each_second(self):
        with FakeServer(always(reply())) as server:
            arguments = (RINGLOAD, "--seconds", "1.3", "--rate", "200",
                         f"http://127.0.0.1:{server.port}/")
            done = self.run_program("--progress", *arguments[1:])
            self.assertRegex(done.stderr, r"^ +\d\.\d s +\d+/s  p99 .* errors 0  late \d+  conn")
            self.assertEqual("", self.run_program(*arguments[1:]).stderr)
            for flag, seen in (("--spin", b"\r   "), ("--no-progress", b"end")):
                ours, theirs = pty.openpty()
                subprocess.run((*arguments, flag), stdout=subprocess.PIPE, stderr=theirs,
                               timeout=60, check=True)
                os.write(theirs, b"end")
                self.assertTrue(os.read(ours, 4096).startswith(seen))
                os.close(theirs)
                os.close(ours)

    def test_a_report_that_cannot_be_written_is_exit_code_3(self):
        with FakeServer(always(reply())) as server, open("/dev/full", "w", encoding="ascii") as out:
            for arguments in (("--requests", "5", f"http://127.0.0.1:{server.port}/"), ("--help",),
                              ("--show-request", "http://a/")):
                done = subprocess.run([RINGLOAD, *arguments], stdout=out, stderr=subprocess.PIPE,
                                      timeout=60, check=False)
                self.assertEqual(3, done.returncode)
                self.assertIn(b"cannot write to stdout", done.stderr)

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
