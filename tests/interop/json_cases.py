"""Texts of JSON and almost JSON, and JSON-RPC messages around them."""

from support import mutate

ALPHABET = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"0", b"1", b"-", b".", b"e", b"E",
            b"+", b"null", b"true", b"false", b" ", b"\n", b"\r", b"\t", b"\0", b"\x0b", b"\xef",
            b"\xef\xbb\xbf", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\xc0\x80",
            b"\xf4\x90\x80\x80",
            b"\\u0000", b"\\ud800", b"\\udc00", b"\\ud83d\\ude00", b"\\u00e9", b"//", b"'", b"NaN",
            b"\x7f", b"\xe2\x80\xa8", b"\xc2\xa0", b"\\x", b"\\/"]
NUMBERS = [b"0", b"-0", b"1", b"-1", b"0.0", b"-0.0", b"1e0", b"1E+2", b"1e-2", b"1.5e300",
           b"2e308", b"-2e308", b"1e999999999999", b"1e-999999999999", b"4.9e-324", b"2.4e-324",
           b"2.2250738585072011e-308", b"2.2250738585072014e-308", b"1.7976931348623157e308",
           b"1.7976931348623159e308", b"9007199254740993", b"-9007199254740993",
           b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808",
           b"18446744073709551615", b"18446744073709551616", b"0.1", b"123456789.123456789",
           b"1" * 400, b"0." + b"0" * 400 + b"1", b"0." + b"9" * 100, b"1e23", b"8.5e22",
           b"5e-324", b"1.00000000000000011102230246251565", b"9007199254740992.5", b"1e+00"]
NO_NUMBERS = [b"00", b"01", b"-01", b"1.", b".5", b"-.5", b"+1", b"1e", b"1e+", b"--1", b"0x1",
              b"1_0", b"Infinity", b"-Infinity", b"NaN", b"1.e1", b"1e1.5", b"-", b"1 2", b"0e"]
STRINGS = [b'""', b'"a"', b'"\\""', b'"\\\\"', b'"\\/"', b'"\\b\\f\\n\\r\\t"', b'"\\u0041"',
           b'"\\u00E9"', b'"\\ud83d\\ude00"', b'"\\uD834\\uDD1E"', b'"\xc3\xa9"',
           b'"\xf0\x9f\x98\x80"',
           b'"\xe2\x80\xa8"', b'"\x7f"', b'"\\u0000"', b'"\\uffff"', b'"\xef\xbf\xbf"',
           b'"' + b"x" * 70 + b'"', b'"' + b"\\\\" * 33 + b'"', b'"//"', b'"/*"', b'"{}[],:"']
NO_STRINGS = [b'"', b'"\\"', b'"\\x"', b'"\\u12"', b'"\\u12G4"', b"'a'", b'"\n"', b'"\t"',
              b'"\x01"', b'"\x00"', b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\u0041"',
              b'"\\udc00\\ud800"',
              b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"', b'"\xc3"',
              b'"\\ud800\\"', b'"\\ud83d\\ude0"', b'"\\U0041"', b'"a']
LITERALS = [b"null", b"true", b"false"]
NO_LITERALS = [b"nul", b"True", b"nulll", b"undefined", b"truefalse", b"", b"n", b"fals\xe9"]
BLANKS = [b"", b"", b"", b" ", b"\n", b"\t", b"\r", b"\r\n  "]
NO_BLANKS = [b"\x0b", b"\x0c", b"\xc2\xa0", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"//\n", b"/**/",
             b"\0"]
NAMES = [b'"a"', b'"b"', b'"a"', b'"\\u0061"', b'""', b'"10"', b'"2"', b'"__proto__"',
         b'"\xc3\xa9"', b'"constructor"', b'"\\ud83d\\ude00"', b'"a\\u0000b"', b'"id"', b'"method"']
VERSIONS = [b'"1.0"', b"2.0", b'"2.0 "', b"null", b'"2.\\u0030"', b"[]", b"2"]
METHODS = [b'"see"', b'"s\\u0065e"', b'"none"', b'""', b"1", b"null", b'"see\\u0000"', b'"\\u0000"',
           b'"__proto__"', b'"' + b"m" * 256 + b'"', b'"' + b"m" * 257 + b'"', b'"\\u006e\\u006f"']
IDS = [b"1", b"0", b"-0", b"1.0", b"1e2", b"1e999", b'"a"', b'"\\u0061"', b"null", b'""',
       b"9007199254740993", b'"\xf0\x9f\x98\x80"', b"-1.5e-7", b'"a\\"b"', b"1" * 256]
NO_IDS = [b"true", b"[]", b"{}", b"[1]", b"false", b"1" * 257, b'"' + b"i" * 300 + b'"', b"01"]


