#!/usr/bin/env python3
"""The programs as their users meet them: flags, exit codes, files, and the demo methods.

ringcall is also held against a server that says what the test wants, whole or torn.

Usage: programs_test.py BIN_DIR [unittest arguments]
"""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

BIN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/dev/bin"


def run(program, *arguments, seconds=60, stdin=None):
    return subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, text=True,
                          timeout=seconds, check=False, input=stdin or "")


def run_into(path, program, *arguments):
    """The program with its stdout in a file. Returns: exit code and stderr."""
    with open(path, "w", encoding="ascii") as out:
        done = subprocess.run([os.path.join(BIN, program), *arguments], stdout=out, timeout=60,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stderr.decode()


class Scripted:
    """Answers one connection with prepared bytes and keeps what it received."""

    def __init__(self, answer):
        self.answer = answer
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
            while len(body) < length:
                body += peer.recv(65536)
            self.head, self.body = head.decode(), body
            answer = self.answer
            if callable(answer):
                answer = answer(json.loads(body)["id"])
            if answer is None:  # says nothing until the client has gone, which resets
                try:
                    peer.recv(1)
                except OSError:
                    pass
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


def read_body(file):
    """Returns the JSON of one request."""
    length = 0
    while (line := file.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(file.read(length))


class OneByOne:
    """Calls serve(peer, file) for one connection after the other."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer, peer.makefile("rb") as file:
                self.serve(peer, file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()


class Series(OneByOne):
    """Answers each request with the next answer, the last one again and again."""

    def __init__(self, *answers):
        self.answers, self.bodies = list(answers), []
        super().__init__()

    def serve(self, peer, file):
        body = read_body(file)
        self.bodies.append(body)
        answer = self.answers[min(len(self.bodies), len(self.answers)) - 1]
        token = body.get("id", 0) if isinstance(body, dict) else 0
        peer.sendall(answer(token) if callable(answer) else answer)


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
                          ["--timeout", "0", url, "m"], ["--notify", "--id", "1", url, "m"],
                          ["http://a:0/", "m"], ["http://a:65536/", "m"],
                          ["http://a:99999999999999999999/", "m"], ["http://a/\r\nX: y", "m"],
                          ["http://a/ b", "m"], ["http://a/\x7f", "m"], ["http://a/\t", "m"],
                          ["http://u@a/", "m"], ["http://[::1/", "m"], ["http://a/#b", "m"],
                          ["-H", "A b: c", url, "m"], ["-H", "A: b\x01", url, "m"],
                          ["--retries", "101", url, "m"], ["--retries", "-1", url, "m"],
                          ["--batch", url, "m"], [url, "-", "[]"], ["--id=1", url, "-"],
                          ["--notify", url, "-"], ["--id=", url], ["--header=", url, "m"]):
            with self.subTest(arguments=arguments):
                self.expect(run("ringcall", *arguments, stdin="{}"), 2, "")

    def test_wrong_values_are_named_on_stderr(self):
        url = "http://127.0.0.1:1/rpc"
        for arguments, words in (
                (["--timeout", "0", url, "m"], "0 is not a number from 0.001 to 86400"),
                (["--timeout", "nan", url, "m"], "nan is not a number from"),
                (["--timeout", "inf", url, "m"], "inf is not a number from"),
                (["--timeout=", url, "m"], " is not a number from"),
                (["--timeout", "1s", url, "m"], "1s is not a number from"),
                (["http://a:65536/", "m"], "port is not a number from 1 to 65535"),
                (["http://a/\n", "m"], "control character"),
                ([url], "METHOD is missing"), ([url, "-"], "stdin is empty"),
                ([url, "m", "@/nowhere/at/all"], "cannot read /nowhere/at/all: No such file"),
                ([url, "@/"], "cannot read /: Is a directory"),
                (["--batch", url], "stdin is empty")):
            with self.subTest(arguments=arguments):
                self.expect(run("ringcall", *arguments), 2, "", words)
        self.expect(run("ringcall", "--batch", url, stdin="sum [1,2]\nsum {\n"), 2, "", "line 2")
        self.expect(run("ringcall", "--batch", url, stdin="\n \n{}x"), 2, "", "line 3")
        self.expect(run("ringcall", "--batch", url, stdin=" \n \n "), 2, "", "batch is empty")

    def file(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            file.write(text)
        self.addCleanup(os.unlink, file.name)
        return "@" + file.name

    def test_params_come_from_stdin_or_a_file(self):
        for source, stdin in (("-", '{"x": [1,\n2]}\n'), (self.file('{"x":[1,2]}'), None)):
            with Series(result("1")) as server:
                self.expect(run("ringcall", server.url, "m", source, stdin=stdin), 0, "1\n")
                self.assertEqual({"x": [1, 2]}, server.bodies[0]["params"])

    def test_a_whole_message_goes_as_it_is_and_its_id_counts(self):
        text = '{"id":"me", "jsonrpc":"2.0","method":"m"}'
        for source, stdin in (("-", text + "\n"), (self.file(text), None)):
            with Series(http('{"id":"me","result":[]}')) as server:
                self.expect(run("ringcall", server.url, source, stdin=stdin), 0, "[]\n")
                self.assertEqual([json.loads(text)], server.bodies)
            with Series(http('{"id":"you","result":[]}')) as server:
                self.expect(run("ringcall", server.url, source, stdin=stdin), 3, "", '"you"')

    def test_a_whole_message_without_an_id_is_a_notification(self):
        with Series(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
            self.expect(run("ringcall", server.url, "-", stdin='{"method":"m"}'), 0, "", "204")

    def test_a_message_without_an_id_may_be_answered_with_id_null(self):
        for arguments, stdin in ((["-"], '{"method":"m"}'), (["--notify", "m"], None)):
            with Series(http('{"id":null,"result":2}')) as server:
                done = run("ringcall", *arguments[:-1], server.url, arguments[-1], stdin=stdin)
                self.expect(done, 0, "2\n")
            with Series(http('{"id":7,"result":2}')) as server:
                done = run("ringcall", *arguments[:-1], server.url, arguments[-1], stdin=stdin)
                self.expect(done, 3, "", "the reply's id is 7")

    def test_what_is_no_message_is_sent_and_any_reply_is_taken(self):
        error = '{"code":-32700,"message":"Parse error"}'
        server = Scripted(http('{"error":' + error + ',"id":null}'))
        done = run("ringcall", server.url, "-", stdin='{"id":1')
        server.thread.join(10)
        server.listener.close()
        self.expect(done, 1, error + "\n")
        self.assertEqual(b'{"id":1', server.body)

    def test_a_batch_is_one_post_and_its_replies_are_put_in_order(self):
        lines = ('{"jsonrpc":"2.0","method":"a","id":1}\n\n sum [2,3]\r\n'
                 '[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","method":"b","id":"x"}]\nm\n')
        seen = []

        def behave(peer):
            with peer, peer.makefile("rb") as file:
                seen.extend(read_body(file))
                replies = [{"id": call["id"], "result": call["method"]} for call in seen
                           if "id" in call]
                peer.sendall(http(json.dumps(replies[::-1])))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=lambda: behave(listener.accept()[0]), daemon=True)
            thread.start()
            done = run("ringcall", "--batch", f"http://127.0.0.1:{listener.getsockname()[1]}/",
                       stdin=lines)
            thread.join(10)
        self.expect(done, 0, '"a"\n"sum"\n"b"\n"m"\n')
        self.assertEqual(["a", "sum", "n", "b", "m"], [call["method"] for call in seen])
        self.assertEqual([2, 3], seen[1]["params"])
        self.assertNotIn("id", seen[2])

    def test_a_batch_with_wrong_replies_exits_3_and_one_with_errors_1(self):
        lines = '{"method":"a","id":1}\n{"method":"b","id":2}\n'
        one = '{"id":1,"result":5}'
        null = '{"id":null,"error":{"code":-32600}}'
        for body, code, out, err in (
                (f"[{one}]", 3, "5\n", "no reply to the call with id 2"),
                (f'[{one},{{"id":3,"result":1}}]', 3, "5\n", "the reply's id is 3"),
                (f'[{one},{one}]', 3, "5\n", "the reply's id is 1"),
                (f'[{{"id":2,"error":{{"code":7}}}},{one}]', 1, '5\n{"code":7}\n', ""),
                (f"[{one},{null}]", 1, '5\n{"code":-32600}\n', ""),
                (null, 1, '{"code":-32600}\n', ""), ("[]", 3, "", "no JSON-RPC reply"),
                (f"[{one},5]", 3, "", "no JSON-RPC reply")):
            with self.subTest(body=body), Series(http(body)) as server:
                done = run("ringcall", "--batch", server.url, stdin=lines)
                self.expect(done, code, out, err)

    def test_a_batch_of_notifications_has_a_whole_answer_in_204(self):
        with Series(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
            self.expect(run("ringcall", "--batch", server.url, stdin='{"method":"m"}\n'), 0, "")

    def test_a_call_that_is_answered_204_has_no_reply(self):
        with Series(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
            self.expect(run("ringcall", server.url, "m"), 3, "", "no JSON-RPC reply")

    def test_a_status_other_than_200_is_told(self):
        for status in ("404 Not Found", "500 Internal Server Error", "201 Created"):
            with Series(lambda token, status=status: http(
                    f'{{"result":1,"id":{token}}}', status=status)) as server:
                self.expect(run("ringcall", server.url, "m"), 0, "1\n", f"HTTP/1.1 {status}\n")
        with Series(result("1")) as server:
            self.assertEqual("", run("ringcall", server.url, "m").stderr)

    def test_the_short_form_of_header_is_taken(self):
        server = Scripted(result("1"))
        self.expect(server.call("-H", "Authorization: Bearer x", ("m",)), 0)
        self.assertIn("\r\nAuthorization: Bearer x\r\n", server.head)

    def test_time_tells_three_moments_in_order(self):
        with Series(result("1")) as server:
            done = run("ringcall", "--time", server.url, "m")
        self.expect(done, 0, "1\n", "connected ")
        moments = [float(word) for word in done.stderr.split() if word[0].isdigit()]
        self.assertEqual(3, len(moments), done.stderr)
        self.assertEqual(sorted(moments), moments)

    def test_a_reply_that_is_not_quite_json_is_refused(self):
        for text in ('{"id":1,"result":nul}', '{"id":1,"result":01}', '{"id":1,"result":"\\q"}',
                     '{"id":1,"result":1,}', '{"id":1,"result":"\x01"}'):
            with self.subTest(text=text), Series(http(text)) as server:
                self.expect(run("ringcall", "--id=1", server.url, "m"), 3, "", "no JSON-RPC reply")

    def test_it_tries_again_where_the_server_did_not_run_the_call(self):
        def refusal(code, status="200 OK", head="", data=""):
            return lambda token: http(f'{{"error":{{"code":{code}{data}}},"id":{token}}}', head,
                                      status)
        for refused in (refusal(-31001, "503 Service Unavailable", "Retry-After: 0\r\n"),
                        refusal(-31002, "429 Too Many Requests"), refusal(-31001), refusal(-31002),
                        refusal(-31001, data=',"data":{"reason":"busy","retryAfterMs":1}'),
                        http("", "Retry-After: Mon, 01 Jan 2024 00:00:00 GMT\r\n", "503 Busy"),
                        refusal(-32603)):
            with Series(refused, result("1")) as server:
                done = run("ringcall", "--retries=3", server.url, "m")
                self.expect(done, 0, "1\n", "try 1 of 3 again in ")
                first, second = server.bodies
                self.assertNotEqual(first.pop("id"), second.pop("id"))
                self.assertEqual(first, second)

    def test_it_does_not_try_again_unless_told_and_where_it_must_not(self):
        for code, retries, tries in ((-31001, 0, 1), (-31001, 2, 3), (-32603, 0, 1),
                                     (-32603, 5, 2), (-32602, 5, 1), (-32601, 5, 1), (1001, 5, 1)):
            with self.subTest(code=code, retries=retries):
                with Series(lambda token, code=code: http(
                        f'{{"error":{{"code":{code}}},"id":{token}}}')) as server:
                    self.expect(run("ringcall", f"--retries={retries}", server.url, "m"), 1,
                                f'{{"code":{code}}}\n')
                    self.assertEqual(tries, len(server.bodies))

    def test_a_given_id_is_kept_when_it_tries_again(self):
        with Series(http("", status="503 Busy"), result("1")) as server:
            self.expect(run("ringcall", "--retries=1", "--id=7", server.url, "m"), 0, "1\n")
            self.assertEqual([7, 7], [body["id"] for body in server.bodies])

    def test_it_does_not_wait_for_ever(self):
        with Series(http("", "Retry-After: 61\r\n", "503 Busy")) as server:
            self.expect(run("ringcall", "--retries=3", server.url, "m"), 3, "", "asks for 61 s")
            self.assertEqual(1, len(server.bodies))

    def test_retry_after_is_waited_for(self):
        with Series(http("", "Retry-After: 1\r\n", "429 Slow"), result("1")) as server:
            start = time.monotonic()
            self.expect(run("ringcall", "--retries=1", server.url, "m"), 0, "1\n", "in 1.00 s")
            self.assertGreaterEqual(time.monotonic() - start, 1.0)

    def test_a_connection_that_fails_is_not_tried_again(self):
        with Series(b"") as server:
            self.expect(run("ringcall", "--retries=3", server.url, "m"), 3, "", "without a resp")
            self.assertEqual(1, len(server.bodies))

    def test_a_slow_reply_in_pieces_is_put_together(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def behave():
                peer, _ = listener.accept()
                with peer:
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    peer.recv(4096)
                    for byte in http('{"id":1,"result":[1,2]}'):
                        peer.sendall(bytes([byte]))
            thread = threading.Thread(target=behave, daemon=True)
            thread.start()
            done = run("ringcall", "--id=1", f"http://127.0.0.1:{listener.getsockname()[1]}/", "m")
            thread.join(10)
        self.expect(done, 0, "[1,2]\n")

    def test_a_reset_exits_3(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def behave():
                peer, _ = listener.accept()
                peer.recv(1)
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                peer.close()
            thread = threading.Thread(target=behave, daemon=True)
            thread.start()
            done = run("ringcall", f"http://127.0.0.1:{listener.getsockname()[1]}/", "m")
            thread.join(10)
        self.expect(done, 3, "", "reset")

    def test_an_answer_that_cannot_be_written_exits_3(self):
        for flags in ((), ("--raw",)):
            with Series(result(json.dumps("x" * 10_000))) as server:
                code, said = run_into("/dev/full", "ringcall", *flags, server.url, "m")
                self.assertEqual(3, code, said)
                self.assertIn("cannot write to stdout: No space left", said)
        for program in ("ringcall", "ringrpcd"):
            for flag in ("--help", "--version"):
                self.assertEqual(3, run_into("/dev/full", program, flag)[0])
        self.assertEqual(3, run_into("/dev/full", "ringrpcd", "--plan")[0])

    def test_help_and_version_exit_0(self):
        self.expect(run("ringcall", "--help"), 0)
        for program in ("ringcall", "ringrpcd"):
            self.assertTrue(run(program, "--help").stdout.endswith("\n"))
        self.assertRegex(run("ringcall", "--version").stdout, r"^ringcall \d+\.\d+\.\d+\n$")


class Lines:
    """Talks lines of JSON with one client: answers each with what `behave` makes of it."""

    def __init__(self, behave, folder=None):
        self.behave, self.messages = behave, []
        if folder:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(os.path.join(folder, "s"))
            self.listener.listen()
            self.url = f"unix:{folder}/s"
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.url = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        peer, _ = self.listener.accept()
        # A client that has got its answer may reset what it has not read.
        with peer, peer.makefile("rb") as file, contextlib.suppress(ConnectionResetError):
            for line in file:
                self.messages.append(json.loads(line))
                message = self.messages[-1]
                if isinstance(message, dict) and message.get("method") == "rpc.cancel":
                    continue
                for answer in self.behave(message):
                    if answer is None:
                        return
                    peer.sendall(answer.encode() + b"\n")

    def call(self, *arguments, stdin=None):
        done = run("ringcall", *arguments[:-1], self.url, *arguments[-1], stdin=stdin)
        self.thread.join(10)
        self.listener.close()
        return done


def reply(message, value="1"):
    return f'{{"jsonrpc":"2.0","result":{value},"id":{json.dumps(message["id"])}}}'


EVENT = '{"jsonrpc":"2.0","method":"tick","params":{"n":1}}'
# A program that answers each line on its stdin, and says where it ends.
ANSWERING = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "result": sys.argv[1:]}), flush=True)
print("end of input", file=sys.stderr)
"""


class RingcallElsewhere(unittest.TestCase):
    """ringcall over transports without HTTP, and what comes before the answer."""

    expect = Ringcall.expect

    def test_lines_carry_a_call_and_its_answer(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            for where in (None, folder):
                server = Lines(lambda message: [EVENT, "garbage", reply({"id": 0}), reply(message)],
                               where)
                self.expect(server.call(("m", '{"x":\n1}')), 0, "1\n")
                self.assertEqual({"x": 1}, server.messages[0]["params"])

    def test_errors_batches_and_notifications_are_what_they_are_over_http(self):
        error = '{"code":-32601,"message":"none"}'
        server = Lines(lambda message: [f'{{"error":{error},"id":{message["id"]}}}'])
        self.expect(server.call(("m",)), 1, error + "\n")
        server = Lines(lambda calls: [
            "[" + ",".join(reply(call, call["params"][0]) for call in calls[::-1]) + "]"])
        self.expect(server.call("--batch", ("-",), stdin="m [1]\nm [2]\n"), 0, "1\n2\n")
        server = Lines(lambda message: [])
        self.expect(server.call("--notify", ("m",)), 0, "")
        self.assertNotIn("id", server.messages[0])
        server = Lines(lambda message: ['{"error":{"code":-32600},"id":null}'])
        self.expect(server.call(("-",), stdin="{}"), 0, "")

    def test_refusals_are_tried_again_with_a_fresh_id(self):
        answers = [lambda m: f'{{"error":{{"code":-31001}},"id":{m["id"]}}}', reply]
        server = Lines(lambda message: [answers.pop(0)(message)])
        self.expect(server.call("--retries=1", ("m",)), 0, "1\n",
                    "ringcall: error -31001: try 1 of 1 again in ")
        self.assertNotEqual(server.messages[0]["id"], server.messages[1]["id"])

    def test_silence_and_an_early_end_exit_3(self):
        server = Lines(lambda message: [])
        self.expect(server.call("--timeout=0.2", ("m",)), 3, "", "timed out")
        self.assertEqual("rpc.cancel", server.messages[1]["method"])
        self.assertEqual({"id": server.messages[0]["id"]}, server.messages[1]["params"])
        self.expect(Lines(lambda message: [None]).call(("m",)), 3, "", "closed the connection")
        for url in ("unix:/nowhere/at/all", "tcp://127.0.0.1:1", "ws://127.0.0.1:1/rpc",
                    "stdio:/nowhere/at/all"):
            self.expect(run("ringcall", url, "m"), 3, "", "ringcall: cannot ")

    def test_a_program_is_called_over_its_stdio_and_ended(self):
        with tempfile.TemporaryDirectory(prefix="programs test ") as folder:
            path = os.path.join(folder, "answer.py")
            with open(path, "w", encoding="ascii") as file:
                file.write(ANSWERING)
            done = run("ringcall", f"stdio:{sys.executable} '{path}' a \"b c\"", "m")
            self.expect(done, 0, '["a", "b c"]\n', "end of input\n")

    def test_a_program_that_ends_early_is_told_of_with_its_status(self):
        none = "and wrote no JSON-RPC"
        for command, words, silent in (
                ("/bin/false", "the command ended with status 1", True),
                ("sh -c 'exit 0'", "the command ended with status 0", True),
                ("sh -c 'read line; exit 7'", "the command ended with status 7", True),
                ("sh -c 'echo garbage; read line'", "the command ended with status 0", True),
                ("sh -c 'echo [1]; read line'", "the command ended with status 0", True),
                ("sh -c 'read line; kill -9 $$'", "the command was ended by signal 9", True),
                ("sh -c 'read line; exec >&- <&-; exec sleep 60'",
                 "the command closed its stdout and went on", True),
                (f"sh -c 'echo \"$1\"; read line; exit 3' - '{EVENT}'",
                 "the command ended with status 3", False)):
            with self.subTest(command=command):
                done = run("ringcall", f"stdio:{command}", "sum", "[1,2]")
                self.expect(done, 3, "", words)
                self.assertEqual(silent, none in done.stderr, done.stderr)

    def test_a_port_that_was_not_given_is_named_where_it_fails(self):
        for url, name in (("http://255.255.255.255", "255.255.255.255:80"),
                          ("ws://255.255.255.255/rpc", "255.255.255.255:80"),
                          ("http://255.255.255.255:81", "255.255.255.255:81")):
            # TCP goes to nobody there.
            self.expect(run("ringcall", url, "m"), 3, "", f"cannot connect to {name}: ")

    def test_follow_prints_events_before_the_answer(self):
        for flags, line in (((), 'tick {"n":1}\n'), (("--raw",), EVENT + "\n")):
            server = Lines(lambda message: [EVENT, EVENT, reply(message)])
            done = server.call("--follow", *flags, ("m",))
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertTrue(done.stdout.startswith(2 * line), done.stdout)
            self.assertEqual(3, done.stdout.count("\n"))
        stream = (f": hello\n\ndata: {EVENT[:1]}\ndata: {EVENT[1:]}\n\n"
                  'data: {"id":1,"result":7}\n\n')
        server = Scripted(http(stream, "Content-Type: text/event-stream\r\n"))
        self.expect(server.call("--follow", "--id=1", ("m",)), 0, 'tick {"n":1}\n7\n')
        self.assertIn("Accept: application/json, text/event-stream\r\n", server.head)
        server = Scripted(http(stream, "Content-Type: text/event-stream\r\n"))
        self.expect(server.call("--id=1", ("m",)), 0, "7\n")
        self.assertIn("Accept: application/json\r\n", server.head)

    def test_follow_prints_each_event_when_it_comes(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
            with subprocess.Popen([os.path.join(BIN, "ringcall"), "--stay", url, "m"],
                                  stdout=subprocess.PIPE, text=True) as program:
                peer, _ = listener.accept()
                with peer, peer.makefile("r") as file:
                    message = json.loads(file.readline())
                    peer.sendall(EVENT.encode() + b"\n")
                    self.assertEqual('tick {"n":1}\n', program.stdout.readline())
                    peer.sendall(reply(message).encode() + b"\n")
                    self.assertEqual("1\n", program.stdout.readline())
                    peer.sendall(EVENT.encode() + b"\n")
                    self.assertEqual('tick {"n":1}\n', program.stdout.readline())
                self.assertEqual(0, program.wait(20))
        self.expect(run("ringcall", "--stay", "http://127.0.0.1:1/", "m"), 2, "", "--stay")


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
                          ["--listen", "127.0.0.1:70000"], ["--listen", ""], ["--listen="],
                          ["--listen=", "127.0.0.1:0"], ["--port-file=", "--plan"],
                          ["--host=", "--plan"], ["--origin=", "--plan"], ["--io=", "--plan"],
                          ["--workers=", "--plan"], ["--host", "http://x", "--plan"],
                          ["--host", "'x'", "--plan"], ["--host", "--plan"],
                          ["--host", "a/b", "--plan"], ["--origin", "foo", "--plan"],
                          ["--origin", "https://", "--plan"], ["--origin", "a b://c", "--plan"],
                          ["--origin", "https://c/", "--plan"]):
            with self.subTest(arguments=arguments):
                done = run("ringrpcd", *arguments, seconds=20)
                self.assertEqual(2, done.returncode, done.stderr)
                self.assertNotEqual("", done.stderr)

    def test_what_is_wrong_with_listeners_is_said(self):
        for arguments, words in (
                (["--unix", "X", "--unix", "X"], "cannot listen on X: it is given twice"),
                (["--unix", "X", "--listen", "unix-http:X"], "X: it is given twice"),
                (["--tcp", "127.0.0.1:99", "--listen", "127.0.0.1:99"], "99: it is given twice"),
                (["--listen", "http://127.0.0.1:0/x"], "an address has no path"),
                (["--listen", "[::1]:0/"], "an address has no path"),
                (["--tcp", "localhost:80/rpc"], "an address has no path"),
                (["--unix-mode", "0660", "--listen", "127.0.0.1:0"],
                 "--unix-mode is for Unix sockets, and there is none"),
                (["--unix-mode", "0660", "--stdio", "rpc"], "there is none")):
            for plan in ([], ["--plan"]):
                with self.subTest(arguments=arguments, plan=plan):
                    done = run("ringrpcd", *arguments, *plan, seconds=20)
                    self.assertEqual((2, ""), (done.returncode, done.stdout), done.stderr)
                    self.assertIn(words, done.stderr)
        for arguments in (["--unix", "X"], ["--unix-http", "X"], ["--listen", "unix:X"],
                          ["--listen", "unix-http:X"]):
            done = run("ringrpcd", "--unix-mode", "0660", *arguments, "--plan")
            self.assertEqual(0, done.returncode, done.stderr)
        done = run("ringrpcd", "--plan", "--tcp", "127.0.0.1:0", "--listen", "127.0.0.1:0")
        self.assertEqual(0, done.returncode, done.stderr)

    def test_a_path_in_two_spellings_is_in_use_and_may_be_by_itself(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            done = run("ringrpcd", "--unix", f"{folder}/s", "--unix", f"{folder}/./s")
            self.assertEqual(3, done.returncode, done.stderr)
            self.assertIn("or this one does already", done.stderr)
            self.assertEqual([], os.listdir(folder))

    def test_an_empty_value_is_said_to_be_empty(self):
        for flag in ("--listen", "--port-file", "--host", "--origin"):
            done = run("ringrpcd", f"{flag}=", "--plan")
            self.assertIn(f"{flag}: the value is empty", done.stderr)

    def test_flags_of_later_versions_answer_not_yet(self):
        for arguments in (["--config", "a"], ["--conformance"], ["--conformance=a2a-off"]):
            with self.subTest(arguments=arguments):
                done = run("ringrpcd", "--listen", "127.0.0.1:0", *arguments)
                self.assertEqual(2, done.returncode, done.stderr)
                self.assertIn(f"{arguments[0].split('=')[0]}: not yet", done.stderr)

    def test_the_plan_binds_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = run("ringrpcd", "--plan", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("total", done.stdout)

    def test_a_plan_of_what_would_not_start_is_refused_as_a_start_would_be(self):
        for arguments in (["--listen", "nonsense"], ["--listen", "127.0.0.1:70000"],
                          ["--listen", "0.0.0.0:70000"], ["--listen", "unix:"],
                          ["--listen", "ws://127.0.0.1:1"], ["--listen", "unix-http:/" + "x" * 200],
                          ["--listen", "no-such-host.invalid:1"], ["--tcp", "nonsense"],
                          ["--listen", "127.0.0.1:0", "--tcp", "[::1:0"], ["--unix", "a\tb"],
                          ["--unix-http", "a\nb"], ["--config", "a"], ["--conformance"],
                          ["--stdio", "mcp"]):
            for plan in ([], ["--plan"]):
                with self.subTest(arguments=arguments, plan=plan):
                    done = run("ringrpcd", *arguments, *plan, seconds=20)
                    self.assertEqual((2, ""), (done.returncode, done.stdout), done.stderr)
                    self.assertEqual(1, done.stderr.count("\n"), done.stderr)

    def test_listen_takes_every_form_of_a_listener(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            forms = ("127.0.0.1:0", "http://127.0.0.1:0", "tcp://127.0.0.1:0",
                     f"unix:{folder}/l", f"unix-http:{folder}/h")
            flags = [word for form in forms for word in ("--listen", form)]
            with Server(*flags, "--host", "a.example") as server:
                self.assertEqual(["http", "http", "tcp", "unix", "unix-http"],
                                 [line.split()[0] for line in server.lines])
                ports = [line.split()[1] for line in server.lines]
                for url in (f"http://127.0.0.1:{ports[0]}/rpc", f"http://127.0.0.1:{ports[1]}/rpc",
                            f"tcp://127.0.0.1:{ports[2]}", f"unix:{folder}/l",
                            f"unix-http:{folder}/h"):
                    done = run("ringcall", url, "sum", "[2,3]")
                    self.assertEqual((0, "5\n"), (done.returncode, done.stdout), done.stderr)
                self.assertEqual(0, server.stop())

    def test_only_http_on_an_address_is_told_of_names(self):
        for form in ("http://0.0.0.0:0", "tcp://0.0.0.0:0"):
            with Server("--listen", form) as server:
                told = "--host NAME" in server.start_line
                self.assertEqual(form.startswith("http"), told, server.start_line)

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

    def test_each_stop_signal_stops_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Server() as server:
                self.assertEqual(0, server.stop(number))

    def test_a_hangup_that_is_ignored_stays_ignored(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does; it is inherited
        try:
            with Server() as server:
                signal.signal(signal.SIGHUP, before)
                server.process.send_signal(signal.SIGHUP)
                self.assertEqual((0, 5), server.call("sum", "[2,3]"))
                self.assertEqual(0, server.stop())
        finally:
            signal.signal(signal.SIGHUP, before)

    def test_names_are_allowed_in_host_and_origin(self):
        def status(server, host, origin=None):
            headers = ["-H", f"Host: {host}"] + (["-H", f"Origin: {origin}"] if origin else [])
            done = run("ringcall", *headers, server.url, "echo")
            return done.returncode, "403" in done.stderr
        refused, served = (1, True), (0, False)
        flags = ("--host", "a.example:81", "--host", "b.example", "--origin", "https://c.example")
        with Server(*flags) as server:
            for host, answer in (("a.example:81", served), ("A.Example:81", served),
                                 ("a.example", refused), ("b.example", served),
                                 ("b.example:0", served), ("b.example:81", refused),
                                 ("c.example", refused), ("127.0.0.1", served)):
                with self.subTest(host=host):
                    self.assertEqual(answer, status(server, host))
            for origin, answer in (("https://c.example", served), ("http://c.example", refused),
                                   ("https://d.example", refused), ("null", refused)):
                with self.subTest(origin=origin):
                    self.assertEqual(answer, status(server, "localhost", origin))

    def test_a_server_for_others_says_that_it_needs_their_names(self):
        with Server("--listen", "0.0.0.0:0") as server:
            self.assertIn("0.0.0.0:0", server.start_line)
            self.assertIn("--host NAME", server.start_line)
        with Server("--listen", "0.0.0.0:0", "--host", "x.example") as server:
            self.assertNotIn("--host", server.start_line)
        for address in ("127.0.0.1:0", "[::1]:0", "localhost:0", "127.1.2.3:0"):
            with Server("--listen", address) as server:
                self.assertNotIn("--host", server.start_line)

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

    def test_batches_and_messages_reach_a_real_server(self):
        with Server() as server:
            done = run("ringcall", "--batch", server.url,
                       stdin='sum [1,2]\nfail\n{"jsonrpc":"2.0","method":"jobs.progress"}\n'
                             'echo [5]')
            self.assertEqual(["3", "[5]"], done.stdout.split("\n")[0:3:2], done)
            self.assertEqual(1, done.returncode, done)
            done = run("ringcall", server.url, "-", stdin='{"jsonrpc":"2.0","id":1')
            self.assertEqual(1, done.returncode)
            self.assertIn("-32700", done.stdout)
            done = run("ringcall", "--notify", server.url, "jobs.progress")
            self.assertEqual((0, ""), (done.returncode, done.stdout))
            self.assertIn("204 No Content", done.stderr)
            done = run("ringcall", "--time", "--retries=2", server.url, "crash")
            self.assertEqual(1, done.returncode)
            self.assertEqual(2, server.call("stats.calls")[1]["crash"])

    def test_ringcall_speaks_every_transport_of_the_server(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            flags = ("--tcp", "127.0.0.1:0", "--unix", f"{folder}/l", "--unix-http", f"{folder}/h")
            with Server(*flags) as server:
                ports = dict(line.split(" ", 1) for line in server.lines)
                for url in (server.url, f"ws://127.0.0.1:{server.port}/rpc",
                            f"tcp://127.0.0.1:{ports['tcp']}", f"unix:{folder}/l",
                            f"unix-http:{folder}/h", f"unix-ws:{folder}/h"):
                    with self.subTest(url=url):
                        done = run("ringcall", url, "sum", "[2,3]")
                        self.assertEqual((0, "5\n"), (done.returncode, done.stdout), done.stderr)
                        done = run("ringcall", url, "fail")
                        self.assertEqual(1, done.returncode, done.stderr)
                        done = run("ringcall", "--batch", url, stdin="sum [1,2]\necho [5]\n")
                        self.assertEqual("3\n[5]\n", done.stdout, done.stderr)
                        done = run("ringcall", "--notify", url, "jobs.progress")
                        self.assertEqual((0, ""), (done.returncode, done.stdout), done.stderr)
                        done = run("ringcall", "--follow", url, "ticks", '{"count":3,"ms":1}')
                        self.assertEqual('tick {"n":1}\ntick {"n":2}\ntick {"n":3}\n3\n',
                                         done.stdout, done.stderr)
                        done = run("ringcall", "--timeout=0.1", url, "sleep", '{"ms":600000}')
                        self.assertEqual(3, done.returncode, done.stderr)
                self.assertEqual(0, server.stop())
        command = f"stdio:'{os.path.join(BIN, 'ringrpcd')}' --stdio rpc"
        done = run("ringcall", command, "sum", "[2,3]")
        self.assertEqual((0, "5\n"), (done.returncode, done.stdout), done.stderr)

    def test_an_order_id_comes_back_byte_for_byte(self):
        with Server() as server:
            for token in ("9007199254740993", "1.0", "1e2", '"\\u0061"'):
                done = run("ringcall", server.url, "orders.get", f'{{"orderId":{token}}}')
                self.assertEqual(f'{{"orderId":{token},"status":"shipped"}}\n', done.stdout)

    @staticmethod
    def code(answer):
        return answer[0], answer[1]["code"]


class Ringload(unittest.TestCase):
    """ringload against a real server: what it reports as wrong would be wrong with one of them."""

    def load(self, server, *arguments):
        done = run("ringload", "--json", "--connections", "4", *arguments, server.url)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_each_kind_of_load_is_answered_well(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            bodies = os.path.join(folder, "bodies")
            with open(bodies, "w", encoding="ascii") as file:
                file.write('3 {"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1} 5\n'
                           '{"jsonrpc":"2.0","method":"jobs.progress","params":[1]}\n'
                           '{"jsonrpc":"2.0","method":"echo","params":{"a":[1, 2]},"id":"x"} '
                           '{"a": [1,2]}\n'
                           '{"jsonrpc":"2.0","method":"blob","params":[20000],"id":"x"}\n')
            for io in ("uring", "epoll"):
                with Server("--io", io) as server:
                    for how in (("--check", "1"), ("--check", "7", "--depth", "16"),
                                ("--batch", "50", "--check", "1"), ("--fresh-ids",),
                                ("--bodies", bodies, "--check", "1", "--depth", "4"),
                                ("--bodies", bodies, "--batch", "20", "--check", "1"),
                                ("--churn", "5", "--depth", "4"), ("--rate", "5000"),
                                ("--rate", "5000", "--churn", "3", "--check", "1"),
                                ("--threads", "2", "--spread", "0.1")):
                        with self.subTest(io=io, how=how):
                            report = self.load(server, "--requests", "1000", *how)
                            self.assertEqual(1000, report["answered"])
                            checks = 0
                            if "--check" in how:
                                checks = -(-1000 // int(how[how.index("--check") + 1]))
                            self.assertEqual(checks, report["full_checks"])
                    self.assertEqual(0, server.stop())

    def test_batches_over_every_limit_end_with_a_line_and_exit_1(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            bodies = os.path.join(folder, "bodies")
            with open(bodies, "w", encoding="ascii") as file:
                file.write('{"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1} 5\n'
                           '{"jsonrpc":"2.0","method":"echo","id":1} null\n')
            with Server("--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0") as server:
                tcp = server.lines[1].split()[1]
                for url in (server.url, f"ws://127.0.0.1:{server.port}/rpc",
                            f"tcp://127.0.0.1:{tcp}"):
                    mixed = ("--bodies", bodies, "--check", "1")
                    # All its batches are made before the first is sent: mixed ones take longest.
                    cases = [(2_000, "-31005", ()), (2_000, "-31005", mixed),
                             (120_000, "_size_max|: 1009:", ())]
                    if url.startswith("tcp"):
                        cases.append((120_000, "_size_max", mixed))
                    for batch, words, how in cases:
                        with self.subTest(url=url, batch=batch, how=how):
                            done = run("ringload", "--connections", "2", "--requests", "4",
                                       "--batch", str(batch), *how, url)
                            self.assertEqual(1, done.returncode, done.stderr)
                            self.assertRegex(done.stderr, words)

    def test_messages_that_stand_alone_are_checked_in_whatever_order_they_come(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            bodies = os.path.join(folder, "bodies")
            with open(bodies, "w", encoding="ascii") as file:
                file.write('3 {"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1} 5\n'
                           '{"jsonrpc":"2.0","method":"sleep","params":[3],"id":1} null\n'
                           '{"jsonrpc":"2.0","method":"sleep","params":[1],"id":"y"} null\n')
            with Server("--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--unix",
                        f"{folder}/l") as server:
                tcp = server.lines[1].split()[1]
                for url in (f"ws://127.0.0.1:{server.port}/rpc", f"tcp://127.0.0.1:{tcp}",
                            f"unix:{folder}/l"):
                    for how in (("--check", "1"), ("--check", "7", "--depth", "16"),
                                ("--batch", "50", "--check", "1", "--depth", "4"),
                                ("--bodies", bodies, "--check", "1", "--depth", "8"),
                                ("--bodies", bodies, "--depth", "8"),
                                ("--bodies", bodies, "--batch", "5", "--depth", "8", "--check",
                                 "1"), ("--rate", "5000", "--check", "1", "--depth", "4")):
                        with self.subTest(url=url, how=how):
                            done = run("ringload", "--json", "--connections", "4", "--requests",
                                       "1000", *how, url)
                            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
                            self.assertEqual(1000, json.loads(done.stdout)["answered"])
                self.assertEqual(0, server.stop())


class Counters(OneByOne):
    """Answers each GET with the next text, the last one again and again."""

    def __init__(self, *texts, status="200 OK"):
        self.texts, self.status = list(texts), status
        self.lines = []
        super().__init__()

    def serve(self, peer, file):
        self.lines.append(file.readline())
        while file.readline().strip():
            pass
        text = self.texts[min(len(self.lines), len(self.texts)) - 1]
        peer.sendall(http(text, "Connection: close\r\n", self.status))


class Terminal:
    """A program in a terminal of that size."""

    def __init__(self, rows, columns, program, *arguments):
        self.own, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([os.path.join(BIN, program), *arguments], stdin=other,
                                        stdout=other, stderr=other)
        os.close(other)
        self.text = ""

    def read(self):
        """Returns: whether there was more."""
        assert select.select([self.own], [], [], 60)[0], self.text
        try:
            data = os.read(self.own, 65536)
        except OSError:  # nobody has the other side any more
            data = b""
        self.text += data.decode()
        return data != b""

    def read_until(self, words):
        begin = len(self.text)
        while words not in self.text[begin:]:
            assert self.read(), self.text

    def end(self, with_signal):
        self.process.send_signal(with_signal)
        while self.read():
            pass
        return self.process.wait(20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.own)


class Ringtop(unittest.TestCase):
    BEGIN, END = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"

    def plain(self, url, *arguments):
        done = run("ringtop", url, "--interval", "50", *arguments)
        self.assertEqual((0, ""), (done.returncode, done.stderr), done.stdout)
        lines = done.stdout.splitlines()
        self.assertTrue(all(line.isprintable() and len(line) <= 80 for line in lines), lines)
        return lines

    def test_a_real_server_is_shown_over_both_transports(self):
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            with Server("--unix-http", f"{folder}/h") as server:
                self.assertEqual((0, 3), server.call("sum", "[1,2]"))
                server.call("no.such", "[1,2]")
                deep = "[" * 100 + "]" * 100
                self.assertEqual(1, run("ringcall", server.url, "echo", deep).returncode)
                for url in (f"http://127.0.0.1:{server.port}", server.url, f"unix-http:{folder}/h"):
                    for how in (("--once",), ()):
                        lines = self.plain(url, *how)
                        self.assertRegex(lines[0], r"^ringtop  \S+ +over \d\.\d\d s$")
                        text = "\n".join(lines)
                        self.assertRegex(text, r"\nsum +0/s +\S+ +1\n")
                        self.assertRegex(text, r"\n\(no such method\) +0/s +\S+ +1\n")
                        self.assertRegex(text, r"\nlimits hit +depth 1\n")
                        self.assertRegex(text, r"\nerrors .*-32601 1\b")
                        self.assertRegex(text, r"\nmemory +\d.* MiB")
                        self.assertRegex(text, r"\nworkers +turns ")
                pictures = "\n".join(self.plain(server.url, "--count", "3")).split("\n\nringtop")
                self.assertEqual(3, len(pictures))
                self.assertEqual(0, server.stop())

    def test_rates_and_quantiles_are_of_the_interval(self):
        def text(calls):
            return (f'ringrpc_turns_total 1\nringrpc_calls_total{{method="a\x1b\\n"}} {calls}\n'
                    f'ringrpc_call_seconds_bucket{{le="1e-05"}} {calls}\n'
                    f'ringrpc_call_seconds_bucket{{le="+Inf"}} {calls}\n')

        with Counters(text(7), text(1007)) as server:
            picture = "\n".join(self.plain(server.url, "--once"))
            self.assertEqual([b"GET /metrics HTTP/1.1\r\n"] * 2, server.lines)
        self.assertRegex(picture, r"\ncalls +[\d.]+k?/s ")
        self.assertRegex(picture, r"\np50 +5\.0 us +p99 +9\.9 us ")
        self.assertRegex(picture, r"\na\\x1B\\n +[\d.]+k?/s +100\.0 % +1\.0k\n")

    def test_a_server_that_began_anew_is_told_of(self):
        with Counters("ringrpc_turns_total 9\n", "ringrpc_turns_total 3\n") as server:
            self.assertIn("the server has started anew", self.plain(server.url, "--once"))

    def test_without_counters_it_exits_3_and_says_why(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            gone = f"http://127.0.0.1:{listener.getsockname()[1]}"
        done = run("ringtop", gone, "--once")
        self.assertEqual((3, ""), (done.returncode, done.stdout))
        self.assertIn("refused", done.stderr)
        for text, status, words in (("", "404 Not Found", "answers HTTP/1.1 404 Not Found"),
                                    ("up 1\n", "200 OK", "no counters of a ringrpc server"),
                                    ("up 1\n<html>", "200 OK", "line 2 of the answer")):
            with Counters(text, status=status) as server:
                done = run("ringtop", server.url)
                self.assertEqual((3, ""), (done.returncode, done.stdout))
                self.assertIn(words, done.stderr)

    def test_usage(self):
        for arguments in (["a", "b"], ["tcp://127.0.0.1:1"], ["stdio:cat"], ["nonsense"], [""],
                          ["--interval", "0"], ["--interval=", "x"], ["--count", "0"],
                          ["--once", "--count", "2"]):
            with self.subTest(arguments=arguments):
                done = run("ringtop", *arguments)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                self.assertNotEqual("", done.stderr)
        self.assertEqual(0, run("ringtop", "--help").returncode)
        self.assertRegex(run("ringtop", "--version").stdout, r"^ringtop \d+\.\d+\.\d+\n$")
        with Counters("ringrpc_turns_total 9\n") as server:
            code, said = run_into("/dev/full", "ringtop", "--interval=50", server.url)
            self.assertEqual(3, code, said)

    def test_a_terminal_is_given_back_as_it_was(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Counters("ringrpc_turns_total 9\n") as server, \
                    Terminal(12, 40, "ringtop", "--interval=50", server.url) as terminal:
                terminal.read_until("calls ")
                terminal.read_until("calls ")
                self.assertEqual(0, terminal.end(number))
                self.assertTrue(terminal.text.startswith(self.BEGIN))
                self.assertTrue(terminal.text.endswith(self.END), terminal.text)
                for picture in terminal.text[len(self.BEGIN):-len(self.END)].split("\x1b[H")[1:]:
                    lines = picture.replace("\x1b[K", "").replace("\x1b[J", "").split("\r\n")
                    self.assertLessEqual(len(lines), 12)
                    self.assertTrue(all(len(line) <= 40 for line in lines), lines)

    def test_in_a_terminal_it_waits_for_a_server_that_went_away(self):
        with Server() as server:
            with Terminal(40, 80, "ringtop", "--interval=50", server.url) as terminal:
                terminal.read_until("over ")
                self.assertEqual(0, server.stop())
                terminal.read_until("trying again")
                with Server("--listen", f"127.0.0.1:{server.port}") as again:
                    terminal.read_until("the server has started anew")
                    terminal.read_until("over ")
                    self.assertEqual(0, again.stop())
                terminal.read_until("trying again")
                self.assertEqual(0, terminal.end(signal.SIGINT))

    def test_a_count_ends_it_in_a_terminal_too(self):
        with Counters("ringrpc_turns_total 9\n") as server, \
                Terminal(40, 80, "ringtop", "--interval=50", "--count=2", server.url) as terminal:
            while terminal.read():
                pass
            self.assertEqual(0, terminal.process.wait(20))
            self.assertEqual(2, terminal.text.count("over "))


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Scripts(unittest.TestCase):
    def shell(self, *command):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                              cwd=ROOT)

    def test_run_tells_its_usage_without_building(self):
        for flag in ("--help", "-h"):
            done = self.shell("tools/run", flag)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn("usage: tools/run", done.stdout)
            self.assertNotIn("build\n", done.stdout)
            self.assertNotIn("configure", done.stdout)

    def test_two_builds_of_a_preset_take_turns(self):
        # Each writes "in" and "out" around a wait for the other one, which must not come between.
        with tempfile.TemporaryDirectory(prefix="programs_test_") as folder:
            script = f"""
                source {ROOT}/tools/common.sh
                cd {folder}
                build_preset_alone() {{
                  echo in >>log
                  for _ in 1 2 3 4 5; do grep -q waiting said && break; sleep 0.2; done
                  echo out >>log
                }}
                touch said
                build_preset dev >>said & build_preset dev >>said & wait
                cat log said"""
            done = self.shell("bash", "-c", script)
        self.assertEqual(["in", "out", "in", "out"], done.stdout.split()[:4], done.stderr)
        self.assertIn("waiting for another build", done.stdout)


if __name__ == "__main__":
    unittest.main()
