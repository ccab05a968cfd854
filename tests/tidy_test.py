#!/usr/bin/env python3
"""The layering and tidy test: what the compiler does not check of the house style.

Each rule looks at one file, or at the whole tree, and returns what it found. Each is proved twice:
the tree has no finding, and a planted example has one (with a good neighbour that has none).
Exceptions are named in the tables below, each with its reason; there is no other way out.
"""

import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# --- What is allowed ------------------------------------------------------------------------------

# The arrows of the tree: a folder of engine/ includes itself and these.
EVERY = {"base", "io", "http", "ws", "json", "rpc", "mcp", "a2a", "store", "push", "client",
         "serve"}
ARROWS = {
    "base": set(),
    "io": {"base"},
    "http": {"base"},
    "ws": {"base"},
    "json": {"base"},
    "rpc": {"json", "base"},
    "mcp": {"rpc", "json", "base"},
    "a2a": {"rpc", "json", "base"},
    "store": {"a2a", "base"},
    "push": {"base"},
    "client": {"rpc", "http", "ws", "json", "base"},
    "serve": EVERY,
}

# The public headers that a folder's internals may include.
VALUES = {"limits", "json", "fields", "result", "schema"}
CALLS = VALUES | {"call", "endpoint", "async", "co", "stream", "version"}
PUBLIC_ARROWS = {
    "base": {"limits"},
    "io": {"limits"},
    "http": {"limits"},
    "ws": {"limits"},
    "json": VALUES,
    "rpc": CALLS,
    "mcp": CALLS | {"mcp"},
    "a2a": CALLS | {"a2a"},
    "store": VALUES | {"a2a"},
    "push": {"limits"},
    "client": VALUES | {"client"},
    "serve": CALLS | {"server", "client", "feed", "mcp", "a2a"},
}

# Public headers include public headers of their own rank or below, and the standard library. What
# is split off a header (fields_types.h) has that header's rank.
PUBLIC_RANK = {
    "limits": 0, "version": 0, "result": 1, "json": 1, "fields": 2, "schema": 2, "call": 3,
    "endpoint": 3, "stream": 4, "async": 4, "co": 4, "server": 5, "client": 5,
    "feed": 6, "mcp": 6, "a2a": 6,
}

# Libraries behind one door each: who may include their headers.
DOORS = {
    "simdjson": {"engine/json/stage1.cpp"},
    "liburing": {"engine/io/uring_io.h", "engine/io/uring_io.cpp", "engine/io/uring_setup.cpp"},
}

