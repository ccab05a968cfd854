#!/usr/bin/env python3
"""Other people's client libraries on a worker's own loop: the programs of engine/docs/waiting.md
are compiled and run with one worker, on both backends, and a thousand calls are in flight on it at
once: with hiredis each waits in a real redis-server for an element that comes only when all wait;
with libcurl each asks an HTTP server that answers nobody before all have asked.

Usage: waiting_test.py BUILD_DIR COMPILER hiredis|libcurl [FLAG...]
Exit code 77: the library, or redis-server, is not installed.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
CALLS = 1000
CONNECTIONS = 20
PATIENCE = 60  # seconds; nothing here takes this long


def skip(what):
    print(f"skipped: {what} is not installed")
    sys.exit(77)


def block_with(text):
    """The block of the page that has this in it."""
    with open(os.path.join(ROOT, "engine", "docs", "waiting.md"), encoding="ascii") as file:
        blocks = re.findall(r"^```cpp\n(.*?)^```$", file.read(), flags=re.M | re.S)
    found = [block for block in blocks if text in block]
    assert len(found) == 1, f"{len(found)} blocks with {text}"
    return found[0]


def pkg_config(*arguments):
    done = subprocess.run(["pkg-config", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else None


def replaced(text, old, new):
    assert old in text, f"the page does not say {old} any more"
    return text.replace(old, new)


def build(bench, source, library):
    """Compiles a program of the page. Returns: its path."""
    path = os.path.join(bench.scratch, library)
    with open(path + ".cpp", "w", encoding="ascii") as file:
        file.write(source)
    libraries = pkg_config("--libs", "simdjson", "liburing", library)
    subprocess.run([bench.compiler, "-std=c++20", "-O1", "-g", *WARNINGS, *bench.flags,
                    "-I", os.path.join(ROOT, "engine", "include"),
                    *pkg_config("--cflags", library), path + ".cpp", "-o", path,
                    os.path.join(bench.build, "engine", "libringrpc.a"), *libraries, "-pthread"],
                   check=True)
    return path


class Bench:
    """A scratch folder, and the processes that run in it."""

    def __init__(self, build_folder, compiler, flags, scratch):
        self.build, self.compiler, self.flags = os.path.abspath(build_folder), compiler, flags
        self.scratch = scratch
        self.processes = []

    def run(self, command):
        self.processes.append(subprocess.Popen(command, cwd=self.scratch))
        return self.processes[-1]

    def stop(self, process):
        self.processes.remove(process)
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
        assert code == 0, f"exit {code} after SIGTERM"

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def port_of(self, process, path):
        """The port that a server has written, complete, into a file."""
        wait_until(lambda: os.path.exists(path) or process.poll() is not None, "a port")
        with open(path, encoding="ascii") as file:
            return int(re.search(r"http (\d+)", file.read()).group(1))


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} does not come"
        time.sleep(0.01)


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def metric(port, name):
    with connected(port) as one:
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        text = b"".join(iter(lambda: one.recv(65536), b"")).decode()
    return int(re.search(rf"^{name} (\d+)$", text, flags=re.M).group(1))


def request(method, params, number):
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    return ("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def send_all(port, method, params_of):
    """Sends CALLS calls over CONNECTIONS connections. Returns: the connections."""
    sockets = [connected(port) for _ in range(CONNECTIONS)]
    for number in range(CALLS):
        sockets[number % CONNECTIONS].sendall(request(method, params_of(number), number))
    return sockets


def take_all(sockets):
    """Returns: the message that answers each call, by its id."""
    answers = {}
    for one in sockets:
        with one.makefile("rb") as stream:
            for _ in range(CALLS // CONNECTIONS):
                assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
                size = 0
                for line in iter(stream.readline, b"\r\n"):
                    name, value = line.split(b":", 1)
                    size = int(value) if name.lower() == b"content-length" else size
                answer = json.loads(stream.read(size))
                answers[answer["id"]] = answer
        one.close()
    return answers


def with_backend(source, io, port_file):
    """The program with a port of its own and this backend."""
    return replaced(source, '.listen = "127.0.0.1:8080", .workers = 1',
                    f'.listen = "127.0.0.1:0", .workers = 1, .io = ringrpc::IoChoice::{io},\n'
                    f'                          .port_file = "{port_file}"')


def start(bench, source, library, io):
    """Returns: the program's process and its port."""
    port_file = os.path.join(bench.scratch, f"{library}.{io}.port")
    program = bench.run([build(bench, with_backend(source, io, port_file), library)])
    return program, bench.port_of(program, port_file)


def check_baseline(port):
    wait_until(lambda: metric(port, "ringrpc_in_flight") == 0, "the end of every call")
    assert metric(port, "ringrpc_exceptions_total") == 0


