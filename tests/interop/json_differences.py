"""Where the engine takes JSON otherwise than JSON.parse, on purpose: by kind, with the reason.

No kind is about a value: where both accept a text, they find the same in it. A number beyond a
double is Infinity there and no number here, which the canonical form writes alike.
"""

import dataclasses
import json
import re
from typing import Callable

ENVELOPE = ("jsonrpc", "id", "method", "params")
DEPTH_MAX, TOKEN_MAX = 64, 256


@dataclasses.dataclass
class Kind:
    name: str
    source: str  # where it is decided
    reason: str
    is_it: Callable[[bytes, list, list], object]  # of the text, our answers, theirs
    examples: list


def messages(text):
    """The members of each message as pairs, by a third parser; bounded like the engine."""
    try:
        value = json.loads(text, object_pairs_hook=list, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return []
    batch = value if isinstance(value, list) and text.lstrip().startswith(b"[") else [value]
    return [one for one in batch if isinstance(one, list) and
            all(isinstance(pair, tuple) for pair in one)]


def has_duplicates(text):
    for message in messages(text):
        names = [name for name, _ in message if name in ENVELOPE]
        if len(names) != len(set(names)):
            return True
    return False


def is_utf8(text):
    try:
        text.decode()
        return True
    except UnicodeDecodeError:
        return False


def has_lone_surrogate(text):
    """An escape of half a pair, in whatever string."""
    plain = re.sub(rb"\\\\", b"", text)
    pairs = re.sub(rb"(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}", b"", plain)
    return re.search(rb"(?i)\\ud[89a-f]", pairs)


def is_deep(text):
    """More open brackets than may be, those of a message and a batch aside."""
    depth = deepest = 0
    for token in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.S):
        depth += (token in b"[{") - (token in b"]}") if len(token) == 1 else 0
        deepest = max(deepest, depth)
    return deepest > DEPTH_MAX + 1


def has_long_id(text):
    return any(len(token) > TOKEN_MAX for token in
               re.findall(rb'"(?:i|\\u0069)d"\s*:\s*("[^"]*"|[0-9.eE+-]+)', text))


def refused(ours):
    return ours == [[-32700, "z"]]


def invalid(ours):
    return any(code == -32600 for code, _ in ours)


KINDS = [
    Kind("no UTF-8", "RFC 8259 8.1",
         "A decoder that replaces bad bytes changes what was said; we read bytes, or refuse them.",
         lambda text, ours, theirs: refused(ours) and not is_utf8(text),
         [b'{"jsonrpc":"2.0","method":"see","id":1,"params":["\xff"]}',
          b'{"jsonrpc":"2.0","method":"see","id":1,"params":["\xed\xa0\x80"]}']),
    Kind("a byte order mark", "RFC 8259 8.1",
         "Nobody may add one, and a parser may refuse it; a decoder drops it before JSON.parse.",
         lambda text, ours, theirs: refused(ours) and text.startswith(b"\xef\xbb\xbf"),
         [b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"see","id":1}']),
    Kind("a lone surrogate", "RFC 8259 8.2",
         "Half a pair names no character, and no UTF-8 can hold it; strings of JavaScript can.",
         lambda text, ours, theirs: refused(ours) and has_lone_surrogate(text),
         [b'{"jsonrpc":"2.0","method":"see","id":1,"params":["\\ud800"]}',
          b'{"jsonrpc":"2.0","method":"see","id":1,"params":{"\\udc00":1}}']),
    Kind("too deep", "RFC 8259 9",
         "A parser may limit the depth. Ours is 64 open brackets in a message.",
         lambda text, ours, theirs: refused(ours) and is_deep(text),
         [b'{"jsonrpc":"2.0","method":"see","id":1,"params":' + b"[" * 65 + b"]" * 65 + b"}"]),
    Kind("a member of the envelope twice", "RFC 8259 4",
         "What that means is nobody's to say; JSON.parse takes the last. We refuse the message, so "
         "that no proxy in front sees another method or id than we do.",
         lambda text, ours, theirs: invalid(ours) and has_duplicates(text),
         [b'{"jsonrpc":"2.0","method":"see","id":1,"method":"see"}',
          b'{"jsonrpc":"2.0","method":"see","id":1,"id":2}',
          b'{"jsonrpc":"2.0","method":"see","id":1,"params":[],"p\\u0061rams":[]}']),
    Kind("too long an id", "JSON-RPC 2.0 4",
         "An id is echoed, so it bounds error replies: 256 bytes.",
         lambda text, ours, theirs: invalid(ours) and has_long_id(text),
         [b'{"jsonrpc":"2.0","method":"see","id":"' + b"i" * 256 + b'"}']),
]


def kind_of(text, ours, theirs):
    for kind in KINDS:
        if kind.is_it(text, ours, theirs):
            return kind
    return None
