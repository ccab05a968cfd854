"""Where the engine reads HTTP otherwise than Node does, on purpose: by kind, with the reason."""

import dataclasses
import re
from typing import Callable

REFUSED = "we refuse what Node reads"
ACCEPTED = "we read what Node refuses"
READ = "both read, differently"


TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
METHODS = {b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE"}
HOST = rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~\-]+)(?::(\d{0,5}))?"


@dataclasses.dataclass
class Difference:
    side: str
    what: str  # "request", "end", or of READ the part that differs
    case: bytes
    text: bytes  # from the request on that is read differently
    ours: dict
    theirs: dict

    def __post_init__(self):
        text = self.text[2:] if self.text.startswith(b"\r\n") else self.text
        self.status = self.ours["status"]
        self.code = self.theirs["code"]
        self.head, _, self.body = text.partition(b"\r\n\r\n")
        self.line, *self.lines = self.head.split(b"\r\n")
        self.method, _, rest = self.line.partition(b" ")
        self.target, _, self.version = rest.rpartition(b" ")
        read = min(len(self.ours["requests"]), len(self.theirs["requests"]))
        # The last request that both read.
        self.before = self.ours["requests"][read - 1] if read > 0 else {"at": 0, "headers": []}
        size = len(self.case) - len(self.text) - self.before["at"]
        self.before_text = self.case[self.before["at"]:][:size]

    def values(self, name):
        """Of every field of that name, blanks around them included."""
        fields = [line.partition(b":") for line in self.lines]
        return [value for field, _, value in fields if field.lower() == name]

    @property
    def chunked(self):
        return any(value.strip(b" \t").lower() == b"chunked"
                   for value in self.values(b"transfer-encoding"))


@dataclasses.dataclass
class Kind:
    name: str
    side: str
    source: str  # where it is decided
    reason: str
    is_it: Callable[[Difference], object]
    examples: list


def difference_of(case, ours, theirs):
    """The first thing that the two read differently; None when there is none."""
    for mine, other in zip(ours["requests"], theirs["requests"]):
        for part in ("method", "target", "minor", "headers", "body"):
            if mine[part] != other[part]:
                return Difference(READ, part, case, case[mine["at"]:], ours, theirs)
        if other["major"] != 1:
            return Difference(READ, "major", case, case[mine["at"]:], ours, theirs)
    rest = case[ours["at"]:]
    read = len(theirs["requests"])
    if len(ours["requests"]) < read:
        return Difference(REFUSED, "request", case, rest, ours, theirs)
    if len(ours["requests"]) > read:
        at = ours["requests"][read]["at"]
        return Difference(ACCEPTED, "request", case, case[at:], ours, theirs)
    # What is left is no whole request for either. Which of "bad" and "more must come" it is called
    # depends on how early a parser looks.
    if (ours["end"] == "clean") != (theirs["end"] == "clean"):
        side = ACCEPTED if ours["end"] == "clean" else REFUSED
        return Difference(side, "end", case, rest, ours, theirs)
    return None


def get(*lines, target=b"/rpc", method=b"GET", version=b"HTTP/1.1", host=b"localhost", body=b""):
    """A request for the examples."""
    fields = ([b"Host: " + host] if host is not None else []) + list(lines)
    return b"\r\n".join([method + b" " + target + b" " + version] + fields + [b"", body])


def chunks(text, *lines):
    return get(b"Transfer-Encoding: chunked", *lines, method=b"POST", body=text)


def is_host(text):
    found = re.fullmatch(HOST, text)
    return found and int(found.group(1) or 0) <= 65535


def bad_host(d):
    return any(not is_host(value.strip(b" \t")) for value in d.values(b"host"))


def bad_target(d):
    if not re.fullmatch(rb"[A-Z-]+ [^ ]+ HTTP/\d\.\d", d.line):
        return False
    if d.target.startswith(b"/"):
        return False
    if d.target == b"*":
        return d.method != b"OPTIONS"
    absolute = re.fullmatch(rb"(?i)http://([^/?]*)[!-~]*", d.target)
    return not absolute or not is_host(absolute.group(1))


def size_lines(d):
    """The lines of the body that may be sizes of chunks."""
    return re.findall(rb"(?:^|\n)([0-9A-Fa-f]+[^\r\n]*)", d.body)


def came_after_offer(d):
    names = [bytes.fromhex(name).lower() for name, _ in d.before["headers"]]
    return b"upgrade" in names and b"connection" in names


def offers_upgrade(d):
    return d.values(b"upgrade") and d.values(b"connection")


