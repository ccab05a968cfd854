#!/usr/bin/env python3
"""Clients that are not ours against ringrpcd, on both backends.

Usage: clients_test.py BIN_DIR [unittest arguments]
"""

import http.client
import json
import re
import unittest

from wire_support import BACKENDS, PATIENCE_S, Server, message, need, run, main

NODE = """
const url = process.argv[1];
const call = async (text) => {
  const response = await fetch(url, {method: 'POST', body: text,
      headers: {'Content-Type': 'application/json'}});
  return [response.status, await response.text()];
};
const answers = [];
for (let id = 0; id < 3; ++id) {
  answers.push(await call(JSON.stringify({jsonrpc: '2.0', id, method: 'sum', params: [id, 1]})));
}
answers.push(...await Promise.all([10, 11, 12].map((id) =>
    call(JSON.stringify({jsonrpc: '2.0', id, method: 'blob', params: {bytes: 100000}})))));
answers.push(await call(JSON.stringify({jsonrpc: '2.0', method: 'jobs.progress'})));
console.log(JSON.stringify(answers));
"""


class Clients(unittest.TestCase):
    def curl(self, server, *arguments):
        done = run(need("curl"), "-sS", "--max-time", str(PATIENCE_S), *arguments, server.url)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_curl(self):
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                json_type = ("-H", "Content-Type: application/json")
                for version in ("--http1.0", "--http1.1"):
                    answer = self.curl(server, version, *json_type, "-d", message("sum", [2, 3]))
                    self.assertEqual('{"jsonrpc":"2.0","result":5,"id":1}', answer)
                # Beyond 1 MB it asks before it sends, and chunks have no length.
                large = message("echo", ["x" * 1_500_000])
                for fields in ((), ("-H", "Transfer-Encoding: chunked")):
                    done = run(need("curl"), "-sS", *json_type, *fields, "-H",
                               "Expect: 100-continue", "--data-binary", "@-", server.url,
                               input=large)
                    self.assertEqual(json.loads(large)["params"], json.loads(done.stdout)["result"])
                status = self.curl(server, *json_type, "-o", "/dev/null", "-w", "%{http_code}",
                                   "-d", '{"jsonrpc":"2.0","method":"jobs.progress"}')
                self.assertEqual("204", status)
                self.assertEqual(0, server.stop())

    def test_http_client(self):
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
                fields = {"Content-Type": "application/json"}
                for number in range(100):
                    client.request("POST", "/rpc", message("sum", [number, 1], number), fields)
                    answer = client.getresponse()
                    self.assertEqual(200, answer.status)
                    self.assertEqual({"jsonrpc": "2.0", "result": number + 1, "id": number},
                                     json.loads(answer.read()))
                    if number == 0:
                        first = client.sock
                    self.assertIs(first, client.sock)
                client.request("POST", "/rpc", '{"jsonrpc":"2.0","method":"jobs.progress"}', fields)
                answer = client.getresponse()
                self.assertEqual((204, b""), (answer.status, answer.read()))
                client.request("POST", "/rpc", iter([message("sum", [2, 3]).encode()]), fields)
                self.assertEqual(5, json.loads(client.getresponse().read())["result"])
                client.request("HEAD", "/healthz")
                self.assertEqual(b"", client.getresponse().read())
                client.request("GET", "/metrics")
                self.assertIn(b"ringrpc_calls_total", client.getresponse().read())
                client.close()
                self.assertEqual(0, server.stop())

    def test_node_fetch(self):
        node = need("node")
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                done = run(node, "--input-type=module", "-e", NODE, server.url)
                self.assertEqual(0, done.returncode, done.stderr)
                answers = json.loads(done.stdout)
                for token in range(3):
                    self.assertEqual([200, {"jsonrpc": "2.0", "result": token + 1, "id": token}],
                                     [answers[token][0], json.loads(answers[token][1])])
                for place, token in ((3, 10), (4, 11), (5, 12)):
                    answer = json.loads(answers[place][1])
                    self.assertEqual((token, "x" * 100000), (answer["id"], answer["result"]))
                self.assertEqual([204, ""], answers[6])
                self.assertEqual(0, server.stop())


class Load(unittest.TestCase):
    """Short runs: what counts is that nothing goes wrong."""

    def test_wrk(self):
        wrk = need("wrk")
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                script = server.folder + "/post.lua"
                with open(script, "w", encoding="ascii") as file:
                    file.write("wrk.method = 'POST'\nwrk.headers['Content-Type'] = "
                               "'application/json'\nwrk.body = '" + message("sum", [2, 3]) + "'\n")
                done = run(wrk, "-t1", "-c16", "-d1s", "-s", script, server.url)
                self.assertEqual(0, done.returncode, done.stderr)
                self.assertNotIn("Socket errors", done.stdout)
                self.assertNotIn("Non-2xx", done.stdout)
                self.assertGreater(int(re.search(r"(\d+) requests in", done.stdout).group(1)), 0)
                self.assertEqual(0, server.stop())

    def test_h2load(self):
        h2load = need("h2load")
        for io in BACKENDS:
            with Server("--io", io) as server, self.subTest(io=io):
                body = server.folder + "/body"
                with open(body, "w", encoding="ascii") as file:
                    file.write(message("sum", [2, 3]))
                done = run(h2load, "--h1", "-n", "4000", "-c", "8", "-m", "4", "-d", body, "-H",
                           "Content-Type: application/json", server.url)
                self.assertEqual(0, done.returncode, done.stdout + done.stderr)
                self.assertIn("4000 succeeded, 0 failed, 0 errored, 0 timeout", done.stdout)
                self.assertEqual(0, server.stop())


if __name__ == "__main__":
    main()
