"""Connections full of HTTP requests: good ones, ones with an odd part, and mutated ones."""

from support import mutate

ALPHABET = [b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"1", b"a", b"=",
            b'"', b"\x7f", b"\x80", b"\xff", b"/", b"\r\n\r\n", b"chunked", b"\x0b", b"-", b"+"]

METHODS = [b"GET", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"HEAD", b"TRACE"]
ODD_METHODS = [b"post", b"Post", b"PROPFIND", b"M-SEARCH", b"CONNECT", b"PRI", b"", b"PO ST",
               b"POST\t", b"P[ST", b"A" * 17, b"QUERY", b"POSTX", b"\x80POST", b"SOURCE"]
TARGETS = [b"/rpc", b"/", b"/rpc?x=1", b"/a/b;c=d", b"/%00", b"//x", b"/.././rpc",
           b"http://localhost/rpc", b"HTTP://LOCALHOST:80/rpc?y", b"http://[::1]:8080"]
ODD_TARGETS = [b"*", b"rpc", b"https://a/", b"ftp://a/", b"http://", b"http:///x", b"a:80", b"",
               b"/a b", b"/\x80", b"/\xff\xfe", b"/x#y", b"/\x00", b"/\x7f", b"/\t",
               b"/" + b"y" * 7000, b"/" + b"y" * 9000, b"http://u@h/", b"http://a:99999/",
               b"/{}|\\^`\"<>", b"?x", b"#"]
ODD_VERSIONS = [b"HTTP/1.0", b"HTTP/1.0", b"HTTP/1.2", b"HTTP/1.9", b"HTTP/2.0", b"HTTP/0.9",
                b"HTTP/1.01", b"http/1.1", b"HTTP/1.1 ", b"HTTP/11", b"HTTP/1.", b"HTTP /1.1",
                b"HTTPS/1.1", b"HTTP/3.1", b"", b"ICE/1.0", b"RTSP/1.0"]
HOSTS = [b"localhost", b"127.0.0.1:8080", b"[::1]", b"LOCALHOST:1", b"example.com"]
ODD_HOSTS = [b"", b"a b", b"a,b", b"u@h", b"a:99999", b"a:x", b"[::1", b"a/b", b"\x80", b"a:",
             b"[]", b"h\x00"]
FIELDS = [(b"Accept", b"application/json"), (b"X-A", b"1"), (b"x_b", b"two words"), (b"X-C", b""),
          (b"X-D", b"caf\xe9"), (b"X-E", b"a\tb"), (b"Connection", b"keep-alive"),
          (b"User-Agent", b"x/1 (y; z)"), (b"Origin", b"http://localhost"),
          (b"!#$%&'*+-.^`|~", b"t"),
          (b"Accept", b"*/*"), (b"Content-Encoding", b"identity"), (b"TE", b"trailers")]
ODD_FIELDS = [b"X y: 1", b": 1", b"X", b"X : 1", b" X: 1", b"\tX: 1", b"X\x80: 1", b"X: a\x00b",
              b"X: a\x01b", b"X: a\x7fb", b"X:\x0b1", b"X: a\rb", b"X: a\nb", b"X: a\r\n b", b"",
              b"X: a\n", b"X\t: 1", b"(X): 1", b"\x00X: 1", b"Connection: close",
              b"Connection: close, keep-alive", b"Connection: x, CLOSE", b"connection:keep-alive",
              b"Connection: closed", b"Connection: upgrade\r\nUpgrade: websocket",
              b"Connection: Upgrade, close\r\nUpgrade: h2c", b"Upgrade: websocket",
              b"Expect: 100-continue", b"Expect: 100-Continue", b"Expect: x", b"Expect:",
              b"Origin: a\r\nOrigin: a", b"Content-Type: a/b\r\nContent-Type: a/b",
              b"Host: other", b"X: " + b"v" * 9000, b"X: " + b"v" * 20000,
              b"\r\n".join(b"X%d: 1" % i for i in range(60)),
              b"\r\n".join(b"X%d: 1" % i for i in range(70)),
              b"Content-Length : 5", b"Transfer-Encoding : chunked", b"Content-Lengt\xc8: 5",
              b"Content_Length: 5", b"Transfer_Encoding: chunked", b"Proxy-Connection: close"]
