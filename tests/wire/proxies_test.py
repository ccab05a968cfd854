#!/usr/bin/env python3
"""Event streams through other people's proxies.

Usage: proxies_test.py BIN_DIR [unittest arguments]
"""

import http.client
import unittest

from proxy_support import Caller, Missing, Proxy
from wire_support import BACKENDS, Server, main

SILENCE_S, BEAT_MS = 1, 200
# So many comments, one behind the other, take three times as long as the proxy's patience lasts.
BEATS = 3 * SILENCE_S * 1000 // BEAT_MS


class Streams:
    """What has to hold for each proxy."""

    name = ""

    def proxy(self, server, **options):
        try:
            return Proxy(self.name, server.port, **options)
        except Missing as missing:
            self.skipTest(str(missing))

    def check_event(self, publisher, events, value):
        self.assertTrue(publisher.call("feed.publish", {"topic": "news", "value": value})["result"])
        event = next(one for one in events if one is not None)
        self.assertEqual("feed.event", event["method"])
        self.assertEqual({"topic": "news", "value": value}, event["params"])

    def test_events_arrive_as_they_are_sent(self):
        for io in BACKENDS:
            with Server("--io", io, "--workers", "2") as server, self.subTest(io=io), \
                    self.proxy(server) as proxy, \
                    Caller(proxy.connect()) as reader, Caller(server.connect()) as publisher:
                reader.send("feed.subscribe", {"topic": "news"})
                server.wait_until("ringrpc_in_flight", 1)
                events = reader.events()
                # None is made before the one before it was received.
                for value in range(20):
                    self.check_event(publisher, events, value)
                self.assertEqual(0, server.stop())
                self.assertEqual([-31007], [event["error"]["code"] for event in events])

    def test_a_result_comes_after_the_last_event(self):
        with Server() as server, self.proxy(server) as proxy, Caller(proxy.connect()) as reader:
            reader.send("ticks", {"count": 3, "ms": 1})
            *ticks, last = reader.events()
            self.assertEqual([1, 2, 3], [tick["params"]["n"] for tick in ticks])
            self.assertEqual(3, last["result"])

    def test_heartbeats_keep_a_silent_stream_alive(self):
        for io in BACKENDS:
            with Server("--io", io, "--heartbeat-ms", str(BEAT_MS)) as server, \
                    self.subTest(io=io), self.proxy(server, silence_s=SILENCE_S) as proxy, \
                    Caller(proxy.connect()) as reader, Caller(server.connect()) as publisher:
                reader.send("feed.subscribe", {"topic": "news"})
                events = reader.events()
                for _ in range(BEATS):
                    self.assertIsNone(next(events))
                self.check_event(publisher, events, "late")

    def test_without_heartbeats_the_proxy_ends_it(self):
        # Else the test above would show nothing.
        with Server() as server, self.proxy(server, silence_s=SILENCE_S) as proxy, \
                Caller(proxy.connect()) as reader, Caller(server.connect()) as publisher:
            reader.send("feed.subscribe", {"topic": "news"})
            server.wait_until("ringrpc_in_flight", 1)
            events = reader.events()
            self.check_event(publisher, events, 1)
            with self.assertRaises((http.client.IncompleteRead, ConnectionError, StopIteration)):
                next(events)
            server.wait_until("ringrpc_in_flight", 0)


class Nginx(Streams, unittest.TestCase):
    name = "nginx"


class Haproxy(Streams, unittest.TestCase):
    name = "haproxy"


if __name__ == "__main__":
    main()
