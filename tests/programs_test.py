#!/usr/bin/env python3
"""The programs as their users meet them: flags, exit codes, files, and the demo methods.

ringcall is also held against a server that says what the test wants, whole or torn.

Usage: programs_test.py BIN_DIR [unittest arguments]
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/dev/bin"


def run(program, *arguments, seconds=60):
    return subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, text=True,
                          timeout=seconds, check=False)


class Scripted:
    """Answers one connection with prepared bytes and keeps what it received."""

    def __init__(self, answer, read_body=True):
        self.answer, self.read_body = answer, read_body
        self.received = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/rpc"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        peer, _ = self.listener.accept()
        with peer:
            while b"\r\n\r\n" not in self.received:
                self.received += peer.recv(4096)
            head, body = self.received.split(b"\r\n\r\n", 1)
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while self.read_body and len(body) < length:
                body += peer.recv(65536)
            self.head, self.body = head.decode(), body
            answer = self.answer
            if callable(answer):
                answer = answer(json.loads(body)["id"])
            if answer is None:  # says nothing until the client has gone
                peer.recv(1)
                return
            try:
                peer.sendall(answer)
            except OSError:
                pass  # the client did not wait for all of it

    def call(self, *arguments):
        done = run("ringcall", *arguments[:-1], self.url, *arguments[-1])
        self.thread.join(10)
        self.listener.close()
        return done


def http(body, head="", status="200 OK"):
    return (f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n{body}").encode()


def result(text):
    return lambda token: http(f'{{"jsonrpc":"2.0","id":{token},"result":{text}}}')


class Ringcall(unittest.TestCase):
    def expect(self, done, code, out=None, err=""):
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        if out is not None:
            self.assertEqual(out, done.stdout)
        self.assertIn(err, done.stderr)

    def test_it_prints_a_result(self):
        server = Scripted(result('{"a":[1,"}"]}'))
        self.expect(server.call(("m", '{"x":1}')), 0, '{"a":[1,"}"]}\n')
        message = json.loads(server.body)
        self.assertEqual(("2.0", "m", {"x": 1}),
                         (message["jsonrpc"], message["method"], message["params"]))
        self.assertIsInstance(message["id"], int)
        self.assertTrue(server.head.startswith("POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:"))
        self.assertIn("\r\nContent-Type: application/json\r\n", server.head)

    def test_it_leaves_params_out_and_quotes_the_method(self):
        server = Scripted(result("null"))
        self.expect(server.call(('a"\\\n',)), 0, "null\n")
        message = json.loads(server.body)
        self.assertEqual('a"\\\n', message["method"])
        self.assertNotIn("params", message)

    def test_it_takes_a_new_id_each_time(self):
        ids = set()
        for _ in range(3):
            server = Scripted(result("1"))
            self.expect(server.call(("m",)), 0)
            ids.add(json.loads(server.body)["id"])
        self.assertEqual(3, len(ids))

    def test_ids_are_given_as_they_are_or_quoted(self):
        for text, token in [("7", "7"), ("1.0", "1.0"), ('"a"', '"a"'), ("a", '"a"'),
                            ("null", "null"), ("-", '"-"'), ("7a", '"7a"'), ("-0.5e-3", "-0.5e-3"),
                            ("01", '"01"'), ("1e", '"1e"'), ("1.", '"1."')]:
            with self.subTest(id=text):
                server = Scripted(lambda _, token=token: http(f'{{"id":{token},"result":1}}'))
                self.expect(server.call(f"--id={text}", ("m",)), 0, "1\n")
                self.assertIn(f'"id":{token}}}', server.body.decode())

    def test_an_error_is_printed_and_exits_1(self):
        error = '{"code":-32601,"message":"Method not found"}'
        for status in ("200 OK", "404 Not Found"):
            server = Scripted(lambda token, status=status: http(
                f'{{"error":{error},"id":{token}}}', status=status))
            self.expect(server.call(("m",)), 1, error + "\n")

    def test_an_error_may_have_no_id(self):
        for id_member in ("", ',"id":null'):
            server = Scripted(http('{"error":{"code":-32700}' + id_member + "}"))
            self.expect(server.call(("m",)), 1, '{"code":-32700}\n')

    def test_raw_prints_the_reply_as_it_came(self):
        server = Scripted(lambda token: http(f'{{ "id":{token}, "result" : 1 }}'))
        done = server.call("--raw", "--id=5", ("m",))
        self.expect(done, 0, '{ "id":5, "result" : 1 }\n')

    def test_a_reply_with_another_id_is_refused(self):
        self.expect(Scripted(http('{"id":"x","result":1}')).call(("m",)), 3, "", "id")

    def test_verbose_shows_both_sides_on_stderr(self):
        done = Scripted(result("1")).call("--verbose", ("m",))
        self.expect(done, 0, "1\n", "POST /rpc HTTP/1.1")
        self.assertIn("HTTP/1.1 200 OK", done.stderr)

    def test_a_header_replaces_or_adds(self):
        server = Scripted(result("1"))
        self.expect(server.call("--header", "Content-Type: a/b", "--header", "X-Y:  z", ("m",)), 0)
        self.assertIn("\r\nContent-Type: a/b\r\n", server.head)
        self.assertIn("\r\nX-Y: z\r\n", server.head)
        self.assertNotIn("application/json\r\nContent-Type", server.head)
        self.assertEqual(1, server.head.lower().count("content-type"))

    def test_a_notification_has_no_id_and_prints_nothing(self):
        for status in ("204 No Content", "202 Accepted"):
            length = "" if status.startswith("204") else "Content-Length: 0\r\n"
            server = Scripted(f"HTTP/1.1 {status}\r\n{length}\r\n".encode())
            self.expect(server.call("--notify", ("m", "[1]")), 0, "")
            self.assertNotIn("id", json.loads(server.body))

    def test_chunks_are_decoded(self):
        server = Scripted(lambda token: (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            f"1;x=y\r\n{{\r\n{len(str(token)) + 5:X}\r\n\"id\":{token}\r\n"
            "c\r\n,\"result\":3}\r\n0\r\nTrailer: x\r\n\r\n").encode())
        self.expect(server.call(("m",)), 0, "3\n")

    def test_a_body_may_end_with_the_connection(self):
        server = Scripted(lambda token: (
            f'HTTP/1.0 200 OK\r\n\r\n{{"id":{token},"result":4}}').encode())
        self.expect(server.call(("m",)), 0, "4\n")

    def test_interim_responses_are_passed_over(self):
        server = Scripted(lambda token: b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"
                          + result("6")(token))
        self.expect(server.call(("m",)), 0, "6\n")

    def test_what_is_no_reply_exits_3(self):
        for name, answer in {
                "nothing": b"",
                "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
                "half a body": b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"id":1',
                "half a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{",
                "a chunk without a size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",
                "a bad length": b"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n{",
                "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n\r\n",
                "no JSON": http("<html>"),
                "an endless head": b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000,
                "neither result nor error": http('{"jsonrpc":"2.0","id":1}'),
                "both result and error": http('{"id":1,"result":1,"error":{}}'),
                "trailing text": http('{"id":1,"result":1}}'),
                "502": http("bad gateway", status="502 Bad Gateway"),
        }.items():
            with self.subTest(answer=name):
                self.expect(Scripted(answer).call("--id=1", ("m",)), 3, "", "ringcall: ")

    def test_silence_ends_with_the_timeout(self):
        start = time.monotonic()
        self.expect(Scripted(None).call("--timeout=0.2", ("m",)), 3, "", "timed out")
        self.assertGreaterEqual(time.monotonic() - start, 0.2)

    def test_an_early_refusal_is_read_though_the_body_was_not_taken(self):
        error = http('{"error":{"code":-31008},"id":null}', status="413 Content Too Large")
        server = Scripted(error)
        self.expect(server.call(("m", json.dumps(["x" * 100_000]))), 1, '{"code":-31008}\n')

    def test_a_refused_connection_exits_3(self):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.expect(run("ringcall", f"http://127.0.0.1:{port}/rpc", "m"), 3, "", "refused")
        self.expect(run("ringcall", "http://no-such-host.invalid/rpc", "m"), 3, "", "resolve")

    def test_wrong_usage_exits_2(self):
        url = "http://127.0.0.1:1/rpc"
        for arguments in ([], [url], ["https://a/b", "m"], ["127.0.0.1:1", "m"],
                          ["http://", "m"], ["http://a:b/", "m"], ["http://a:/", "m"],
                          [url, "m", "{}", "more"], ["--no-such-flag", url, "m"],
                          ["--header", "none", url, "m"], ["--header", "A: b\r\nC: d", url, "m"],
                          ["--timeout", "0", url, "m"], ["--notify", "--id", "1", url, "m"]):
            with self.subTest(arguments=arguments):
                self.expect(run("ringcall", *arguments), 2, "")

    def test_help_and_version_exit_0(self):
        self.expect(run("ringcall", "--help"), 0)
        self.assertRegex(run("ringcall", "--version").stdout, r"^ringcall \d+\.\d+\.\d+\n$")


class Server:
    """A ringrpcd on a free port."""

    def __init__(self, *arguments):
        self.folder = tempfile.TemporaryDirectory(prefix="programs_test_")
        self.port_file = os.path.join(self.folder.name, "port")
        listeners = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
        self.process = subprocess.Popen(
            [os.path.join(BIN, "ringrpcd"), *listeners, "--port-file", self.port_file, *arguments],
            stderr=subprocess.PIPE, text=True)
        self.start_line = self.process.stderr.readline()
        deadline = time.monotonic() + 20
        while not os.path.exists(self.port_file):
            assert self.process.poll() is None and time.monotonic() < deadline, self.start_line
            time.sleep(0.01)
        with open(self.port_file, encoding="ascii") as file:
            self.lines = file.read().splitlines()
        self.port = int(self.lines[0].split()[1])
        self.url = f"http://127.0.0.1:{self.port}/rpc"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.folder.cleanup()

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        return self.process.wait(20)

    def call(self, *arguments):
        done = run("ringcall", self.url, *arguments)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


class Ringrpcd(unittest.TestCase):
    def test_help_and_version_exit_0(self):
        self.assertEqual(0, run("ringrpcd", "--help").returncode)
        done = run("ringrpcd", "--version")
        self.assertEqual(0, done.returncode)
        self.assertRegex(done.stdout, r"^ringrpcd \d+\.\d+\.\d+\n$")

    def test_bad_usage_exits_2(self):
        for arguments in (["--no-such-flag"], ["--listen"], ["more"], ["--workers", "0"],
                          ["--workers", "x"], ["--io", "kqueue"], ["--io", "1"],
                          ["--spin-us", "-1"], ["--listen", "nonsense"],
                          ["--listen", "127.0.0.1:70000"]):
            with self.subTest(arguments=arguments):
                done = run("ringrpcd", *arguments)
                self.assertEqual(2, done.returncode, done.stderr)
                self.assertNotEqual("", done.stderr)

    def test_flags_of_later_versions_answer_not_yet(self):
        for arguments in (["--tcp", "127.0.0.1:0"], ["--unix", "a"], ["--unix-http", "a"],
                          ["--stdio", "rpc"], ["--config", "a"], ["--conformance"],
                          ["--conformance=a2a-off"]):
            with self.subTest(arguments=arguments):
                done = run("ringrpcd", "--listen", "127.0.0.1:0", *arguments)
                self.assertEqual(2, done.returncode, done.stderr)
                self.assertIn(f"{arguments[0].split('=')[0]}: not yet", done.stderr)

    def test_the_plan_binds_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = run("ringrpcd", "--plan", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("total", done.stdout)

    def test_a_port_in_use_exits_3_and_says_so(self):
        for io in ("uring", "epoll"):
            with Server() as first:
                done = run("ringrpcd", "--io", io, "--listen", f"127.0.0.1:{first.port}")
                self.assertEqual(3, done.returncode, done.stderr)
                self.assertIn("address in use", done.stderr.lower())

    def test_the_port_file_names_each_listener_in_order(self):
        with Server("--listen", "127.0.0.1:0", "--listen", "[::1]:0") as server:
            self.assertEqual(2, len(server.lines))
            for line, host in zip(server.lines, ("127.0.0.1", "[::1]")):
                kind, port = line.split()
                self.assertEqual("http", kind)
                done = run("ringcall", f"http://{host}:{port}/rpc", "sum", "[1,2]")
                self.assertEqual("3\n", done.stdout, done.stderr)
            self.assertEqual(0, server.stop())

    def test_the_start_line_tells_address_io_and_allocator(self):
        for io, name in (("uring", "io_uring"), ("epoll", "epoll")):
            with Server("--io", io, "--workers", "1") as server:
                self.assertIn(f"127.0.0.1:{server.port}", server.start_line)
                self.assertIn(name, server.start_line)
                self.assertIn("malloc", server.start_line)
                self.assertIn("ringrpcd", server.start_line)
                self.assertEqual(0, server.stop())

    def test_both_signals_stop_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Server() as server:
                self.assertEqual(0, server.stop(number))

    def test_a_repeated_signal_does_not_change_how_it_stops(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Server() as server:
                with socket.create_connection(("127.0.0.1", server.port), 20) as unfinished:
                    unfinished.sendall(b"POST /rpc HTTP/1.1\r\n")
                    server.process.send_signal(number)
                    time.sleep(0.3)  # The first has been taken; half a head still holds the stop.
                    self.assertIsNone(server.process.poll())
                    self.assertEqual(0, server.stop(number))

    def test_the_demo_methods_answer(self):
        top = 2**63 - 1
        for io in ("uring", "epoll"):
            with Server("--io", io) as server, self.subTest(io=io):
                call = server.call
                self.assertEqual((0, {"a": [1, {"b": None}]}), call("echo", '{"a":[1,{"b":null}]}'))
                self.assertEqual((0, None), call("echo"))
                self.assertEqual((0, 5), call("sum", '{"a":2,"b":3}'))
                self.assertEqual((0, top), call("sum", f"[{top - 1},1]"))
                self.assertEqual((1, 1002), self.code(call("sum", f"[{top},1]")))
                self.assertEqual((1, 1002), self.code(call("sum", f"[{-top - 1},-1]")))
                self.assertEqual((0, {"orderId": "x", "status": "shipped"}),
                                 call("orders.get", '{"orderId":"x"}'))
                self.assertEqual((1, -32602), self.code(call("orders.get", "{}")))
                self.assertEqual((0, ""), call("blob", '{"bytes":0}'))
                self.assertEqual((0, "x" * 1_000_000), call("blob", '{"bytes":1000000}'))
                self.assertEqual((1, -31004), self.code(call("blob", f'{{"bytes":{top}}}')))
                self.assertEqual((1, -32602), self.code(call("blob", '{"bytes":-1}')))
                code, error = call("fail")
                self.assertEqual((1, 1001), (code, error["code"]))
                self.assertIn("data", error)
                self.assertEqual((1, -32603), self.code(call("crash")))
                self.assertEqual((0, None), call("jobs.progress", "[1,2,3]"))
                self.assertEqual((1, -32601), self.code(call("none")))
                counts = call("stats.calls")[1]
                self.assertEqual((4, 1, 1),
                                 (counts["sum"], counts["crash"], counts["stats.calls"]))
                self.assertEqual((1, -32602), self.code(call("sum", "[1]")))
                self.assertEqual(0, server.stop())

    def test_an_order_id_comes_back_byte_for_byte(self):
        with Server() as server:
            for token in ("9007199254740993", "1.0", "1e2", '"\\u0061"'):
                done = run("ringcall", server.url, "orders.get", f'{{"orderId":{token}}}')
                self.assertEqual(f'{{"orderId":{token},"status":"shipped"}}\n', done.stdout)

    @staticmethod
    def code(answer):
        return answer[0], answer[1]["code"]


if __name__ == "__main__":
    unittest.main()