ODD_LENGTHS = [b"+%d", b"-%d", b"0%d", b"000%d", b"0x%d", b"%d, %d", b"%d,%d", b"%d.0", b"%de0",
               b" %d", b"\t%d\t", b"%d ", b"%d;", b"%d_0", b"", b"\x0b%d", b"%d\x00", b"\xa0%d",
               b"18446744073709551616", b"18446744073709551615", b"99999999999999999999999",
               b"9007199254740993", b"%d\r\nContent-Length: %d", b"%d\r\nContent-Length: 0",
               b"%d\r\nTransfer-Encoding: chunked", b"%d\r\nTransfer-Encoding: identity", b"0x"]
ODD_CODINGS = [b"xchunked", b"chunked, chunked", b"chunked, identity", b"identity",
               b"gzip, chunked", b"gzip", b",chunked", b"chunked,", b'"chunked"',
               b"chunked;a=b", b"\x0bchunked",
               b"chunked\x00", b"\x85chunked", b"", b"CHUNKED", b"chunked ", b"\tchunked",
               b"chunked\r\nTransfer-Encoding: chunked", b"gzip\r\nTransfer-Encoding: chunked",
               b"chunked\r\nTransfer-Encoding: gzip", b"chunked\r\nContent-Length: 3", b"chun ked",
               b"chunked\r\nTransfer-Encoding:", b"chunked, gzip", b"identity, chunked"]
EXTENSIONS = [b";a", b";a=b", b';a="b c"', b';a="b\\"c"', b";a=b;c=d"]
ODD_EXTENSIONS = [b" ;a", b"; a=b", b";a =b", b";", b";a=", b";=b", b';a="b', b";a=\x00", b";a\nb",
                  b" ", b"\t", b";a b", b";a=b c", b";\x80", b";a=" + b"b" * 5000, b'; a="\x80"',
                  b";a=\rb", b";a=b\n"]
ODD_SIZES = [b"0x%x", b"+%x", b"-%x", b" %x", b"%x ", b"%xg", b"", b"0%x", b"00000000%x",
             b"0" * 15 + b"%x", b"0" * 16 + b"%x", b"0" * 40 + b"%x", b"1" + b"0" * 15 + b"%x",
             b"ffffffffffffffff", b"%x_", b"\r%x", b"%x\n", b"\n%x"]
TRAILERS = [b"X: y\r\n", b"Content-Length: 9\r\n", b"Host: evil\r\n", b"X: y\r\nZ: w\r\n"]
ODD_TRAILERS = [b"X\r\n", b"X : y\r\n", b"X: \x00\r\n", b": y\r\n", b" X: y\r\n", b"X: y\n",
                b"Transfer-Encoding: chunked\r\n", b"X: " + b"y" * 9000 + b"\r\n",
                b"X: y\r\n z\r\n",
                b"Content-Length: x\r\n", b"Connection: close\r\n", b"X" * 300 + b": y\r\n",
                b"\r\n".join(b"X%d: 1" % i for i in range(70)) + b"\r\n",
                b"Upgrade: x\r\nConnection: upgrade\r\n"]
