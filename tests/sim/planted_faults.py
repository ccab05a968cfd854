#!/usr/bin/env python3
"""Shows that the simulation finds faults: plants each in a copy of the tree and expects a failure.

    tests/sim/planted_faults.py [--build FOLDER] [--seeds N] [NAME...]

The copy is built once without a fault, where the simulation must pass, then once for each fault,
where it must not.
"""

import argparse
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# name: (what it is, file, the text as it is, the text with the fault)
FAULTS = {
    "buffer-returned-twice": (
        "a receive buffer is given back twice",
        "engine/serve/worker_frame.h",
        "  io_.give(buffer);\n",
        "  io_.give(buffer);\n  if (buffer % 4 == 3) io_.give(buffer);\n"),
    "short-send-not-continued": (
        "a short send is taken as whole",
        "engine/serve/worker.cpp",
        "  outbox_.taken(connection.out, static_cast<std::uint32_t>(event.result));\n",
        "  outbox_.taken(connection.out, outbox_.front(connection.out).size -\n"
        "                                    outbox_.front(connection.out).taken);\n"),
    "late-completion-taken-as-live": (
        "a completion of a slot's former socket is taken for its new one",
        "engine/serve/worker.cpp",
        "live && connection.generation == handle.generation) [[likely]]",
        "live) [[likely]]"),
    "buffer-not-returned": (
        "the last receive buffer of a turn is kept when its connection is broken",
        "engine/serve/worker.cpp",
        "    if (event.buffer != io::no_buffer) give(event.buffer);\n    return;\n",
        "    return;\n"),
    "partial-block-kept": (
        "an ending connection keeps its partial message",
        "engine/serve/worker_ends.h",
        "  connection.state = ConnectionState::closing;\n  framer_.forget(connection);\n",
        "  connection.state = ConnectionState::closing;\n  connection.partial = nullptr;\n"),
    "half-close-not-watched": (
        "a reset behind a FIN is noticed by nobody",
        "engine/serve/worker_ends.h",
        "  if (connection.peer_finished && connection.late && !connection.paused &&",
        "  if (connection.peer_finished && connection.late && connection.paused &&"),
    "refusal-not-counted-off": (
        "a refused connection stays among the refused when it has ended",
        "engine/serve/worker_ends.h",
        "  if (connection.refused) --refused_count_;\n",
        ""),
    "forced-end-keeps-partial": (
        "a forced end forgets the partial messages of every other connection only",
        "engine/serve/worker.cpp",
        "    worker.framer_.forget(worker.connections_[slot]);\n",
        "    if (slot % 2 == 0) worker.framer_.forget(worker.connections_[slot]);\n"),
    "list-size-not-lowered": (
        "what the kernel has taken still counts as unsent",
        "engine/serve/outbox.cpp",
        "  segment.taken += size;\n  list.size -= size;\n",
        "  segment.taken += size;\n  list.size -= size / 2;\n"),
    "bytes-out-counted-as-offered": (
        "the bytes of a send are counted as offered, not as taken",
        "engine/serve/worker.cpp",
        "  counters_.add(base::Counter::bytes_out, static_cast<std::uint64_t>(event.result));\n",
        "  counters_.add(base::Counter::bytes_out, outbox_.front(connection.out).size);\n"),
    "batch-goes-on-behind-its-budget": (
        "calls of a batch run though its reply is full",
        "engine/rpc/answer.cpp",
        "         !message.budget->spent && envelope.params != ParamsKind::other &&\n",
        "         message.budget != nullptr && envelope.params != ParamsKind::other &&\n"),
}


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **more)


def copy_tree(target):
    listed = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                  "--exclude-standard"])
    if listed.returncode != 0:
        shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns("build", ".git"))
        return
    for path in filter(None, listed.stdout.split("\0")):
        source = os.path.join(ROOT, path)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
            shutil.copy2(source, os.path.join(target, path))
    # The last run may have left objects with a fault in them, newer than these files.
    for _, path, _, _ in FAULTS.values():
        os.utime(os.path.join(target, path))


def build(folder, tree):
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        done = run(["cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                    "-DCMAKE_CXX_FLAGS=-O1 -g1", "-DRINGRPC_DEBUG_CHECKS=ON"])
        if done.returncode != 0:
            sys.exit(done.stdout)
    done = run(["ninja", "-C", folder, "-j2", "sim_test"])
    if done.returncode != 0:
        sys.exit(done.stdout)


def simulate(folder, seeds):
    done = run([os.path.join(folder, "bin", "sim_test"), "--gtest_filter=Simulation.*:HalfCloses.*",
                "--seeds", str(seeds)])
    lines = [line for line in done.stdout.splitlines()
             if line.strip() and not line.startswith(("[", "Note:", "ringrpc: the handler"))]
    return done.returncode, lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="/tmp/ringrpc-planted-faults")
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("names", nargs="*", help=", ".join(FAULTS))
    options = parser.parse_args()
    tree = os.path.join(options.build, "tree")
    folder = os.path.join(options.build, "build")
    shutil.rmtree(tree, ignore_errors=True)
    copy_tree(tree)
    build(folder, tree)
    code, lines = simulate(folder, options.seeds)
    if code != 0:
        print("the simulation fails without any fault:", *lines[:12], sep="\n  ")
        return 1
    print(f"no fault: {lines[0] if lines else 'passed'}")
    missed = 0
    for name in options.names or FAULTS:
        what, path, good, bad = FAULTS[name]
        path = os.path.join(tree, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(good) != 1:
            print(f"{name}: its place in the code has changed; adapt FAULTS")
            missed += 1
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(good, bad))
        build(folder, tree)
        code, lines = simulate(folder, options.seeds)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        missed += code == 0
        print(f"{name} ({what}): {'NOT FOUND' if code == 0 else 'found'}")
        if code != 0:
            for line in lines[:3] + [line for line in lines[3:] if line.startswith("reproduce")]:
                print("   ", line[:160])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
