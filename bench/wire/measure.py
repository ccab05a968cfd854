"""Runs ringload against servers, in pairs that see the same machine, and sums the runs up."""

import json
import pathlib
import statistics
import subprocess

COUNTERS = {"enters": "ringrpc_enters_total", "receives": "ringrpc_receives_total",
            "sends": "ringrpc_sends_total", "copied": "ringrpc_bytes_copied_total"}


class BadRun(Exception):
    """A run with errors: a benchmark of wrong answers is worth nothing."""


class Load:
    """How ringload is called for one row."""

    def __init__(self, program, cpu, connections=32, depth=1, body=None, spin=False):
        self.program = program
        self.cpu = cpu
        self.arguments = ["--connections", str(connections), "--depth", str(depth)]
        if body is not None:
            self.arguments += ["--body", body]
        if spin:
            self.arguments.append("--spin")

    def head(self, url):
        """Lines have none."""
        return [] if url.startswith(("tcp:", "unix:")) else ["--header", "Host: localhost"]

    def request(self):
        """The bytes of one request. They do not depend on the port."""
        return subprocess.run(
            [self.program, *self.arguments, *self.head(""), "--show-request",
             "http://127.0.0.1:80/rpc"],
            check=True, capture_output=True).stdout

    def run(self, server, seconds, warmup):
        """Returns: ringload's report, with the server's own counters per request in "per"."""
        before = server.metrics()
        done = subprocess.run(
            ["taskset", "-c", str(self.cpu), self.program, *self.arguments,
             *self.head(server.url()), "--json", "--seconds", str(seconds), "--warmup",
             str(warmup), "--server-pid", str(server.pid), server.url()],
            capture_output=True, text=True, timeout=seconds + warmup + 60)
        if done.returncode != 0:
            raise BadRun(f"{server.name}: ringload ended with {done.returncode}: "
                         f"{done.stdout}{done.stderr}".strip())
        report = json.loads(done.stdout)
        after = server.metrics()
        report["per"] = {}
        replies = report["replies"] + report["outside"]["replies"]
        for name, metric in COUNTERS.items():
            if metric in after:
                report["per"][name] = (after[metric] - before[metric]) / replies
        return report


def cpu_us(report):
    return report["server_cpu_us"]["total"]


class Triples:
    """Rival, ours, rival, in short runs; kept when the two rivals agree within `spread`."""

    def __init__(self, spread=0.08):
        self.spread = spread
        self.tried = 0
        self.ratios = []
        self.ours = []
        self.rivals = []

    def add(self, first, ours, second):
        self.tried += 1
        slow = max(cpu_us(first), cpu_us(second))
        fast = min(cpu_us(first), cpu_us(second))
        if fast == 0 or slow / fast - 1 > self.spread:
            return False
        self.ratios.append(cpu_us(ours) * 2 / (slow + fast))
        self.ours.append(ours)
        self.rivals += [first, second]
        return True


def median(reports, key):
    return statistics.median(key(report) for report in reports)


def figures(reports):
    """Medians of what a table shows of one server."""
    result = {
        "runs": len(reports),
        "per_second": median(reports, lambda r: r["per_second"]),
        "per_second_min": min(r["per_second"] for r in reports),
        "per_second_max": max(r["per_second"] for r in reports),
        "cpu_us": median(reports, cpu_us),
        "cpu_us_min": min(map(cpu_us, reports)),
        "cpu_us_max": max(map(cpu_us, reports)),
        "user_us": median(reports, lambda r: r["server_cpu_us"]["user"]),
        "system_us": median(reports, lambda r: r["server_cpu_us"]["system"]),
        "load_cpu_us": median(reports, lambda r: r["own_cpu_us"]["total"]),
        "p50_us": median(reports, lambda r: r["latency_us"]["p50"]),
        "p99_us": median(reports, lambda r: r["latency_us"]["p99"]),
        "p99.9_us": median(reports, lambda r: r["latency_us"]["p99.9"]),
    }
    for name in COUNTERS:
        if all(name in report["per"] for report in reports):
            result[name] = median(reports, lambda r, key=name: r["per"][key])
    return result


def line(name, reports):
    f = figures(reports)
    text = (f"  {name:<12} {f['cpu_us']:8.3f} us CPU [{f['cpu_us_min']:.3f} - "
            f"{f['cpu_us_max']:.3f}] (user {f['user_us']:.3f}, system {f['system_us']:.3f})  "
            f"{f['per_second']:>11,.0f}/s  p50 {f['p50_us']:.1f}  p99 {f['p99_us']:.1f}  "
            f"load {f['load_cpu_us']:.3f}")
    if "enters" in f:
        text += "  per request: " + ", ".join(
            f"{f[name]:.3f} {name}" for name in COUNTERS if name in f)
    return text


def machine():
    """One line: CPU, kernel, mitigations that matter."""
    model = "unknown CPU"
    for row in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if row.startswith("model name"):
            model = row.partition(":")[2].strip()
            break
    kernel = pathlib.Path("/proc/sys/kernel/osrelease").read_text().strip()
    cpus = subprocess.run(["nproc", "--all"], capture_output=True, text=True).stdout.strip()
    return f"{model}, {cpus} CPUs, Linux {kernel}"


class Busy:
    """The share of the machine's time that the measurement did not cause."""

    def __init__(self):
        self.begin = self.read()
        self.ours_s = 0.0

    @staticmethod
    def read():
        # user nice system idle iowait irq softirq steal
        values = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        return [int(value) for value in values]

    def count(self, report):
        used = report["server_cpu_us"]["total"] + report["own_cpu_us"]["total"]
        self.ours_s += used * report["answered"] / 1e6

    def text(self):
        spent = [end - begin for begin, end in zip(self.begin, self.read())]
        total = sum(spent) or 1
        busy = total - spent[3] - spent[4]
        others = max(0.0, busy - self.ours_s * 100) / total
        return (f"other load {100 * others:.0f} % of the machine (warm-up included), "
                f"stolen {100 * spent[7] / total:.1f} %")