KINDS = [
    Kind("more than one empty line before a request", REFUSED, "RFC 9112 2.2",
         "One is ignored for old clients; more, or half of one, is a connection out of step.",
         lambda d: d.status == 400 and re.match(rb"\r\n\r\n|\r\n\n|\n|\r[^\n]|\r\n\r", d.text),
         [b"\r\n\r\n" + get(), b"\n" + get(), b"\r" + get()]),
    Kind("blanks in the request line", REFUSED, "RFC 9112 3",
         "One space stands between its parts; Node skips more of them.",
         lambda d: d.status == 400 and re.match(rb"[A-Z-]+ +[^ ]+ +HTTP/", d.line) and
         b"  " in d.line,
         [get(target=b" /rpc")]),
    Kind("a method that we do not have", REFUSED, "RFC 9110 9.1",
         "Node knows the methods of WebDAV and others; an unknown one is answered 501, and nothing "
         "behind it is read, because whether it has a body is its own business.",
         lambda d: d.status == 501 and re.fullmatch(TOKEN, d.method) and d.method not in METHODS,
         [get(method=b"PROPFIND"), get(method=b"M-SEARCH"), get(method=b"QUERY")]),
    Kind("CONNECT", REFUSED, "RFC 9110 9.3.6",
         "It makes a tunnel of the connection, and an origin server has none to offer.",
         lambda d: d.status == 400 and d.method == b"CONNECT",
         [get(method=b"CONNECT", target=b"a:1")]),
    Kind("another major version", REFUSED, "RFC 9110 15.6.6",
         "Node's parser takes 0.9 and 2.0 in a request line of HTTP/1; only 1.x is that protocol.",
         lambda d: d.status == 505 and re.fullmatch(rb"HTTP/[02-9]\.\d", d.version),
         [get(version=b"HTTP/2.0"), get(version=b"HTTP/0.9")]),
    Kind("no version", REFUSED, "RFC 9112 3",
         "Node's parser takes a line of two words for HTTP/0.9, and reads fields behind it.",
         lambda d: d.status in (400, 414, 505) and re.fullmatch(
             rb"[A-Z-]+ +[^ \r\n]*", re.split(rb"\r?\n", d.text.lstrip(b"\r\n"))[0]),
         [get(target=b"/rpcHTTP/1.1", version=b"").replace(b" \r\n", b"\r\n", 1)]),
    Kind("close and keep-alive in HTTP/1.0", REFUSED, "RFC 9112 9.3",
         "close decides, whatever else is listed; Node goes on.",
         lambda d: d.ours["end"] == "clean" and d.before.get("close") and
         d.before["minor"] == 0 and re.search(rb"(?i)keep-alive", d.before_text),
         [get(b"Connection: close, keep-alive", version=b"HTTP/1.0") + get()]),
    Kind("an expectation beside 100-continue", REFUSED, "RFC 9110 10.1.1",
         "An unknown one is answered 417; Node looks for the known one anywhere in the text.",
         lambda d: d.status == 417 and any(
             re.fullmatch(rb"(?i)[ \t]*(?:.*\W)?100-continue(?:\W.*)?", value)
             for value in d.values(b"expect")),
         [get(b"Expect: x, 100-continue"), get(b"Expect: 100-continue", b"Expect:")]),
    Kind("another protocol", REFUSED, "RFC 9112 2.3",
         "Node's parser serves a relative of HTTP, too.",
         lambda d: d.status == 400 and re.fullmatch(rb"RTSP/1\.0", d.version),
         [get(version=b"RTSP/1.0")]),
    Kind("a transfer coding that we do not have", REFUSED, "RFC 9112 6.1",
         "Node passes the body on as it is; 501 is what the RFC asks of who cannot decode it.",
         lambda d: d.status == 501 and d.values(b"transfer-encoding") and d.method in METHODS,
         [get(b"Transfer-Encoding: gzip, chunked", method=b"POST", body=b"0\r\n\r\n")]),
    Kind("an empty coding among the transfer codings", REFUSED, "RFC 9110 5.6.1",
         "Empty elements of lists are to be borne; but of a list that decides the framing Node "
         "reads ',chunked' as chunked and others do not. An empty value is no coding at all.",
         lambda d: d.status == 400 and any(
             b"" in [part.strip(b" \t") for part in value.split(b",")]
             for value in d.values(b"transfer-encoding")),
         [chunks(b"0\r\n\r\n").replace(b": chunked", b": ,chunked"),
          get(b"Transfer-Encoding:", method=b"POST")]),
    Kind("a transfer coding that is none", REFUSED, "RFC 9112 6.1",
         "Codings are a list of tokens; Node looks for 'chunked' at the end of the text alone.",
         lambda d: d.status == 400 and any(
             re.search(rb"(?i)chunked[ \t]*$", value) and not re.fullmatch(
                 rb"[ \t]*" + TOKEN + rb"(?:[ \t]*,[ \t]*" + TOKEN + rb")*[ \t]*", value)
             for value in d.values(b"transfer-encoding")),
         [chunks(b"0\r\n\r\n").replace(b": chunked", b": a=b, chunked")]),
    Kind("chunks in HTTP/1.0", REFUSED, "RFC 9112 6.1",
         "The framing is to be treated as faulty: what came before may have ignored it.",
         lambda d: d.status == 400 and d.version == b"HTTP/1.0" and d.values(b"transfer-encoding"),
         [get(b"Transfer-Encoding: chunked", method=b"POST", version=b"HTTP/1.0",
              body=b"0\r\n\r\n")]),
    Kind("a host that is none", REFUSED, "RFC 9112 3.2",
         "A request with an invalid Host is to be answered 400; Node leaves that to its user.",
         lambda d: d.status == 400 and bad_host(d),
         [get(host=b""), get(host=b"u@h"), get(host=b"a,b"), get(host=b"a:99999"),
          get(host=b"a/b")]),
    Kind("Host twice", REFUSED, "RFC 9112 3.2",
         "To be answered 400, even where both are equal; Node takes the first.",
         lambda d: d.status == 400 and len(d.values(b"host")) > 1,
         [get(b"Host: localhost")]),
    Kind("a target that is none", REFUSED, "RFC 9112 3.2",
         "We serve the origin form, the absolute form of http, and the asterisk of OPTIONS; the "
         "others, and bytes that no URI has, are refused before somebody interprets them.",
         lambda d: d.status == 400 and bad_target(d),
         [get(target=b"*"), get(target=b"https://a/"), get(target=b"http://u@h/"),
          get(target=b"http://a:99999/"), get(target=b"http:///x")]),
    Kind("a fragment in the target", REFUSED, "RFC 9112 3.2",
         "No form of a target has one; a client that sends it speaks of another resource than the "
         "server would look for.",
         lambda d: d.status == 400 and re.match(rb"[A-Z-]+ [!-~]*#", d.line),
         [get(target=b"/x#y"), get(target=b"http://localhost/#")]),
    Kind("one field where one is allowed", REFUSED, "RFC 9110 5.3",
         "Content-Type and Origin are no lists; two of them are two meanings.",
         lambda d: d.status == 400 and (len(d.values(b"origin")) > 1 or
                                        len(d.values(b"content-type")) > 1),
         [get(b"Origin: a", b"Origin: a"), get(b"Content-Type: a/b", b"Content-Type: a/b")]),
    Kind("a length with leading zeros", REFUSED, "RFC 9110 8.6",
         "Legal, but read as octal by some: we refuse what two readers may take for two lengths.",
         lambda d: d.status == 400 and any(re.fullmatch(rb"[ \t]*0\d+[ \t]*", value)
                                           for value in d.values(b"content-length")),
         [get(b"Content-Length: 007", method=b"POST", body=b"1234567")]),
    Kind("an empty line behind the last request", REFUSED, "RFC 9112 2.2",
         "It may be the one before the next request, so it is not whole yet; nothing is lost.",
         lambda d: d.what == "end" and d.text in (b"\r", b"\r\n"),
         [get() + b"\r\n"]),
    Kind("too long a target", REFUSED, "RFC 9110 15.5.15",
         "Our limit is 8 KiB; Node's is that of the whole head.",
         lambda d: d.status == 414 and re.match(rb"[A-Z-]+ [!-~]{8193}", d.line),
         [get(target=b"/" + b"y" * 9000)]),
    Kind("too many fields", REFUSED, "RFC 6585 5",
         "Our limit is 64; Node drops what is over its own, silently.",
         lambda d: d.status == 431 and len(d.lines) > 64,
         [get(*[b"X: 1"] * 70)]),
    Kind("too large a trailer section", REFUSED, "RFC 6585 5",
         "Our limits are 8 KiB and 64 fields; Node counts them to the head, or drops them.",
         lambda d: d.status == 431 and d.chunked and re.search(
             rb"(?:^|\n)0+[^\n]*\r\n(?:(?:[^\r\n]+\r\n){65}|[^\r\n]{8180})", d.body),
         [chunks(b"0\r\n" + b"X: 1\r\n" * 70 + b"\r\n"),
          chunks(b"0\r\nX: " + b"y" * 9000 + b"\r\n\r\n")]),
    Kind("a size of more than 16 digits", REFUSED, "RFC 9112 7.1",
         "A recipient must guard against overflow; 16 digits are 64 bits, and zeros in front of "
         "them serve nobody.",
         lambda d: d.status == 400 and d.chunked and any(
             re.match(rb"[0-9A-Fa-f]{17}", line) for line in size_lines(d)),
         [chunks(b"0" * 17 + b"\r\n\r\n")]),
    Kind("a chunk extension that is none", REFUSED, "RFC 9112 7.1.1",
         "Names and values are tokens or quoted; Node skips what it does not know, up to the end.",
         lambda d: d.status == 400 and d.chunked and any(
             b";" in line and not re.fullmatch(rb"[0-9A-Fa-f]+(?:;" + TOKEN + rb"(?:=(?:" + TOKEN +
                              rb'|"(?:[^"\\]|\\.)*"))?)*', line) for line in size_lines(d)),
         [chunks(b"0;;a=b\r\n\r\n")]),
    Kind("after the last request", ACCEPTED, "RFC 9112 9.6",
         "What follows a request that ends the connection is dropped by both; Node calls it an "
         "error.",
         lambda d: d.code == "HPE_CLOSED_CONNECTION" and d.what == "end" and
         d.ours["requests"][-1]["close"],
         [get(b"Connection: close") + get()]),
    Kind("behind an offer to upgrade", ACCEPTED, "RFC 9110 7.8",
         "A server may ignore Upgrade, and then the connection goes on as it was. Node's parser "
         "stops at the offer and drops what is behind it.",
         lambda d: came_after_offer(d) and d.code in ("", "HPE_CLOSED_CONNECTION"),
         [get(b"Connection: upgrade", b"Upgrade: websocket") + get()]),
    Kind("what is bad behind an offer to upgrade", REFUSED, "RFC 9110 7.8",
         "The same: Node has not looked at it.",
         lambda d: d.what == "end" and came_after_offer(d) and d.code == "",
         [get(b"Connection: upgrade", b"Upgrade: websocket") + b"GET / HTTP/1.1\r\n: x\r\n\r\n"]),
    Kind("bad framing of an offer to upgrade", REFUSED, "RFC 9110 7.8",
         "The same: Node takes an offer for the end of HTTP, so its body is not looked at.",
         lambda d: d.status == 400 and offers_upgrade(d) and d.values(b"transfer-encoding"),
         [get(b"Transfer-Encoding: chun ked", b"Connection: upgrade", b"Upgrade: x",
              method=b"POST")]),
    Kind("Proxy-Connection", ACCEPTED, "RFC 9112 C.2.2",
         "No field of HTTP: a mistake of old clients that never meant the server. Node obeys it.",
         lambda d: d.code == "HPE_CLOSED_CONNECTION" and b"proxy-connection" in [
             bytes.fromhex(name).lower() for name, _ in d.before["headers"]],
         [get(b"Proxy-Connection: close") + get()]),
    Kind("Connection among the trailers", ACCEPTED, "RFC 9110 6.5.1",
         "It speaks of the message in a place where nobody may look for it; Node obeys it.",
         lambda d: d.code == "HPE_CLOSED_CONNECTION" and
         re.search(rb"(?is)\r\n\r\n.*\r\nConnection:[^\n]*close", d.before_text),
         [chunks(b"0\r\nConnection: close\r\n\r\n") + get()]),
    Kind("framing fields among the trailers", ACCEPTED, "RFC 9110 6.5.1",
         "A trailer must not change the framing: we drop all of them. Node refuses these.",
         lambda d: (d.code in ("HPE_INVALID_CONTENT_LENGTH", "HPE_UNEXPECTED_CONTENT_LENGTH",
                               "HPE_INVALID_TRANSFER_ENCODING") or offers_upgrade(d)) and
         d.chunked and
         re.search(rb"(?i)\n(?:content-length|transfer-encoding):", d.body),
         [chunks(b"0\r\nContent-Length: 9\r\n\r\n")]),
    Kind("a higher minor version", ACCEPTED, "RFC 9110 2.5",
         "It is to be served as the highest that we have, 1.1; the framing is the same.",
         lambda d: d.code == "HPE_INVALID_VERSION" and re.fullmatch(rb"HTTP/1\.[2-9]", d.version),
         [get(version=b"HTTP/1.2")]),
    Kind("a tab around a length", ACCEPTED, "RFC 9110 5.6.3",
         "Optional white space is spaces and tabs; Node's parser knows only spaces there. The "
         "digits are the same for everybody.",
         lambda d: d.code == "HPE_INVALID_CONTENT_LENGTH" and
         any(re.fullmatch(rb"[ \t]*\d+[ \t]*", value) and b"\t" in value
             for value in d.values(b"content-length")),
         [get(b"Content-Length: 2\t", method=b"POST", body=b"hi")]),
    Kind("a tab around a transfer coding", ACCEPTED, "RFC 9110 5.6.3",
         "As around a length.",
         lambda d: d.code == "HPE_INVALID_TRANSFER_ENCODING" and
         any(re.fullmatch(rb"(?i)[ \t]*chunked[ \t]*", value) and b"\t" in value
             for value in d.values(b"transfer-encoding")),
         [get(b"Transfer-Encoding: chunked\t", method=b"POST", body=b"0\r\n\r\n")]),
]


def kind_of(difference):
    for kind in KINDS:
        if kind.side == difference.side and kind.is_it(difference):
            return kind
    return None
