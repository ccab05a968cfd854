"""Proxies in front of a server, each on a Unix socket in a folder of its own, and a reader of event
streams. Used by tests and by bench/wire/events."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

PATIENCE_S = 60  # It only ends what would hang.

# What is not said is as the proxy has it; the paths are those that a test can write to.
NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/log;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen unix:{folder}/socket;
    location / {{ proxy_pass http://127.0.0.1:{port}; {silence} }}
  }}
}}
"""
HAPROXY = """
defaults
  mode http
  timeout connect 10s
  timeout client {silence}
  timeout server {silence}
frontend front
  bind unix@{folder}/socket
  default_backend back
backend back
  server one 127.0.0.1:{port}
"""


class Missing(Exception):
    """Not installed on this machine."""


def nginx_command(folder, port, silence_s):
    silence = f"proxy_read_timeout {silence_s}s;" if silence_s else ""
    with open(f"{folder}/conf", "w", encoding="ascii") as conf:
        conf.write(NGINX.format(folder=folder, port=port, silence=silence))
    return ["nginx", "-e", f"{folder}/log", "-c", f"{folder}/conf"]


def haproxy_command(folder, port, silence_s):
    # Its own file of defaults has these 50 s.
    with open(f"{folder}/conf", "w", encoding="ascii") as conf:
        conf.write(HAPROXY.format(folder=folder, port=port, silence=f"{silence_s or 50}s"))
    return ["haproxy", "-db", "-q", "-f", f"{folder}/conf"]


COMMANDS = {"nginx": nginx_command, "haproxy": haproxy_command}


class Proxy:
    """A running proxy that gives up on a server which is silent for so many seconds (None: as long
    as it does by itself)."""

    def __init__(self, name, port, silence_s=None):
        path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
        program = shutil.which(name, path=path)
        if program is None:
            raise Missing(f"{name} is not installed")
        self.folder = tempfile.mkdtemp(prefix="ringrpc-proxy-")
        # What a master that is root starts is somebody else.
        os.chmod(self.folder, 0o777)
        with open(f"{self.folder}/said", "wb") as said:
            self.process = subprocess.Popen(
                [program, *COMMANDS[name](self.folder, port, silence_s)[1:]],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise

    def wait(self):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.connect().close()
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    with open(f"{self.folder}/said", encoding="utf-8") as said:
                        raise RuntimeError(f"the proxy does not serve: {said.read()}") from error
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(PATIENCE_S)
        try:
            peer.connect(f"{self.folder}/socket")
        except BaseException:
            peer.close()
            raise
        return peer


class Caller:
    """An HTTP connection over a connected socket."""

    def __init__(self, peer):
        self.link = http.client.HTTPConnection("localhost", timeout=PATIENCE_S)
        self.link.sock = peer
        self.reply = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.reply is not None:
            self.reply.close()
        self.link.close()

    def send(self, method, params, accept="application/json, text/event-stream"):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.link.request("POST", "/rpc", body,
                          {"Content-Type": "application/json", "Accept": accept})

    def call(self, method, params):
        """Returns the response object."""
        self.send(method, params, "application/json")
        return json.loads(self.link.getresponse().read())

    def events(self):
        """The event stream that answers what was sent: each event's message as it comes, None for a
        comment. A stream that ends before its last chunk raises http.client.IncompleteRead."""
        self.reply = self.link.getresponse()
        kind = self.reply.headers.get_content_type()
        if (self.reply.status, kind) != (200, "text/event-stream"):
            raise ValueError(f"{self.reply.status} {kind}: {self.reply.read()}")
        while line := self.reply.readline():
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))
            elif line.startswith(b":"):
                yield None
