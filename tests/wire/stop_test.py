#!/usr/bin/env python3
"""What a stop tells those who wait: calls, event streams and WebSockets, many of each at once.

Usage: stop_test.py BIN_DIR [unittest arguments]
"""

import json
import os
import re
import signal
import struct
import unittest

from wire_support import BACKENDS, PATIENCE_S, Server, message, read_response, request, main

PIPES, CALLS_EACH, STREAMS, SOCKETS = 10, 100, 100, 100
TICK_MS = 300
LONG_MS = 10 * PATIENCE_S * 1000  # Nobody waits for its end.
STOPPING = -31007
TEXT, CLOSE, GOING_AWAY = 1, 8, 1001


def read_all(peer):
    """Returns what comes up to the server's FIN, and leaves. A reset raises."""
    data = b""
    while piece := peer.recv(65536):
        data += piece
    peer.close()
    return data


def read_some(peer, enough):
    """Returns what has come when enough(bytes) says so."""
    data = b""
    while not enough(data):
        piece = peer.recv(65536)
        if not piece:
            raise EOFError(data)
        data += piece
    return data


def responses(data):
    """Returns (head, body) of each response in data, all of which have a Content-Length."""
    found = []
    while data:
        head, data = data.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1))
        if len(data) < length:
            raise EOFError(data)
        found.append((head.decode(), json.loads(data[:length])))
        data = data[length:]
    return found


def chunks(data):
    """Returns the content of chunks, the last of which has to be there and be the end."""
    content = b""
    while True:
        size, data = data.split(b"\r\n", 1)
        length = int(size, 16)
        if data[length:length + 2] != b"\r\n":
            raise EOFError(data)
        content += data[:length]
        data = data[length + 2:]
        if length == 0:
            if data:
                raise ValueError(data)
            return content


def masked(opcode, payload):
    mask = os.urandom(4)
    body = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    if len(payload) < 126:
        return struct.pack("BB", 0x80 | opcode, 0x80 | len(payload)) + mask + body
    return struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, len(payload)) + mask + body


def frames(data):
    """Returns (opcode, payload) of each whole frame of a server in data."""
    found = []
    while data:
        opcode, length, at = data[0], data[1], 2
        if length == 126:
            length, at = struct.unpack(">H", data[2:4])[0], 4
        if opcode & 0x80 == 0 or len(data) < at + length:
            raise EOFError(data)
        found.append((opcode & 0x0F, data[at:at + length]))
        data = data[at + length:]
    return found


def is_closed(data):
    """Whether the last frame of a server that closes is there."""
    try:
        return any(opcode == CLOSE for opcode, _ in frames(data))
    except (EOFError, IndexError, struct.error):
        return False


class Crowd(unittest.TestCase):
    def connect(self, server):
        peer = server.connect()
        self.addCleanup(peer.close)
        return peer

    def sleepers(self, server):
        """Connections, each with pipelined calls that sleep."""
        peers = []
        for _ in range(PIPES):
            peer = self.connect(server)
            peer.sendall(b"".join(request(message("sleep", {"ms": LONG_MS}, token))
                                  for token in range(CALLS_EACH)))
            peers.append(peer)
        return peers

    def streams(self, server):
        """(connection, what came so far) of event streams, each of which has begun."""
        peers = [self.connect(server) for _ in range(STREAMS)]
        for token, peer in enumerate(peers):
            if token % 2 == 0:
                body = message("ticks", {"count": 1_000_000, "ms": TICK_MS}, token)
            else:
                body = message("feed.subscribe", {"topic": "news"}, token)
            peer.sendall(request(body, "Accept: application/json, text/event-stream"))
        server.wait_until("ringrpc_in_flight", STREAMS)
        with server.connect() as publisher:
            publisher.sendall(request(message("feed.publish", {"topic": "news", "value": 1})))
            self.assertEqual(b"true", read_response(publisher)[1].split(b'"result":')[1][:4])
        return [(peer, read_some(peer, lambda data: b"data: " in data)) for peer in peers]

    def websockets(self, server):
        """WebSockets, every second of which has a call that sleeps."""
        peers = []
        for number in range(SOCKETS):
            peer = self.connect(server)
            peer.sendall(b"GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                         b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            head = read_some(peer, lambda data: data.endswith(b"\r\n\r\n"))
            self.assertIn(b" 101 ", head)
            if number % 2 == 1:
                peer.sendall(masked(TEXT, message("sleep", {"ms": LONG_MS}, number).encode()))
            peers.append(peer)
        return peers

    def check_calls(self, peers):
        for peer in peers:
            found = responses(read_all(peer))
            self.assertEqual(list(range(CALLS_EACH)), [body["id"] for _, body in found])
            self.assertEqual({STOPPING}, {body["error"]["code"] for _, body in found})
            self.assertEqual({"503"}, {head.split()[1] for head, _ in found})
            # The last one says that nothing is read behind it.
            closing = ["connection: close" in head.lower() for head, _ in found]
            self.assertEqual([False] * (CALLS_EACH - 1) + [True], closing)

    def check_streams(self, peers):
        for token, (peer, begin) in enumerate(peers):
            head, body = (begin + read_all(peer)).split(b"\r\n\r\n", 1)
            self.assertIn(b" 200 ", head)
            self.assertIn(b"text/event-stream", head)
            *events, end = chunks(body).split(b"\n\n")
            self.assertEqual(b"", end)
            events = [json.loads(event.removeprefix(b"data: ")) for event in events
                      if not event.startswith(b":")]
            methods = {event.get("method") for event in events[:-1]}
            self.assertEqual({"feed.event" if token % 2 else "tick"}, methods)
            last = (events[-1]["id"], events[-1]["error"]["code"])
            self.assertEqual((token, STOPPING), last)

    def check_websockets(self, peers):
        for number, peer in enumerate(peers):
            data = read_some(peer, is_closed)
            *told, (opcode, payload) = frames(data)
            self.assertEqual(CLOSE, opcode)
            self.assertEqual(GOING_AWAY, struct.unpack(">H", payload[:2])[0])
            told = [json.loads(text) for _, text in told]
            told = [(one["id"], one["error"]["code"]) for one in told]
            self.assertEqual([(number, STOPPING)] if number % 2 else [], told)
            peer.sendall(masked(CLOSE, payload))
            self.assertEqual(b"", read_all(peer))

    def test_a_thousand_calls_a_hundred_streams_and_a_hundred_websockets_are_told(self):
        for io in BACKENDS:
            for workers in ("1", "2"):
                with Server("--io", io, "--workers", workers) as server, \
                        self.subTest(io=io, workers=workers):
                    streams = self.streams(server)
                    sleepers = self.sleepers(server)
                    sockets = self.websockets(server)
                    server.wait_until("ringrpc_in_flight",
                                      STREAMS + PIPES * CALLS_EACH + SOCKETS // 2)
                    server.process.send_signal(signal.SIGTERM)
                    self.check_streams(streams)
                    self.check_calls(sleepers)
                    self.check_websockets(sockets)
                    # One that the stop's deadline had to end would say 1.
                    self.assertEqual(0, server.process.wait(PATIENCE_S))


if __name__ == "__main__":
    main()