class Texts:
    """Draws texts; the same seed draws the same ones."""

    def __init__(self, dice):
        self.dice = dice

    def odd(self, percent):
        return self.dice.random() * 100 < percent

    def pick(self, usual, odd, percent=1):
        return self.dice.choice(odd if self.odd(percent) else usual)

    def blank(self):
        return self.pick(BLANKS, NO_BLANKS, 0.3)

    def number(self):
        if self.odd(50):
            return self.pick(NUMBERS, NO_NUMBERS, 2)
        digits = b"%d" % self.dice.getrandbits(self.dice.choice((4, 8, 30, 53, 64, 90)))
        out = (b"-" if self.odd(30) else b"") + digits
        if self.odd(40):
            out += b".%d" % self.dice.getrandbits(self.dice.choice((4, 30, 64, 200)))
        if self.odd(40):
            out += self.dice.choice((b"e", b"E", b"e-", b"e+")) + b"%d" % self.dice.randrange(340)
        return out

    def scalar(self):
        what = self.dice.randrange(3)
        if what == 0:
            return self.number()
        return self.pick(STRINGS, NO_STRINGS, 2) if what == 1 else self.pick(LITERALS, NO_LITERALS)

    def value(self, depth=0):
        if depth > 5 or self.odd(50):
            return self.scalar()
        parts = []
        is_object = self.odd(50)
        for _ in range(self.dice.choice((0, 1, 2, 3))):
            name = self.pick(NAMES, [b"a", b"1", b"'a'", b"null", b'"'], 1) if is_object else b""
            colon = self.blank() + self.pick([b":"], [b"", b"=", b"::"], 0.5) if is_object else b""
            parts.append(self.blank() + name + colon + self.blank() + self.value(depth + 1) +
                         self.blank())
        inside = self.pick([b","], [b"", b";", b",,"], 0.5).join(parts) or self.blank()
        begin, end = (b"{", b"}") if is_object else (b"[", b"]")
        return begin + inside + self.pick([end], [b"", b"," + end, b"]", b"}", end + end], 0.5)

    def deep(self):
        """Values about as deep as may be."""
        depth = self.dice.choice((60, 62, 63, 64, 65, 66, 70, 200))
        inside = self.dice.choice((b"", b"1", b'"x"'))
        if self.odd(50):
            return b"[" * depth + inside + b"]" * depth
        return b'{"a":' * depth + (inside or b"0") + b"}" * depth

    def member(self, name, value):
        if self.odd(3):
            name = b"\\u%04x" % name[0] + name[1:]
        return self.blank() + b'"' + name + b'"' + self.blank() + b":" + self.blank() + value

    def message(self):
        members = [self.member(b"jsonrpc", self.pick([b'"2.0"'], VERSIONS, 4)),
                   self.member(b"method", self.pick([b'"see"'], METHODS, 12))]
        if self.odd(90):
            members.append(self.member(b"id", self.pick(IDS, NO_IDS, 5)))
        if self.odd(85):
            params = self.deep() if self.odd(3) else self.value()
            if not params.startswith((b"[", b"{")) and not self.odd(5):
                params = b"[" + params + b"]"
            members.append(self.member(b"params", params))
        if self.odd(10):
            name = self.dice.choice((b"unread", b"result", b"error", b"Id", b"\xc3\xa9"))
            members.append(self.member(name, self.value()))
        if self.odd(4):
            members.append(self.dice.choice(members))
        if self.odd(4):
            del members[self.dice.randrange(len(members))]
        self.dice.shuffle(members)
        return b"{" + b",".join(members) + self.blank() + b"}"

    def body(self):
        what = self.dice.randrange(20)
        if what == 0:
            text = self.value()
        elif what < 4:
            parts = [self.value() if self.odd(10) else self.message()
                     for _ in range(self.dice.choice((0, 1, 2, 3)))]
            text = b"[" + b",".join(parts) + b"]"
        else:
            text = self.message()
        text = self.pick([b"", b" "], [b"\xef\xbb\xbf", b"\0", b","], 0.5) + text
        text += self.pick([b"", b"\n"], [b"\0", b"x", b",", b"{}"], 0.5)
        return mutate(text, self.dice, ALPHABET) if self.odd(30) else text


def around(text):
    """The places of a message where a text may stand."""
    yield text
    yield b'{"jsonrpc":"2.0","method":"see","params":' + text + b',"id":7}'
    yield b'{"jsonrpc":"2.0","method":"see","params":[0,' + text + b'],"id":7}'
    yield b'{"jsonrpc":"2.0","method":"see","unread":' + text + b',"id":7}'
    yield b'{"jsonrpc":"2.0","id":' + text + b',"method":"see"}'
    yield b'{"jsonrpc":"2.0","id":7,"method":' + text + b"}"
    yield b'{"jsonrpc":' + text + b',"id":7,"method":"see"}'
    yield b"[" + text + b',{"jsonrpc":"2.0","method":"see","id":7}]'
