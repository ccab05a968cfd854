#!/usr/bin/env python3
"""Every refusal of the public headers has a case here, and every case is run: fails for a sentence
of a static_assert that no file expects, for a file that expects a sentence that no header says, and
for a file that CMakeLists.txt does not list. Usage: sentences_test.py INCLUDE"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Relations between the engine's own constants: no user's type can break them.
EXEMPT = {"limits.h"}


def sentences(text):
    """Yields the message of each static_assert, its pieces put together."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    for match in re.finditer(r"\bstatic_assert\s*\(", text):
        depth, at = 1, match.end()
        while depth > 0:
            literal = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, at)
            if literal:
                at = literal.end()
                continue
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        pieces = re.search(r'((?:"(?:[^"\\]|\\.)*"\s*)+)\)$', text[match.end():at])
        yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', pieces.group(1))) if pieces else ""


def complaints(headers, cases, listed):
    """headers and cases: name to text; listed: the names that are run."""
    expected = {name: re.search(r"^// Expect: (.+)$", text, re.M).group(1)
                for name, text in cases.items()}
    said = {sentence for text in headers.values() for sentence in sentences(text)}
    for sentence in sorted(said):
        if not any(sentence.startswith(begin) for begin in expected.values()):
            yield f"no file expects: {sentence or 'a static_assert without a sentence'}"
    for name, begin in sorted(expected.items()):
        if not any(sentence.startswith(begin) for sentence in said):
            yield f"{name} expects what no header says: {begin}"
        if name not in listed:
            yield f"{name} is not listed in CMakeLists.txt"


def check_itself():
    planted = {"a.h": 'static_assert(f(1), "ringrpc: (a) "\n  "b"); static_assert(true);'}
    assert list(sentences(planted["a.h"])) == ["ringrpc: (a) b", ""]
    case = {"x.cpp": "// Expect: ringrpc: (a)\n"}
    good = {"a.h": 'static_assert(f(1), "ringrpc: (a) b");'}
    assert not list(complaints(good, case, {"x.cpp"}))
    assert len(list(complaints(planted, case, {"x.cpp"}))) == 1
    assert len(list(complaints(good, {}, set()))) == 1
    assert len(list(complaints({}, case, set()))) == 2


def main():
    check_itself()
    headers = {path.name: path.read_text(encoding="utf-8")
               for path in pathlib.Path(sys.argv[1], "ringrpc").glob("*.h")
               if path.name not in EXEMPT}
    cases = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.cpp")}
    listed = set(re.findall(r"\b\w+\.cpp\b", (HERE / "CMakeLists.txt").read_text(encoding="utf-8")))
    found = list(complaints(headers, cases, listed))
    if found or not headers or not cases:
        sys.exit("\n".join(found) or "no headers, or no cases")
    count = len({sentence for text in headers.values() for sentence in sentences(text)})
    print(f"{count} sentences, {len(cases)} cases")


main()
