#!/usr/bin/env python3
"""Compiles one file twice: as it is it must compile without a warning, and with -DREFUSED it must
not, for the reason that the file expects. Usage: compile_fail_test.py COMPILER INCLUDE FILE"""

import re
import subprocess
import sys

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
         "-Wpedantic", "-Wmissing-field-initializers"]


def compile_it(compiler, include, path, extra):
    command = [compiler, *FLAGS, "-I", include, *extra, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def main():
    compiler, include, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        expected = re.search(r"^// Expect: (.+)$", file.read(), re.M).group(1)

    status, output = compile_it(compiler, include, path, ["-Werror"])
    if status != 0:
        sys.exit(f"{path} does not compile, or not without warnings:\n{output}")

    status, output = compile_it(compiler, include, path, ["-DREFUSED"])
    if status == 0:
        sys.exit(f"{path} compiles with -DREFUSED")
    # Compilers print the sentence as it is; long ones are split in the source only.
    if expected not in output:
        sys.exit(f"{path} is not refused for the reason that it expects:\n  {expected}\n{output}")


main()
