#!/usr/bin/env python3
"""Compiles or runs every block of README.md and of the users' pages, so that they cannot promise
what does not work.

  cpp      compiled with warnings as errors, linked against the library and run: until it ends, or
           as the server on the port of the text, which must answer a call and exit 0 on SIGTERM
           (a server's main() returns its run())
  cmake    configured and built against an installed tree, with the first cpp block as server.cpp
  sh       run by bash in a scratch folder that has server.cpp and the programs
  console  lines after "$ " are run in one shell; what stands below each must be its output

ringrpcd serves meanwhile; 8080 is replaced by its port. The scripts of tools/ set up and test the
whole tree, this test included, so in blocks they are only looked at; tools/check runs them.

Usage: readme_test.py BUILD_DIR COMPILER
"""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
CALL = ['sum', '{"a":2,"b":3}']


class Failure(Exception):
    pass


def blocks(text):
    """(line, language, body) of each fenced block."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.M | re.S):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def free_port():
    """A port that nobody listens on, below those that the kernel gives to outgoing connections: one
    of those could be another test's by the time that it is used."""
    for port in random.sample(range(20000, 32768), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port below 32768")


def run(command, seconds=120, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=seconds, check=False, **options)
    if done.returncode != 0:
        raise Failure(f"exit {done.returncode}: {command}\n{done.stdout}")
    return done.stdout


def wait_until_open(port, process, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failure(f"it ended with {process.returncode} instead of serving")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise Failure("it does not serve")


def stop(process):
    process.send_signal(signal.SIGTERM)
    if process.wait(20) != 0:
        raise Failure(f"exit {process.returncode} after SIGTERM")


class Bench:
    """A scratch folder in which the blocks run, with a server beside it."""

    def __init__(self, build, compiler, scratch):
        self.build, self.compiler, self.scratch = build, compiler, scratch
        self.bin = os.path.join(build, "bin")
        self.prefix = os.path.join(scratch, "prefix")
        self.port = free_port()
        os.makedirs(os.path.join(scratch, "build", "release"))
        os.symlink(self.bin, os.path.join(scratch, "build", "release", "bin"))
        os.makedirs(os.path.join(scratch, "tools"))
        for name in ("run", "build", "test", "check", "profile"):
            script = os.path.join(ROOT, "tools", name)
            stub = os.path.join(scratch, "tools", name)
            with open(stub, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\ntest -x '{script}' && exec bash -n '{script}'\n")
            os.chmod(stub, 0o755)
        self.server = subprocess.Popen(
            [os.path.join(self.bin, "ringrpcd"), "--listen", f"127.0.0.1:{self.port}"])
        wait_until_open(self.port, self.server)

    def on_port(self, text, port=None):
        return text.replace("8080", str(port or self.port))

    def environment(self):
        found = subprocess.run(["find", self.prefix, "-name", "pkgconfig"], capture_output=True,
                               text=True, check=False).stdout.split()
        return dict(os.environ, PKG_CONFIG_PATH=":".join(found), CXX=self.compiler)

    def install(self, first_program):
        with open(os.path.join(self.scratch, "server.cpp"), "w", encoding="ascii") as file:
            file.write(first_program)
        if not os.path.isdir(self.prefix):
            run(["cmake", "--install", self.build, "--prefix", self.prefix])

    def cpp(self, body):
        serves = re.search(r"\breturn \w+\.run\(", body) is not None
        port = free_port() if serves else self.port
        source = os.path.join(self.scratch, "block.cpp")
        program = os.path.join(self.scratch, "block")
        with open(source, "w", encoding="ascii") as file:
            file.write(self.on_port(body, port))
        libraries = run(["pkg-config", "--libs", "simdjson", "liburing"]).split()
        run([self.compiler, "-std=c++20", *WARNINGS, "-I", os.path.join(ROOT, "engine", "include"),
             source, "-o", program, os.path.join(self.build, "engine", "libringrpc.a"),
             *libraries, "-pthread"])
        if not serves:
            run([program])
            return
        with subprocess.Popen([program]) as process:
            try:
                wait_until_open(port, process)
                self.try_methods(body, port)
                stop(process)
            finally:
                process.kill()

    def try_methods(self, body, port):
        """Calls sum where the block has it; every method that it names has to be there."""
        call = [os.path.join(self.bin, "ringcall"), f"http://127.0.0.1:{port}/rpc"]
        described = run([*call, "rpc.discover"])
        for name in re.findall(r'server\.(?:method|blocking)\("([^"]+)"', body):
            if f'"name":"{name}"' not in described:
                raise Failure(f"the method {name} is not there: {described}")
        if '"sum"' in body and run([*call, *CALL]) != "5\n":
            raise Failure("sum of 2 and 3 is not 5")

    def cmake(self, body):
        folder = os.path.join(self.scratch, "consumer")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        shutil.copy(os.path.join(self.scratch, "server.cpp"), folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(consumer CXX)\n" + body)
        run(["cmake", "-S", folder, "-B", folder + "/build", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            env=self.environment())
        run(["cmake", "--build", folder + "/build"])

    def sh(self, body):
        def workflow(match):
            # Not run here, for the reason at the top; that there is such a preset is checked.
            return f"cmake -S '{ROOT}' --list-presets=workflow | grep -q '\"{match.group(1)}\"'"
        body = re.sub(r"^cmake --workflow --preset (\w+)$", workflow, body, flags=re.M)
        run(["bash", "-euo", "pipefail", "-c", self.on_port(body)], cwd=self.scratch,
            env=self.environment())

    def console(self, body):
        """Each command's output stands between two marks; $? is kept for the next command."""
        mark = "-- end of output --"
        expected, script = [], ["shopt -s expand_aliases", "status=0"]
        for line in body.splitlines():
            if line.startswith("$ "):
                script += ["(exit $status)", self.on_port(line[2:]), "status=$?", f"echo '{mark}'"]
                expected.append((line, []))
            elif expected:
                expected[-1][1].append(line)
            else:
                raise Failure("a transcript begins with a command")
        done = subprocess.run(["bash", "-c", "\n".join(script)], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, cwd=self.scratch, timeout=120, check=False)
        outputs = done.stdout.split(mark + "\n")
        if len(outputs) != len(expected) + 1:
            raise Failure(f"the transcript stopped early:\n{done.stdout}")
        for (command, lines), output in zip(expected, outputs):
            # curl ends without a line end: the mark stands right behind its output.
            if output.strip("\n") != "\n".join(lines):
                raise Failure(f"{command}\nsays     {output!r}\nnot      {lines}")


def check(bench, text):
    """Returns: what is wrong with the text, one entry a block; and the number of blocks."""
    found = list(blocks(text))
    failures = []
    programs = [body for _, language, body in found if language == "cpp"]
    if programs:
        bench.install(programs[0])
    for line, language, body in found:
        start = time.monotonic()
        try:
            if language not in ("cpp", "cmake", "sh", "console"):
                raise Failure(f"no way to check a block of {language or 'no language'}")
            getattr(bench, language)(body)
            outcome = "ok"
        except (Failure, subprocess.TimeoutExpired) as failure:
            failures.append(f"line {line}, {language}: {failure}")
            outcome = "FAILED"
        print(f"line {line}, {language}: {outcome} ({time.monotonic() - start:.1f} s)", flush=True)
    return failures, len(found)


# And the least number of blocks of each.
PAGES = {"README.md": 11, "engine/docs/client.md": 4, "engine/docs/coroutines.md": 2}
PLANTED = {
    "a wrong transcript": "```console\n$ echo 1\n2\n```\n",
    "a transcript without output": "```console\n$ true\nok\n```\n",
    "a failing command": "```sh\nfalse\n```\n",
    "a failing script": "```sh\ntools/no-such-script\n```\n",
    "a preset that is not there": "```sh\ncmake --workflow --preset none\n```\n",
    "an unknown language": "```rust\nfn main() {}\n```\n",
    "a program that does not compile": "```cpp\nint main() { return x; }\n```\n",
    "a program that fails": "```cpp\nint main() { return 1; }\n```\n",
}


def main():
    build, compiler = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="readme_test_") as scratch:
        bench = Bench(build, compiler, scratch)
        try:
            print("planted, each must fail:")
            unnoticed = [name for name, bad in PLANTED.items() if not check(bench, bad)[0]]
            failures = []
            for page, least in PAGES.items():
                print(f"{page}:")
                with open(os.path.join(ROOT, page), encoding="ascii") as file:
                    found, count = check(bench, file.read())
                failures += [f"{page}: {failure}" for failure in found]
                if count < least:
                    failures.append(f"{page}: only {count} blocks were found")
            stop(bench.server)
        finally:
            bench.server.kill()
    for name in unnoticed:
        failures.append(f"not noticed: {name}")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
