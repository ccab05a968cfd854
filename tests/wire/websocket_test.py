#!/usr/bin/env python3
"""WebSocket clients that are not ours against ringrpcd, on both backends: the npm package ws as a
client, as a crowd and as a peer that sends anything, and Python's websockets.

They are installed into the build folder from their registries, once. Where that cannot be reached,
or npm or pip is not there, the tests say so and skip. SEED=N and CASES=N in the environment change
what the peer that sends anything draws.

Usage: websocket_test.py BIN_DIR [unittest arguments]
"""

import asyncio
import fcntl
import json
import os
import subprocess
import sys
import unittest

from wire_support import BACKENDS, BIN, PATIENCE_S, Server, message, need, run, main

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.join(os.path.dirname(BIN), "websocket_clients")
WS, WEBSOCKETS = "ws@8", "websockets>=12"


def installed(name, path, *command):
    """Runs an install command unless its outcome is there, or skips the test and says why."""
    need(command[0])
    os.makedirs(CLIENTS, exist_ok=True)
    # Tests run side by side.
    with open(os.path.join(CLIENTS, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):
            return
        try:
            done = run(*command)
        except subprocess.TimeoutExpired:
            sentence = f"{name} is not installed: its registry does not answer"
            raise unittest.SkipTest(sentence) from None
    if done.returncode != 0 or not os.path.exists(path):
        reason = (done.stderr or done.stdout).strip().split("\n")[-1]
        raise unittest.SkipTest(f"{name} could not be installed: {reason}")


def node_client():
    node = need("node")
    installed("the npm package ws", os.path.join(CLIENTS, "node_modules", "ws"), "npm", "install",
              "--silent", "--no-audit", "--no-fund", "--prefix", CLIENTS, WS)
    return [node, os.path.join(HERE, "ws_client.mjs"), CLIENTS]


def python_client():
    folder = os.path.join(CLIENTS, "python")
    installed("Python's websockets", os.path.join(folder, "websockets"), sys.executable, "-m",
              "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder,
              WEBSOCKETS)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import websockets  # pylint: disable=import-outside-toplevel
    return websockets


def url_of(server):
    return server.url.replace("http:", "ws:")


class Node(unittest.TestCase):
    def scenario(self, server, name, *arguments):
        done = run(*node_client(), name, url_of(server), *arguments)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_client(self):
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                self.scenario(server, "client")
                self.scenario(server, "ends")
                self.assertEqual(0, server.stop())

    def test_crowd(self):
        command = node_client()
        for io in BACKENDS:
            with Server("--io", io, "--workers", "2") as server, self.subTest(io=io):
                with subprocess.Popen([*command, "crowd", url_of(server), "1000"], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
                    self.assertEqual('{"open":1000}', child.stdout.readline().strip())
                    # All are told, and the server ends in time.
                    self.assertEqual(0, server.stop())
                    said, errors = child.communicate(timeout=PATIENCE_S)
                    self.assertEqual((0, '"well"'), (child.returncode, said.strip()), errors)

    def test_anything(self):
        seed = os.environ.get("SEED", "6455")
        cases = os.environ.get("CASES", "300")
        print(f"seed {seed} (SEED=N sets another)", flush=True)
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                counts = self.scenario(server, "fuzz", seed, cases)
                self.assertGreater(min(counts.values()), int(cases) // 10, counts)
                self.assertEqual(0, server.stop())


class Python(unittest.TestCase):
    async def talk(self, websockets, url):
        async with websockets.connect(url, max_size=None, compression="deflate") as socket:
            for number in range(50):
                await socket.send(message("sum", [number, 1], number))
                self.assertEqual({"jsonrpc": "2.0", "result": number + 1, "id": number},
                                 json.loads(await socket.recv()))
            whole = message("echo", ["\u20ac" * 1000], "parts")
            await socket.send(whole[at:at + 100] for at in range(0, len(whole), 100))
            self.assertEqual(["\u20ac" * 1000], json.loads(await socket.recv())["result"])
            await asyncio.wait_for(await socket.ping("sign"), PATIENCE_S)
            await socket.send(message("blob", {"bytes": 2_000_000}))
            self.assertEqual(2_000_000, len(json.loads(await socket.recv())["result"]))
        self.assertEqual(1000, socket.close_code)
        async with websockets.connect(url) as socket:
            await socket.send(b"binary")
            with self.assertRaises(websockets.ConnectionClosed):
                await socket.recv()
            self.assertEqual(1003, socket.close_code)

    def test_websockets(self):
        websockets = python_client()
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                asyncio.run(self.talk(websockets, url_of(server)))
                self.assertEqual(0, server.stop())


if __name__ == "__main__":
    main()
