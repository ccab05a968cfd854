#!/usr/bin/env python3
"""How ringrpcd starts and stops where a machine takes something away from it.

Usage: start_test.py BIN_DIR [unittest arguments]
"""

import errno
import json
import os
import resource
import signal
import time
import unittest

from wire_support import (BACKENDS, BIN, PATIENCE_S, Server, message, read_response, main,
                          refuse_io_uring, request, run)


class Start(unittest.TestCase):
    def check_serves(self, server):
        with server.connect() as peer:
            peer.sendall(request(message("sum", [2, 3])))
            _, body = read_response(peer)
        self.assertEqual(5, json.loads(body)["result"])

    def status(self, server):
        with server.connect() as peer:
            peer.sendall(request(message("sum", [2, 3])))
            return int(read_response(peer)[0].split()[1])

    def test_without_io_uring_it_says_so_and_uses_epoll(self):
        for number in (errno.EPERM, errno.ENOSYS):
            with Server("--io", "auto", before=lambda: refuse_io_uring(number)) as server, \
                    self.subTest(errno=number):
                self.assertIn("epoll", server.start_line)
                self.assertIn("io_uring", server.start_line)
                self.check_serves(server)
                self.assertEqual(0, server.stop())
                errors = server.errors + server.process.stderr.read()
                self.assertEqual(1, errors.decode().count("\n"), errors)

    def test_without_io_uring_it_does_not_pretend(self):
        for number in (errno.EPERM, errno.ENOSYS, errno.ENOMEM):
            with self.subTest(errno=number):
                done = run(os.path.join(BIN, "ringrpcd"), "--io", "uring", "--listen",
                           "127.0.0.1:0", preexec_fn=lambda: refuse_io_uring(number))
                self.assertEqual(3, done.returncode, done.stderr)
                self.assertEqual(1, done.stderr.count("\n"), done.stderr)
                self.assertIn("io_uring", done.stderr)

    def test_64_kib_of_locked_memory_are_enough_or_it_says_so(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
            if os.getuid() == 0:  # The limit does not hold for root.
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
        for io in ("auto",) + BACKENDS:
            with Server("--io", io, "--workers", "2", before=limit) as server, \
                    self.subTest(io=io):
                if io == "uring" and server.port == 0:  # Some kernels count rings as locked.
                    self.assertEqual(3, server.process.wait(PATIENCE_S))
                    self.assertIn("locked memory", server.start_line)
                    continue
                self.assertNotEqual(0, server.port, server.errors)
                self.check_serves(server)
                self.assertEqual(0, server.stop())

    def test_few_descriptors_are_a_limit_not_an_end(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
        for io in BACKENDS:
            with Server("--io", io, "--workers", "1", before=limit) as server, \
                    self.subTest(io=io):
                peers = [server.connect() for _ in range(100)]
                for peer in peers[:20]:
                    peer.sendall(request(message("sum", [2, 3])))
                    self.assertEqual(5, json.loads(read_response(peer)[1])["result"])
                for peer in peers:
                    peer.close()
                # Who comes before the server has seen that they left is over the limit, too.
                end = time.monotonic() + PATIENCE_S
                while self.status(server) == 503 and time.monotonic() < end:
                    pass
                self.check_serves(server)
                self.assertEqual(0, server.stop())


class Wait(unittest.TestCase):
    def test_the_first_head_has_ten_seconds_from_connecting(self):
        with Server("--io", "uring") as uring, Server("--io", "epoll") as epoll:
            begin = time.monotonic()
            with uring.connect() as one, epoll.connect() as other:
                time.sleep(5)  # The first byte comes late and buys no more time.
                for peer in (one, other):
                    peer.sendall(b"POST")
                for peer in (one, other):
                    self.assertIn(b"408", peer.recv(4096))
                    self.assertLess(time.monotonic() - begin, 13)


class Stop(unittest.TestCase):
    def test_idle_connections_do_not_hold_it_up(self):
        for io in BACKENDS:
            for number in (signal.SIGTERM, signal.SIGINT):
                with Server("--io", io) as server, self.subTest(io=io, signal=number):
                    kept, fresh = server.connect(), server.connect()
                    peers = (kept, fresh)
                    kept.sendall(request(message("sum", [2, 3])))
                    self.assertEqual(5, json.loads(read_response(kept)[1])["result"])
                    self.assertEqual(0, server.stop(number))
                    for peer in peers:
                        self.assertEqual(b"", peer.recv(4096))
                        peer.close()

    def test_a_request_that_is_there_is_answered(self):
        for io in BACKENDS:
            with Server("--io", io, "--workers", "1") as server, self.subTest(io=io):
                with server.connect() as peer:
                    peer.sendall(request(message("blob", {"bytes": 4_000_000})))
                    peer.recv(1)
                    server.process.send_signal(signal.SIGTERM)
                    received = 1
                    while piece := peer.recv(1 << 20):
                        received += len(piece)
                    self.assertGreater(received, 4_000_000)
                self.assertEqual(0, server.process.wait(PATIENCE_S))


if __name__ == "__main__":
    main()
