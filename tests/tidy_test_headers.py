#!/usr/bin/env python3
"""Every header compiles alone, and a second time behind itself, with the project's warnings.

Usage: tidy_test_headers.py COMPILER [FLAG...]
"""

import concurrent.futures
import os
import subprocess
import sys

from tidy_test import ROOT, tracked

WARNINGS = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def compile_text(command, text):
    """Returns: what the compiler says; empty when it is content."""
    done = subprocess.run([*command, *WARNINGS, "-fsyntax-only", "-x", "c++", "-I", ROOT,
                           "-I", os.path.join(ROOT, "engine", "include"), "-"],
                          input=text, capture_output=True, text=True, check=False, cwd=ROOT)
    return "" if done.returncode == 0 else done.stderr or "failed"


def text_of(header):
    public = "engine/include/"
    name = f"<{header[len(public):]}>" if header.startswith(public) else f'"{header}"'
    return f"#include {name}\n#include {name}\n"


def reached(command, header):
    """Every file that a public header reaches, with the installed folder alone on the path."""
    done = subprocess.run([*command, "-std=c++20", "-M", "-x", "c++", "-I",
                           os.path.join(ROOT, "engine", "include"), "-"], check=True, text=True,
                          input=f"#include <ringrpc/{header}>\n", capture_output=True, cwd=ROOT)
    return done.stdout.replace("\\\n", " ").split()[1:]


def is_internal(path):
    """Whether users do not have the file, or must not need it."""
    path = os.path.normpath(path)
    own = os.path.join(ROOT, "engine", "include") + os.sep
    library = os.path.basename(os.path.dirname(path))
    return (path.startswith(ROOT + os.sep) and not path.startswith(own)) or (
        library in ("liburing", "openssl") or os.path.basename(path).startswith(
            ("simdjson", "liburing", "curl")))


def main():
    command = sys.argv[1:]
    headers = [path for path in tracked() if path.endswith(".h")
               and path.startswith(("engine/", "tools/", "bench/", "tests/support/"))]
    assert len(headers) > 10, "the tree is not seen"
    if not compile_text(command, "int f(std::string_view);\n"):
        print("FAILED: a header that does not compile alone is not noticed")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda header: compile_text(command, text_of(header)), headers))
    if not is_internal(os.path.join(ROOT, "engine", "json", "index.h")) or not is_internal(
            "/usr/include/liburing.h"):
        print("FAILED: an internal header is not noticed")
        return 1
    for header in ("client.h", "server.h"):
        paths = reached(command, header)
        internal = [path for path in paths if is_internal(path)]
        if internal or not any(path.endswith("ringrpc/" + header) for path in paths):
            print(f"FAILED: {header} reaches {internal or 'nothing'}")
            return 1
    failed = [(header, answer) for header, answer in zip(headers, answers) if answer]
    for header, answer in failed:
        print(f"FAILED: {header}\n{answer}")
    print(f"{len(headers) - len(failed)} headers compile alone, {len(failed)} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
