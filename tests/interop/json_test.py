#!/usr/bin/env python3
"""The engine's JSON against Node's JSON.parse: the same texts accepted, the same values in them.

Usage: json_test.py BIN_DIR. Generated and mutated messages, seeded, and each file of the public
parsing suite in every place of a message. A reader in JavaScript derives from JSON.parse's value
what the answer must be; what differs must be of a kind that json_differences.py lists.
"""

import collections
import json
import os
import struct
import sys

from json_cases import Texts, around
from json_differences import KINDS, kind_of
from support import HERE, READER, ROOT, cases_of_run, dice_of, need_node, read_all, seed_of_run

CASES = 20000
SHOWN_MAX = 10
SUITE = os.path.join(ROOT, "tests", "data", "json-test-suite")


def canonical_id(value):
    """As node_json.mjs writes ids. Numbers come as their tokens."""
    if value is None:
        return "z"
    if isinstance(value, str):
        return "s" + value.encode().hex()
    real = float(value.token)
    if real in (float("inf"), float("-inf")):
        return "n+" if real > 0 else "n-"
    return "n" + struct.pack(">d", real).hex()


class Number:
    def __init__(self, token):
        self.token = token


def answers_of(reply):
    """([code, id] of each reply, whether they came as a batch); checks the shape of each."""
    if not reply:
        return [], False
    value = json.loads(reply, parse_int=Number, parse_float=Number)
    answers = []
    for one in value if isinstance(value, list) else [value]:
        names = list(one)
        if names not in (["jsonrpc", "result", "id"], ["jsonrpc", "error", "id"]):
            raise ValueError(f"no reply: {reply!r}")
        code = int(one["error"]["code"].token) if "error" in one else 0
        answers.append([code, canonical_id(one["id"])])
    return answers, isinstance(value, list)


def suite():
    names = sorted(name for name in os.listdir(SUITE) if name.endswith(".json"))
    for name in names:
        with open(os.path.join(SUITE, name), "rb") as file:
            yield from around(file.read())


def compare(text, ours, theirs):
    """None, or (our answers, what differs)."""
    answers, batch = answers_of(bytes.fromhex(ours["reply"]))
    if answers != theirs["answers"]:
        return answers, "answers"
    if batch != (theirs["batch"] and bool(answers)):
        return answers, "batch"
    if ours["runs"] != theirs["runs"]:
        return answers, "runs"
    return (answers, "values") if ours["value"] != theirs["value"] else None


def read_both(node, texts):
    ours = read_all([READER, "json"], texts)
    theirs = read_all([node, os.path.join(HERE, "node_json.mjs")], texts)
    return zip(texts, ours, theirs)


def check_examples(node):
    failures = [f"'{kind.name}' has no example" for kind in KINDS if not kind.examples]
    examples = [(kind, example) for kind in KINDS for example in kind.examples]
    said = read_both(node, [example for _, example in examples])
    for (kind, _), (text, ours, theirs) in zip(examples, said):
        found = compare(text, ours, theirs)
        if found is None or kind_of(text, found[0], theirs["answers"]) is not kind:
            failures.append(f"no example of '{kind.name}': {text!r} {found} {ours} {theirs}")
    return failures


def check_canaries(node):
    """Whatever is said otherwise is a difference that no kind excuses."""
    text = b'{"jsonrpc":"2.0","method":"see","id":1,"params":[1,"a"]}'
    (_, ours, theirs), = read_both(node, [text])
    if compare(text, ours, theirs) is not None or ours["runs"] != 1:
        return [f"the canary is not read alike: {ours} {theirs}"]
    failures = []
    for part, other in (("runs", 0), ("value", ours["value"].replace("61", "62")),
                        ("reply", b'{"jsonrpc":"2.0","result":true,"id":2}'.hex()),
                        ("reply", b'{"jsonrpc":"2.0","error":{"code":-32700},"id":null}'.hex()),
                        ("reply", b'[{"jsonrpc":"2.0","result":true,"id":1}]'.hex())):
        found = compare(text, ours | {part: other}, theirs)
        if found is None or kind_of(text, found[0], theirs["answers"]) is not None:
            failures.append(f"another {part} is not found")
    return failures


def main():
    node = need_node()
    texts = Texts(dice_of(seed_of_run()))
    failures = check_examples(node) + check_canaries(node)
    cases = list(suite()) + [texts.body() for _ in range(cases_of_run(CASES))]
    counts = collections.Counter()
    refused = ran = 0
    for text, ours, theirs in read_both(node, cases):
        found = compare(text, ours, theirs)
        ran += ours["runs"]
        refused += theirs["answers"] == [[-32700, "z"]]
        if found is None:
            continue
        kind = kind_of(text, found[0], theirs["answers"])
        counts[kind.name if kind else "NOT LISTED"] += 1
        if kind is None:
            failures.append(f"not listed ({found[1]}): {text!r}\n    ours {found[0]} {ours}\n"
                            f"    node {theirs}")
    for name, count in counts.most_common():
        print(f"{count:6} {name}")
    print(f"{len(cases)} texts, {ran} calls ran, {refused} are no JSON for Node; "
          f"{sum(counts.values())} with a difference, {len(failures)} failures")
    # A generator that makes nothing good, or nothing bad, would find nothing.
    if ran < len(cases) // 4 or refused < len(cases) // 10:
        failures.append("the cases are not mixed any more")
    for failure in failures[:SHOWN_MAX]:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
