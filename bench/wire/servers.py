"""Starts the servers that are measured, each on a free port of its own and pinned to one CPU."""

import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

REPLY_BODY = '{"jsonrpc":"2.0","result":5,"id":1}'

NGINX_CONF = """
daemon off;
user root;
worker_processes 1;
pid {work}/nginx.pid;
error_log {work}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {work}; proxy_temp_path {work}; fastcgi_temp_path {work};
  uwsgi_temp_path {work}; scgi_temp_path {work};
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      default_type application/json;
      add_header X-Content-Type-Options nosniff;
      return 200 '{body}';
    }}
  }}
}}
"""


class ServerError(Exception):
    pass


class Missing(ServerError):
    """Not installed on this machine."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(pid):
    """The processes whose parent is pid."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        if int(stat.rpartition(") ")[2].split()[1]) == pid:
            found.append(int(entry.name))
    return found


class Server:
    """One running server. pid is the process whose CPU time counts."""

    def __init__(self, name, command, cpu):
        self.name = name
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="ringrpc-wire-"))
        self.log = self.work / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(cpu), *command(self.work)],
                stdout=subprocess.PIPE, stderr=log)
        self.pid = self.process.pid
        self.port = None

    def fail(self, what):
        self.stop()
        raise ServerError(f"{self.name}: {what}")

    def wait_for(self, ready, what, seconds=10):
        end = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.fail(f"{what}: {self.log.read_text(errors='replace').strip()}")
            time.sleep(0.002)

    def stop(self):
        """Returns: what the server said on stderr."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        shutil.rmtree(self.work, ignore_errors=True)
        return said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def url(self):
        return f"http://127.0.0.1:{self.port}/rpc"

    def metrics(self):
        """The server's own counters by name, labels summed up; empty where it has none."""
        return {}

    def exchange(self, request):
        """One request on a connection of its own. Returns: the reply's bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as link:
            link.sendall(request)
            reply = b""
            while True:
                piece = link.recv(65536)
                reply += piece
                head, end, body = reply.partition(b"\r\n\r\n")
                if not piece:
                    return reply
                if end:
                    sizes = [line.partition(b":")[2] for line in head.lower().split(b"\r\n")
                             if line.startswith(b"content-length:")]
                    if sizes and len(body) >= int(sizes[0]):
                        return reply


class Bare(Server):
    """bare_uring or bare_epoll: says its port on stdout."""

    def __init__(self, program, cpu, request_size, spin_us=0):
        super().__init__(program.name, lambda _: [
            str(program), "--request-size", str(request_size), "--spin-us", str(spin_us)], cpu)
        line = self.process.stdout.readline().split()
        if len(line) != 2:
            self.fail(self.log.read_text(errors="replace").strip())
        self.port = int(line[1])


class Ringrpcd(Server):
    """ours, with a door of each kind, of which url() names one."""

    DOORS = ("http", "tcp", "ws", "unix", "unix-http")

    def __init__(self, program, cpu, io="uring", spin_us=0, doors=False, more=()):
        port_file = []
        self.door = "http"

        def command(work):
            port_file.append(work / "port")
            return [str(program), "--listen", "127.0.0.1:0", "--workers", "1", "--io", io,
                    "--spin-us", str(spin_us), "--port-file", str(port_file[0]), *more,
                    *(("--tcp", "127.0.0.1:0", "--unix", str(work / "unix"),
                       "--unix-http", str(work / "unix-http")) if doors else ())]

        super().__init__(program.name, command, cpu)
        self.wait_for(port_file[0].exists, "does not serve")
        self.places = dict(line.split(" ", 1)
                           for line in port_file[0].read_text().splitlines())
        self.port = int(self.places["http"])

    def url(self):
        return {"http": f"http://127.0.0.1:{self.port}/rpc",
                "ws": f"ws://127.0.0.1:{self.port}/rpc",
                "tcp": f"tcp://127.0.0.1:{self.places.get('tcp')}",
                "unix": f"unix:{self.places.get('unix')}",
                "unix-http": f"unix-http:{self.places.get('unix-http')}"}[self.door]

    def metrics(self):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        link.request("GET", "/metrics")
        reply = link.getresponse()
        text = reply.read().decode()
        link.close()
        values = {}
        for line in text.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            name, _, value = line.rpartition(" ")
            name = name.partition("{")[0]
            values[name] = values.get(name, 0.0) + float(value)
        return values if reply.status == 200 else {}


class Nginx(Server):
    """A fixed reply from one nginx worker: the yardstick of requests per second."""

    def __init__(self, cpu):
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        if not os.path.exists(program):
            raise Missing("nginx is not installed; try: apt-get install nginx-light")
        port = free_port()

        def command(work):
            conf = work / "nginx.conf"
            conf.write_text(NGINX_CONF.format(work=work, port=port, body=REPLY_BODY))
            return [program, "-e", str(work / "error.log"), "-c", str(conf)]

        super().__init__("nginx", command, cpu)
        self.port = port
        self.wait_for(self.serves, "does not serve")
        workers = children(self.process.pid)
        if len(workers) != 1:
            self.fail(f"has {len(workers)} workers")
        self.pid = workers[0]

    def serves(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return bool(children(self.process.pid))


def start(program, cpu, request_size, io="uring", spin_us=0):
    """Starts a bare server or ringrpcd, whichever the program's name says."""
    if program.name.startswith("bare_"):
        return Bare(program, cpu, request_size, spin_us)
    return Ringrpcd(program, cpu, io, spin_us)