def redis_says(port, *words):
    """One command to redis, by hand. Returns: the first line of its answer."""
    with connected(port) as one:
        text = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        one.sendall(text.encode())
        with one.makefile("rb") as stream:
            return stream.readline().decode().rstrip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def redis_is_up(port):
    try:
        return redis_says(port, "PING") == "+PONG"
    except OSError:
        return False


def check_hiredis(bench, io):
    port = free_port()
    redis = bench.run(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                       "--maxclients", "4000", "--tcp-backlog", "2048",
                       "--dir", bench.scratch, "--logfile", "redis.log"])
    wait_until(lambda: redis.poll() is not None or redis_is_up(port), "redis-server")
    source = replaced(block_with("hiredis.h"), '"127.0.0.1", 6379', f'"127.0.0.1", {port}')
    program, own = start(bench, source, "hiredis", io)
    sockets = send_all(own, "pop", lambda number: {"list": f"list {number % 10}"})
    wait_until(lambda: metric(own, "ringrpc_in_flight") == CALLS, f"{CALLS} calls in flight")
    blocked = f"clients that wait in redis-server, {CALLS} of them"
    wait_until(lambda: redis_blocked(port) == CALLS, blocked)
    # The loop is free meanwhile: it answers at once that a list has a wrong type, or an element.
    assert redis_says(port, "SET", "text", "1") == "+OK"
    with connected(own) as one:
        one.sendall(request("pop", {"list": "text"}, 1))
        assert b'"code":2' in one.recv(65536)
    for number in range(10):
        words = [f"{number}.{k}" for k in range(CALLS // 10)]
        redis_says(port, "RPUSH", f"list {number}", *words)
    answers = take_all(sockets)
    results = sorted(answer["result"] for answer in answers.values())
    assert results == sorted(f"{n}.{k}" for n in range(10) for k in range(CALLS // 10))
    for number, answer in answers.items():
        assert answer["result"].startswith(f"{number % 10}."), answer
    check_baseline(own)
    # Those whose peers leave give their connections back.
    sockets = send_all(own, "pop", lambda number: {"list": "nobody"})
    wait_until(lambda: redis_blocked(port) == CALLS, blocked)
    for one in sockets:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        one.close()
    wait_until(lambda: redis_blocked(port) == 0, "the end of those that waited")
    check_baseline(own)
    bench.stop(program)
    bench.stop(redis)


def redis_blocked(port):
    with connected(port) as one:
        one.sendall(b"*2\r\n$4\r\nINFO\r\n$7\r\nclients\r\n")
        with one.makefile("rb") as stream:
            text = stream.read(int(stream.readline()[1:])).decode()
    return int(re.search(r"^blocked_clients:(\d+)", text, flags=re.M).group(1))


def check_libcurl(bench, io):
    port_file = os.path.join(bench.scratch, f"barrier.{io}.port")
    barrier = bench.run([os.path.join(bench.build, "bin", "waiting_barrier"), port_file])
    far = bench.port_of(barrier, port_file)
    program, own = start(bench, block_with("curl.h"), "libcurl", io)
    url = f"http://127.0.0.1:{far}/rpc"

    def params_of(number, of=CALLS):
        body = {"jsonrpc": "2.0", "id": number, "method": "arrive", "params": {"of": of}}
        return {"url": url, "body": json.dumps(body)}

    answers = take_all(send_all(own, "ask", params_of))
    for number in range(CALLS):
        expected = {"jsonrpc": "2.0", "result": CALLS, "id": number}
        assert answers[number]["result"] == expected, answers[number]
    check_baseline(own)
    # They wait for one more, and their peers leave.
    sockets = send_all(own, "ask", lambda number: params_of(number, CALLS + 1))
    wait_until(lambda: metric(far, "ringrpc_in_flight") == CALLS, f"{CALLS} calls in flight")
    assert metric(own, "ringrpc_in_flight") == CALLS
    for one in sockets:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        one.close()
    wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/fd")) < 100, "the end of transfers")
    check_baseline(own)
    # The far server holds what nobody hears any more, until the last one has come.
    with connected(far) as one:
        one.sendall(request("arrive", {"of": CALLS + 1}, 1))
        assert f'"result":{CALLS + 1}'.encode() in one.recv(65536)
    bench.stop(program)
    bench.stop(barrier)


def main():
    build_folder, compiler, library, *flags = sys.argv[1:]
    check = {"hiredis": check_hiredis, "libcurl": check_libcurl}[library]
    if pkg_config("--cflags", library) is None:
        skip(library)
    if library == "hiredis" and shutil.which("redis-server") is None:
        skip("redis-server")
    for io in ("automatic", "epoll"):
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(build_folder, compiler, flags, scratch)
            try:
                check(bench, io)
            finally:
                bench.end()
        print(f"{library}, {io}: {CALLS} calls in flight on one worker")


main()
