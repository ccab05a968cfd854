#!/usr/bin/env python3
"""The engine's HTTP parser against Node's: the same requests out of the same bytes.

Usage: http_test.py BIN_DIR. Generated and mutated connections, seeded; each is read by both. What
the two read differently must be of a kind that http_differences.py lists, and every kind listed
there has an example that still shows it.
"""

import collections
import os
import sys

from http_cases import Requests
from http_differences import KINDS, difference_of, kind_of
from support import HERE, READER, cases_of_run, dice_of, need_node, read_all, seed_of_run

CASES = 4000
SHOWN_MAX = 10


def read_both(node, cases):
    ours = read_all([READER, "http"], cases)
    theirs = read_all([node, os.path.join(HERE, "node_http.mjs")], cases)
    return zip(cases, ours, theirs)


def check_examples(node):
    """Each kind is still there, is found as itself, and by no other name."""
    failures = []
    examples = [(kind, example) for kind in KINDS for example in kind.examples]
    said = read_both(node, [example for _, example in examples])
    for (kind, _), (case, ours, theirs) in zip(examples, said):
        difference = difference_of(case, ours, theirs)
        found = kind_of(difference) if difference else None
        if found is not kind:
            failures.append(f"example of '{kind.name}' is '{found.name if found else difference}': "
                            f"{case!r}\n    ours {ours}\n    node {theirs}")
    failures += [f"'{kind.name}' has no example" for kind in KINDS if not kind.examples]
    return failures


def check_canaries(node):
    """Whatever part of a request is read otherwise, it is a difference that no kind excuses."""
    case = Requests(dice_of(0)).whole_one()
    (_, ours, theirs), = read_both(node, [case])
    if difference_of(case, ours, theirs) is not None or len(ours["requests"]) != 2:
        return [f"the canary is not read alike: {ours} {theirs}"]
    failures = []
    for part, other in (("method", "47"), ("target", "2f"), ("minor", 0), ("headers", []),
                        ("body", "00")):
        for reading in (ours, theirs):
            kept, reading["requests"][0][part] = reading["requests"][0][part], other
            difference = difference_of(case, ours, theirs)
            if difference is None or kind_of(difference) is not None:
                failures.append(f"another {part} is not found")
            reading["requests"][0][part] = kept
    for reading in (ours, theirs):
        kept = reading["requests"].pop()
        difference = difference_of(case, ours, theirs)
        if difference is None or kind_of(difference) is not None:
            failures.append("a request less is not found")
        reading["requests"].append(kept)
    return failures


def main():
    node = need_node()
    requests = Requests(dice_of(seed_of_run()))
    failures = check_examples(node) + check_canaries(node)
    cases = [requests.connection() for _ in range(cases_of_run(CASES))]
    counts = collections.Counter()
    agreed = accepted = 0
    for case, ours, theirs in read_both(node, cases):
        accepted += len(ours["requests"])
        if ours["framer"]:
            failures.append(f"framer and parsers: {ours['framer']}: {case!r}")
        difference = difference_of(case, ours, theirs)
        if difference is None:
            agreed += 1
            continue
        kind = kind_of(difference)
        counts[kind.name if kind else "NOT LISTED"] += 1
        if kind is None:
            failures.append(f"not listed: {difference.side} ({difference.what})\n    {case!r}\n"
                            f"    ours {ours}\n    node {theirs}")
    for name, count in counts.most_common():
        print(f"{count:6} {name}")
    print(f"{len(cases)} connections, {accepted} requests accepted by us; {agreed} read "
          f"alike, {sum(counts.values())} with a difference, {len(failures)} failures")
    # A generator that makes nothing good, or nothing bad, would find nothing.
    if not len(cases) // 3 < agreed < len(cases) * 0.95 or accepted < len(cases) // 2:
        failures.append("the cases are not mixed any more")
    for failure in failures[:SHOWN_MAX]:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