# Not on the hot path, or not anywhere in the engine.
HOT_FOLDERS = ("io", "http", "ws", "json", "rpc", "serve")
BANNED = {
    "std::function": r"\bstd::function\b",
    "iostream": r"#include <(?:iostream|sstream|fstream|ostream|istream|format)>|"
                r"\bstd::(?:cout|cerr)\b",
    "shared_ptr": r"\b(?:shared_ptr|make_shared|weak_ptr)\b",
    "rtti": r"\bdynamic_cast\b|\btypeid\b",
    "virtual": r"\bvirtual\b",
    "exceptions": r"\bthrow\b|\bcatch\s*\(|\btry\s*\{",
    "heap": r"\b(?:malloc|calloc|realloc)\s*\(|(?<!<)\bnew\b(?!\s*\()|\bmake_unique\b",
    "lock": r"\bstd::(?:mutex|shared_mutex|recursive_mutex|lock_guard|unique_lock|scoped_lock|"
            r"condition_variable)\b",
    "print": r"\b(?:printf|fprintf|puts|fputs|perror)\s*\(",
    "clock": r"\bclock_gettime\b|\b(?:steady|system|high_resolution)_clock\b|\btime\s*\(\s*nullptr",
    "sleep": r"\bsleep_for\b|\bsleep_until\b|\b(?:u|nano)?sleep\s*\(",
}
COLD = {  # file: {word: reason}
    "engine/rpc/call_stats.h": {"heap": "made once, at start"},
    "engine/rpc/guard.cpp": {"exceptions": "the one file that calls handlers in a try block"},
    "engine/rpc/late_calls.cpp": {
        "heap": "made with its worker; a long request's copy, charged"},
    "engine/rpc/late_calls.h": {"lock": "threads that block for room"},
    "engine/rpc/late_waits.cpp": {"lock": "threads that block for room, if there are any"},
    "engine/rpc/table.cpp": {
        "heap": "registration builds the next table",
        "lock": "writers of the table exclude each other; readers never lock"},
    "engine/rpc/table.h": {"lock": "the writers' lock"},
    "engine/serve/blocking_pool.cpp": {"lock": "the queue of jobs, off the loop but for a push"},
    "engine/serve/blocking_pool.h": {"lock": "the queue of jobs"},
    "engine/serve/endpoints.cpp": {"heap": "made with its worker"},
    "engine/serve/hub.cpp": {
        "heap": "a publication for each worker, charged",
        "lock": "publishers exclude each other; workers take theirs from a queue"},
    "engine/serve/hub.h": {"lock": "the publishers' lock"},
    "engine/serve/in_memory.cpp": {
        "heap": "a context is made by the first call that finds none free",
        "lock": "around that making, and where a caller waits for a late answer"},
    "engine/serve/in_memory.h": {"lock": "the makers' lock, and the caller's who waits"},
    "engine/serve/responder.h": {"virtual": "asked by /readyz and /metrics only"},
    "engine/serve/server.cpp": {
        "heap": "the server itself, and registration", "print": "the start line and refusals"},
    "engine/serve/server_impl.cpp": {
        "heap": "workers are made at start",
        "lock": "start, stop and metrics; not the loop"},
    "engine/serve/server_impl.h": {
        "lock": "start, stop and metrics; not the loop",
        "virtual": "a worker without its io, at start and stop"},
    "engine/serve/server_listeners.cpp": {
        "lock": "the end of stdin, told to whoever waits for it", "print": "the port file"},
    "engine/serve/stdio.cpp": {"std::function": "told once, at the end"},
    "engine/serve/stdio.h": {"std::function": "told once, at the end"},
    "engine/serve/worker.cpp": {"heap": "the constructor's tables"},
}

# Caps of the house style, in lines.
SOURCE_LINES_MAX, HEADER_LINES_MAX, FUNCTION_LINES_MAX, COLUMNS_MAX = 400, 200, 60, 100
LONG_FILES = {  # file: (lines, reason)
    "engine/include/ringrpc/limits.h": (300, "every limit is to be found in one place"),
    "engine/serve/worker.h": (230, "turn(), and all that it touches, is one read"),
}
LONG_FUNCTIONS = {}  # (file, name): (lines, reason)

SLEEPING_TESTS = {}  # file: reason
UNLISTED_SOURCES = {}  # file: reason

# --- Looking at files -----------------------------------------------------------------------------


def tracked():
    """Paths that git knows or would add; everything but build trees where there is no git."""
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode == 0:
        paths = sorted(set(done.stdout.decode().split("\0")) - {""})
    else:
        paths = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in ("build", ".git", ".cache")]
            paths += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    return [path for path in paths if os.path.isfile(os.path.join(ROOT, path))]


def is_code(path):
    return path.endswith((".cpp", ".h"))


def is_text(path):
    if "/corpus/" in path or path.startswith("tests/spec/data/"):
        return False
    name = os.path.basename(path)
    return name.endswith((".cpp", ".h", ".py", ".cmake", ".in", ".md", ".mjs", ".sh")) or name in (
        "CMakeLists.txt", "CMakePresets.json") or path.startswith((".ci/", "tools/", "bench/"))