ODD_ENDS = [b"\n", b"\r", b"", b"XX", b"\r\n\r\n", b"\n\r", b"\r\r\n", b" \r\n"]
BODIES = [b"", b"x", b"hello", b'{"jsonrpc":"2.0","id":7,"method":"echo"}', b"0\r\n\r\n",
          b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n", b"\r\n", b"\r\n\r\n", b"y" * 300]


class Requests:
    """Draws connections; the same seed draws the same ones."""

    def __init__(self, dice):
        self.dice = dice

    def odd(self, percent=3):
        return self.dice.random() * 100 < percent

    def pick(self, usual, odd, percent=3):
        return self.dice.choice(odd if self.odd(percent) else usual)

    def spelled(self, form, number):
        return form.replace(b"%d", b"%d" % number).replace(b"%x", b"%x" % number)

    def chunk(self, piece):
        size = b"%x" % len(piece)
        if self.odd(20):
            size = size.upper()
        if self.odd():
            size = self.spelled(self.dice.choice(ODD_SIZES), len(piece))
        extension = self.dice.choice(EXTENSIONS) if self.odd(10) else b""
        if self.odd():
            extension = self.dice.choice(ODD_EXTENSIONS)
        line_end = self.pick([b"\r\n"], ODD_ENDS, 1)
        return size + extension + line_end + piece + self.pick([b"\r\n"], ODD_ENDS, 1)

    def chunks(self, body):
        out = b""
        while body:
            size = self.dice.randrange(1, len(body) + 1)
            out += self.chunk(body[:size])
            body = body[size:]
        last = self.pick([b"0"], [b"00", b"0000000000000000", b"0" * 17, b"", b"-0", b"0x0"])
        last += self.dice.choice(EXTENSIONS) if self.odd(5) else b""
        trailers = self.dice.choice(TRAILERS) if self.odd(8) else b""
        if self.odd():
            trailers = self.dice.choice(ODD_TRAILERS)
        last += self.pick([b"\r\n"], ODD_ENDS, 1)
        return last + trailers + self.pick([b"\r\n"], ODD_ENDS, 1)

    def field(self, name, value):
        before = self.pick([b" "], [b"", b"  ", b"\t", b" \t "], 10)
        after = self.pick([b""], [b" ", b"\t", b" \t"], 10)
        if self.odd(10):
            name = self.dice.choice((name.lower(), name.upper()))
        return name + b":" + before + value + after

    def request(self):
        method = b"POST" if self.odd(80) else self.pick(METHODS, ODD_METHODS, 15)
        target = b"/rpc" if self.odd(80) else self.pick(TARGETS, ODD_TARGETS, 25)
        version = self.pick([b"HTTP/1.1"], ODD_VERSIONS, 6)
        gap = self.pick([b" "], [b"  ", b"\t", b"", b" \t"], 1)
        line = method + gap + target + self.pick([b" "], [b"  ", b"\t", b"", b"\r\n"], 1) + version
        fields = [self.field(b"Content-Type", b"application/json")] if self.odd(90) else []
        count = self.dice.choice((0, 1, 2, 4))
        fields += [self.field(*self.dice.choice(FIELDS)) for _ in range(count)]
        if not self.odd(2):
            fields.append(self.field(b"Host", self.pick(HOSTS, ODD_HOSTS)))
        if self.odd(12):
            fields.append(self.dice.choice(ODD_FIELDS))
        body = self.dice.choice(BODIES)
        framing = self.dice.randrange(10)
        if framing < 5:
            form = self.pick([b"%d"], ODD_LENGTHS, 10)
            fields.append(self.field(b"Content-Length", self.spelled(form, len(body))))
        elif framing < 9:
            coding = self.pick([b"chunked"], ODD_CODINGS, 10)
            fields.append(self.field(b"Transfer-Encoding", coding))
            body = self.chunks(body)
        elif not self.odd():
            body = b""
        self.dice.shuffle(fields)
        ends = [self.pick([b"\r\n"], ODD_ENDS, 0.3) for _ in range(len(fields) + 2)]
        before = self.pick([b""], [b"\r\n", b"\r\n\r\n", b"\n", b"\r", b" "], 4)
        lines = [line] + fields + [b""]
        return before + b"".join(l + e for l, e in zip(lines, ends)) + body

    def whole_one(self):
        """Two plain requests, one of each framing."""
        head = b"POST /rpc HTTP/1.1\r\nHost: localhost\r\n"
        return (head + b"Content-Length: 5\r\n\r\nhello" + head +
                b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")

    def connection(self):
        text = b"".join(self.request() for _ in range(self.dice.choice((1, 1, 1, 2, 2, 3, 5))))
        if self.odd(40):
            text = mutate(text, self.dice, ALPHABET)
        if self.odd(5):
            text = text[:self.dice.randrange(len(text) + 1)]
        return text or b"\r\n"