def without_comments(text, keep_strings=False):
    """Blanks out comments (and literals), keeping every line where it was."""
    pattern = (r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
               r"'(?:\\.|[^'\\\n])+'")

    def blank(match):
        found = match.group(0)
        # 1'000'000: a digit separator is no literal.
        if found[0] == "'" and match.start() and text[match.start() - 1].isalnum():
            return found.replace("'", "0")
        if keep_strings and found[0] != "/":
            return found
        return re.sub(r"[^\n]", " ", found)

    return re.sub(pattern, blank, text, flags=re.S)


def includes(text):
    """(line, form, path) of each include directive."""
    plain = without_comments(text, keep_strings=True)
    for number, line in enumerate(plain.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            yield number, match.group(1), match.group(2)


def matches(pattern, text):
    """Lines on which the pattern is found."""
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(pattern, line):
            yield number


def engine_folder(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "engine" and parts[1] in ARROWS else None


def public_name(path):
    match = re.fullmatch(r"engine/include/ringrpc/(\w+)\.h", path)
    return match.group(1) if match else None


def rank(public, unknown):
    return PUBLIC_RANK.get(public, PUBLIC_RANK.get(public.split("_")[0], unknown))


def functions(text):
    """(name, first line, lines) of each function body that stands in a namespace or a class."""
    directive = r"^[ ]*#(?:[^\n]*\\\n)*[^\n]*"
    plain = re.sub(directive, lambda match: re.sub(r"[^\n]", " ", match.group(0)),
                   without_comments(text), flags=re.M)
    stack = []
    start = 0
    for at, char in enumerate(plain):
        if char in ";{}":
            head = plain[start:at]
            first = start + len(head) - len(head.lstrip())
            start = at + 1
        if char == "{":
            words = head.strip()
            scope = re.match(r"(?:template\s*<.*>\s*)?(?:inline\s+)?"
                             r"(?:namespace|class|struct|union|enum|extern)\b", words, flags=re.S)
            outer = all(kind == "scope" for kind, _, _ in stack)
            name = re.search(r"([~\w:]+|operator\S+)\s*\(", words)
            if scope and not re.match(r"(?:struct|class)\b.*\)\s*(?:const)?$", words, flags=re.S):
                stack.append(("scope", "", first))
            elif outer and name:
                stack.append(("function", name.group(1), first))
            else:
                stack.append(("block", "", first))
        elif char == "}" and stack:
            kind, name, begin = stack.pop()
            if kind == "function":
                yield name, plain.count("\n", 0, begin) + 1, plain.count("\n", begin, at) + 1


# --- Rules: each takes (path, text) and yields (line, sentence) -----------------------------------


def rule_arrows(path, text):
    folder = engine_folder(path)
    if folder is None:
        return
    for line, form, name in includes(text):
        target = re.match(r"engine/(\w+)/", name)
        if form == '"' and target and target.group(1) in ARROWS:
            if target.group(1) not in ARROWS[folder] | {folder}:
                yield line, f"{folder} does not know {target.group(1)}"
        elif form == '"':
            yield line, f"the engine includes only itself, not {name}"
        public = re.fullmatch(r"ringrpc/(\w+)\.h", name)
        known = PUBLIC_ARROWS[folder]
        if public and not {public.group(1), public.group(1).split("_")[0]} & known:
            yield line, f"{folder} does not know the public {public.group(1)}.h"


def rule_public(path, text):
    own = public_name(path)
    if own is None:
        return
    for line, form, name in includes(text):
        other = re.fullmatch(r"ringrpc/(\w+)\.h", name)
        if form == '"':
            yield line, "a public header includes by <>, and nothing that is not installed"
        elif other:
            if rank(other.group(1), 99) > rank(own, -1):
                yield line, f"{own}.h stands below {other.group(1)}.h"
        elif not re.fullmatch(r"[a-z_]+", name):
            yield line, f"only the standard library is reachable from a public header, not {name}"


def rule_programs(path, text):
    if path.startswith(("tools/ringrpcd/", "tools/ringcall/")):
        for line, _, name in includes(text):
            if name.startswith(("engine/", "simdjson", "liburing")):
                yield line, f"a program stands on the public API, not on {name}"


def rule_full_paths(path, text):
    if is_code(path):
        for line, form, name in includes(text):
            if form == '"' and not name.startswith(("engine/", "tests/", "tools/", "bench/")):
                yield line, f"include with the full path, not {name}"


def rule_doors(path, text):
    if not path.startswith("engine/"):
        return
    for line, _, name in includes(text):
        for library, files in DOORS.items():
            if name.startswith(library) and path not in files:
                yield line, f"{library} is included by {', '.join(sorted(files))} only"
        if engine_folder(path) in ("http", "ws", "json", "rpc", "mcp", "a2a"):
            if re.match(r"(?:sys/socket|sys/epoll|netdb|poll|sys/un)", name):
                yield line, f"{engine_folder(path)} does not know sockets"


def rule_banned(path, text):
    folder = engine_folder(path)
    if folder not in HOT_FOLDERS:
        return
    plain = without_comments(text)
    for word, pattern in BANNED.items():
        if word not in COLD.get(path, {}):
            for line in matches(pattern, plain):
                yield line, f"{word} is banned here: see the table COLD in tests/tidy_test.py"


def rule_exceptions(path, text):
    if path.startswith("engine/") and "exceptions" not in COLD.get(path, {}):
        if engine_folder(path) is not None:
            for line in matches(BANNED["exceptions"], without_comments(text)):
                yield line, "no exceptions in the engine"


def rule_file_size(path, text):
    if not is_code(path) or not path.startswith(("engine/", "tools/", "bench/")):
        return
    lines = text.count("\n")
    cap = HEADER_LINES_MAX if path.endswith(".h") else SOURCE_LINES_MAX
    cap = LONG_FILES.get(path, (cap, ""))[0]
    if lines > cap:
        yield 1, f"{lines} lines, {cap} at the most"


def rule_function_size(path, text):
    if not is_code(path) or not path.startswith(("engine/", "tools/", "bench/")):
        return
    for name, line, lines in functions(text):
        cap = LONG_FUNCTIONS.get((path, name), (FUNCTION_LINES_MAX, ""))[0]
        if lines > cap:
            yield line, f"{name} has {lines} lines, {cap} at the most"


def rule_columns(path, text):
    if is_text(path) and not path.endswith((".md", ".json")):
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > COLUMNS_MAX:
                yield number, f"{len(line)} columns, {COLUMNS_MAX} at the most"


def rule_ascii(path, text):
    if is_text(path):
        for line in matches(r"[^\x00-\x7F]", text):
            yield line, "ASCII only; escape it"


def rule_tabs(path, text):
    # Conversations are bytes.
    if is_text(path) and not path.startswith(("tests/spec/", "tests/attack/")):
        for line in matches(r"\t|[ \r]$", text):
            yield line, "no tabs, no blanks at a line's end"
        if text and not text.endswith("\n"):
            yield text.count("\n") + 1, "the last line ends too"


def rule_pragma_once(path, text):
    if path.endswith(".h"):
        code = [line for line in without_comments(text, True).split("\n") if line.strip()]
        if not code or code[0].strip() != "#pragma once":
            yield 1, "a header begins with #pragma once"


def rule_todo(path, text):
    if is_text(path):
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"\bTO" + r"DO\b(?!\((?:soon|perf|security)\))", line):
                yield number, "its kind is soon, perf or security; what is due now is done now"
            if re.search(r"\bFIX" + r"ME\b|\bXX" + r"X\b", line):
                yield number, "say it as work to do, with a kind"


def rule_machine_paths(path, text):
    if "/corpus/" not in path:
        for line in matches(r"(?<![\w.])/(?:work|farm|root|home)/[a-z.]", text):
            yield line, "a path of one machine"


def rule_tests_run(path, text):
    if path.startswith("tests/") and is_code(path):
        for line in matches(r"\bDISABLED" + r"_|EXPECT_TRUE\(tr" + r"ue\)|\bSUCCE" + r"ED\(", text):
            yield line, "a test that cannot fail, or that does not run"
        if path not in SLEEPING_TESTS:
            for line in matches(BANNED["sleep"], without_comments(text)):
                yield line, "tests wait for events, not for time"


def rule_globs(path, text):
    if path.endswith(("CMakeLists.txt", ".cmake")):
        for line in matches(r"\bfile\s*\(\s*GLOB", text):
            yield line, "sources are listed"


def rule_listed(files):
    """Every source of the tree is built: some list of CMake names it."""
    named = set()
    for path, text in files.items():
        if not path.endswith(("CMakeLists.txt", ".cmake")):
            continue
        folder = os.path.dirname(path)
        for token in re.findall(r"[\w./${}-]+\.cpp\b", text):
            top = re.match(r"\$\{PROJECT_SOURCE_DIR\}/(.*)", token)
            named.add(top.group(1) if top else os.path.normpath(os.path.join(folder, token)))
        if re.search(r"\$\{\w+\}\.cpp\b", text):  # a list of names, each of them a source
            named |= {os.path.join(folder, word + ".cpp") for word in re.findall(r"\w+", text)}
    for path in files:
        if path.endswith(".cpp") and path not in named and path not in UNLISTED_SOURCES:
            yield path, 1, "no CMakeLists.txt names this source"


def rule_top_level(path, text):
    top = {"engine", "bench", "tests", "tools", "cmake", ".ci",
           "CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE",
           ".clang-format", ".clang-tidy", ".gitignore"}
    if path.split("/")[0] not in top:
        yield 1, "the top level has the entries of the design only"


RULES = {  # name: (rule, planted (path, text), a good neighbour)
    "includes follow the arrows": (
        rule_arrows,
        [("engine/json/x.cpp", '#include "engine/http/request.h"\n'),
         ("engine/mcp/x.cpp", '#include "engine/a2a/task.h"\n'),
         ("engine/base/x.h", '#include "engine/io/event.h"\n'),
         ("engine/http/x.h", "#include <ringrpc/json.h>\n"),
         ("engine/io/x.cpp", '#include "tests/support/fake_io.h"\n')],
        [("engine/json/x.cpp", '#include "engine/base/assert.h"\n#include <ringrpc/json.h>\n'),
         ("engine/serve/x.cpp", '#include "engine/io/event.h"\n// #include "tests/x.h"\n')]),
    "the top level is the design's": (
        rule_top_level,
        [("crash-1234", "x"), ("notes.md", "x\n")],
        [("README.md", "x\n"), (".ci/run", "x\n")]),
    "public headers stand on the standard library": (
        rule_public,
        [("engine/include/ringrpc/json.h", "#include <simdjson.h>\n"),
         ("engine/include/ringrpc/json.h", "#include <ringrpc/server.h>\n"),
         ("engine/include/ringrpc/call.h", '#include "engine/json/index.h"\n')],
        [("engine/include/ringrpc/call.h", "#include <ringrpc/json.h>\n#include <string_view>\n")]),
    "programs stand on the public API": (
        rule_programs,
        [("tools/ringrpcd/x.cpp", '#include "engine/json/index.h"\n')],
        [("tools/ringrpcd/x.cpp", '#include "tools/ringrpcd/methods.h"\n')]),
    "includes have full paths": (
        rule_full_paths,
        [("engine/io/x.cpp", '#include "event.h"\n')],
        [("engine/io/x.cpp", '#include "engine/io/event.h"\n')]),
    "libraries have one door": (
        rule_doors,
        [("engine/rpc/x.cpp", "#include <simdjson.h>\n"),
         ("engine/serve/x.cpp", "#include <liburing.h>\n"),
         ("engine/http/x.cpp", "#include <sys/socket.h>\n")],
        [("engine/json/stage1.cpp", "#include <simdjson.h>\n")]),
    "the hot path's folders have no banned words": (
        rule_banned,
        [("engine/io/x.cpp", "std::function<void()> f;\n"),
         ("engine/http/x.cpp", "#include <iostream>\n"),
         ("engine/rpc/x.h", "std::shared_ptr<int> p;\n"),
         ("engine/serve/x.cpp", "auto* p = dynamic_cast<X*>(y);\n"),
         ("engine/serve/x.cpp", "int* p = new int;\n"),
         ("engine/json/x.cpp", "void* p = malloc(8);\n"),
         ("engine/serve/x.h", "virtual void f();\n"),
         ("engine/io/x.cpp", "std::lock_guard lock(m);\n"),
         ("engine/io/x.cpp", 'fprintf(stderr, "x");\n'),
         ("engine/io/x.cpp", "clock_gettime(CLOCK_MONOTONIC, &t);\n"),
         ("engine/io/x.cpp", "usleep(1);\n")],
        [("engine/io/x.cpp", '// a new malloc(1)\nconst char* s = "new";\nf(1\'000);\n'),
         ("engine/io/x.cpp", "#include <new>\n"),
         ("engine/io/x.cpp", "new (place) Thing();\n"),
         ("engine/push/x.cpp", "std::function<void()> f;\n")]),
    "the engine has no exceptions": (
        rule_exceptions,
        [("engine/base/x.cpp", "throw 1;\n"),
         ("engine/mcp/x.cpp", "try { f(); } catch (...) {}\n")],
        [("engine/rpc/guard.cpp", "try { f(); } catch (...) {}\n")]),
    "files are short": (
        rule_file_size,
        [("engine/io/x.cpp", "\n" * (SOURCE_LINES_MAX + 1)),
         ("engine/io/x.h", "\n" * (HEADER_LINES_MAX + 1))],
        [("engine/io/x.cpp", "\n" * SOURCE_LINES_MAX),
         ("engine/io/x.h", "\n" * HEADER_LINES_MAX)]),
    "functions are short": (
        rule_function_size,
        [("engine/io/x.cpp", "namespace a {\nint f(int x) {\n" + "  ++x;\n" * 59 + "}\n}\n"),
         ("engine/io/x.h", "class A {\n  A() : b_(1) {\n" + "  ++b_;\n" * 59 + "  }\n};\n")],
        [("engine/io/x.cpp", "namespace a {\nint f(int x) {\n" + "  ++x;\n" * 58 + "}\n}\n"),
         ("engine/io/x.cpp", "const int a[] = {\n" + "  1,\n" * 99 + "};\n"),
         ("engine/io/x.h", "struct A {\n" + "  int f() { return 1; }\n" * 99 + "};\n")]),
    "lines are short": (
        rule_columns,
        [("engine/io/x.cpp", "x" * 101 + "\n"), ("tools/x", "x" * 101 + "\n")],
        [("engine/io/x.cpp", "x" * 100 + "\n")]),
    "text is ASCII": (
        rule_ascii, [("engine/io/x.cpp", "// \u00b5s\n"), ("README.md", "\u2192\n")],
        [("engine/io/x.cpp", "// us\n")]),
    "blanks are tidy": (
        rule_tabs, [("engine/io/x.cpp", "\tx\n"), ("tools/x", "x \n"), ("README.md", "x")],
        [("engine/io/x.cpp", "  x\n")]),
    "headers begin with pragma once": (
        rule_pragma_once, [("engine/io/x.h", "#include <a>\n#pragma once\n")],
        [("engine/io/x.h", "// About.\n#pragma once\n")]),
    "what is to be done has a kind": (
        rule_todo,
        [("engine/io/x.cpp", "// TO" + "DO: x\n"), ("engine/io/x.cpp", "// TO" + "DO(now): x\n"),
         ("engine/io/x.cpp", "// FIX" + "ME x\n")],
        [("engine/io/x.cpp", "// TODO(perf): x\n")]),
    "no path of one machine": (
        rule_machine_paths, [("README.md", "cd /ro" + "ot/src\n"), ("x.py", "'/ho" + "me/me'\n")],
        [("README.md", "cd root/src; ls /usr/share\n")]),
    "every test can fail": (
        rule_tests_run,
        [("tests/unit/x.cpp", "TEST(A, DISABLED" + "_b) {}\n"),
         ("tests/unit/x.cpp", "std::this_thread::sleep_for(1ms);\n")],
        [("tests/unit/x.cpp", "TEST(A, b) { EXPECT_TRUE(f()); }\n")]),
    "sources are listed by hand": (
        rule_globs, [("engine/CMakeLists.txt", "file(GLOB x *.cpp)\n")],
        [("engine/CMakeLists.txt", "file(READ x y)\n")]),
}


class Tidy(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.files = {}
        for path in tracked():
            with open(os.path.join(ROOT, path), encoding="utf-8", errors="surrogateescape") as file:
                if is_code(path) or is_text(path):
                    cls.files[path] = file.read()

    def test_the_tree_is_seen(self):
        self.assertIn("engine/include/ringrpc/limits.h", self.files)
        self.assertGreater(len(self.files), 20)

    def test_every_source_is_built(self):
        found = [f"{path}:{line}: {what}" for path, line, what in rule_listed(self.files)]
        self.assertEqual([], found, "\n" + "\n".join(found))

    def test_an_unlisted_source_is_found(self):
        files = {"io/CMakeLists.txt": "target_sources(x PRIVATE a.cpp ../b/c.cpp)\n",
                 "b/CMakeLists.txt": "foreach(n d e)\n add_executable(${n} ${n}.cpp)\n",
                 "b/x.cmake": "f(${PROJECT_SOURCE_DIR}/z/g.cpp)\n",
                 "io/a.cpp": "", "io/aa.cpp": "", "b/c.cpp": "", "b/d.cpp": "", "b/f.cpp": "",
                 "z/g.cpp": "", "b/a.cpp": ""}
        self.assertEqual(["b/a.cpp", "b/f.cpp", "io/aa.cpp"],
                         sorted(path for path, _, _ in rule_listed(files)))

    def test_exceptions_to_the_rules_are_still_needed(self):
        stale = [f"{path}: {word}" for path, words in COLD.items() for word in words
                 if path not in self.files or not re.search(
                     BANNED[word], without_comments(self.files[path]), flags=re.M)]
        stale += [path for path, (lines, _) in LONG_FILES.items()
                  if self.files.get(path, "").count("\n") <= (
                      HEADER_LINES_MAX if path.endswith(".h") else SOURCE_LINES_MAX)]
        self.assertEqual([], stale, "take these out of the tables of exceptions")


def on_tree(rule):
    def test(self):
        found = [f"{path}:{line}: {what}" for path, text in self.files.items()
                 for line, what in rule(path, text)]
        self.assertEqual([], found, "\n" + "\n".join(found))
    return test


def on_planted(rule, planted, good):
    def test(self):
        for path, text in planted:
            self.assertTrue(list(rule(path, text)), f"not found in {path}: {text[:80]!r}")
        for path, text in good:
            self.assertEqual([], list(rule(path, text)), f"found in {path}: {text[:80]!r}")
    return test


for rule_name, (check, bad_examples, good_examples) in RULES.items():
    word = rule_name.replace(" ", "_").replace("'", "")
    setattr(Tidy, f"test_{word}", on_tree(check))
    setattr(Tidy, f"test_planted_{word}", on_planted(check, bad_examples, good_examples))

if __name__ == "__main__":
    sys.argv[0] = os.path.basename(sys.argv[0])
    unittest.main()
