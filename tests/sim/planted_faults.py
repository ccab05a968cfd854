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
        "connection.paused ? !connection.receiving : connection.peer_finished;",
        "connection.paused ? !connection.receiving : connection.broken;"),
    "paused-not-watched": (
        "a reset of a connection that is not read is noticed by nobody",
        "engine/serve/worker_ends.h",
        "connection.paused ? !connection.receiving : connection.peer_finished;",
        "!connection.paused && connection.peer_finished;"),
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
    "reply-of-a-connection-that-is-gone": (
        "the calls of a connection that has ended are not marked as nobody's",
        "engine/serve/late_desk.cpp",
        "    call->exchange = no_exchange;\n    call->told = true;\n",
        "    call->exchange = no_exchange;\n"),
    "reply-before-those-that-wait": (
        "over HTTP a reply leaves at once though earlier ones are still to come",
        "engine/serve/late_desk.h",
        "    return exchanges_[lists_[slot_of(connection)].last].behind;\n",
        "    return connection.out;\n"),
    "late-reply-overtakes": (
        "over HTTP a late reply leaves before one that is later still",
        "engine/serve/late_desk.h",
        "    return waits ? exchanges_[exchange.previous].behind : connection.out;\n",
        "    return waits && exchange.batch ? exchanges_[exchange.previous].behind\n"
        "                                   : connection.out;\n"),
    "what-was-held-forgotten": (
        "what waited behind a reply does not follow it",
        "engine/serve/late_desk.cpp",
        "  options_.outbox->append(before, exchange.behind);\n",
        "  options_.outbox->clear(exchange.behind);\n"),
    "answer-before-its-events": (
        "the answer of a stream does not wait for notifications without room",
        "engine/serve/late_desk.cpp",
        "    if (!pump(call, options_.connections[slot])) return slot;\n",
        "    pump(call, options_.connections[slot]);\n"),
    "event-not-taken-off-the-queue": (
        "notifications that were sent still count as waiting",
        "engine/serve/late_events.cpp",
        "  call.queued.fetch_sub(static_cast<std::uint32_t>(event.size), "
        "std::memory_order_seq_cst);\n",
        ""),
    "events-in-the-wrong-order": (
        "a notification that finds others waiting goes in front of them",
        "engine/serve/late_events.cpp",
        "    (call.waiting_last != nullptr ? call.waiting_last->next : call.waiting_first) = "
        "&event;\n"
        "    call.waiting_last = &event;\n",
        "    event.next = call.waiting_first;\n"
        "    if (call.waiting_first == nullptr) call.waiting_last = &event;\n"
        "    call.waiting_first = &event;\n"),
    "cancelled-place-kept": (
        "the place of a call that was cancelled is not given back",
        "engine/rpc/late_calls.cpp",
        "  free_ = &call;\n  --in_flight_;\n",
        "  if (call.stop.load() == StopReason::cancelled) return;\n"
        "  free_ = &call;\n  --in_flight_;\n"),
    "cancels-of-others": (
        "a wish to cancel stops every call whose id is as long",
        "engine/rpc/late_waits.cpp",
        "    if (!call->wanted || call->told || call->id() != id) continue;\n",
        "    if (!call->wanted || call->told || call->id().size() != id.size()) continue;\n"),
    "memory-of-a-batch-kept": (
        "the memory of a batch's late replies is not given back",
        "engine/serve/late_desk.cpp",
        "    delete[] exchange.body;\n    calls_->discharge(exchange.body_capacity);\n  }\n"
        "  options_.outbox->clear(exchange.behind);\n",
        "    delete[] exchange.body;\n  }\n  options_.outbox->clear(exchange.behind);\n"),
    "pause-not-lifted": (
        "a connection that was paused for its calls is read again only when it has sent something",
        "engine/serve/worker.cpp",
        "    if (connection.paused && late_.may_resume(connection)) connection.paused = false;\n"
        "    make_ready(connection);\n",
        "    make_ready(connection);\n"),
    "notifications-not-counted": (
        "a connection's calls without an answer do not count toward its limit",
        "engine/serve/late_desk.cpp",
        "  connection.calls = true;\n  if (message.late_count == 0) return false;\n",
        "  if (message.late_count == 0) return false;\n"),
    "subscription-kept": (
        "a connection that ends keeps its subscriptions",
        "engine/serve/late_desk.cpp",
        "  drop_subscriptions(slot, nullptr);\n"
        "  while (lists_[slot].first != no_exchange) remove(lists_[slot].first);\n"
        "  while (rpc::LateCall* call",
        "  while (lists_[slot].first != no_exchange) remove(lists_[slot].first);\n"
        "  while (rpc::LateCall* call"),
    "publication-skips-one": (
        "a publication misses every subscriber behind one without room",
        "engine/serve/late_feed.cpp",
        "  fan_next_ = one.next_of_topic;\n  Connection& connection",
        "  fan_next_ = subscriptions_[one.next_of_topic].next_of_topic;\n  Connection& connection"),
    "unmask-key-not-rotated": (
        "a frame that comes in pieces is unmasked with the key as it began",
        "engine/ws/decoder.cpp",
        "  key_ = rotate_key(key_, size);\n  return Status::piece;\n",
        "  return Status::piece;\n"),
    "said-behind-a-close": (
        "a WebSocket that has been told to close still hears its topics",
        "engine/serve/worker_websocket.h",
        "  if (late_.busy()) late_.abandon(connection);\n",
        "  if (connection.late) late_.abandon(connection);\n"),
    "fragments-of-two-messages": (
        "what was put together of a message stays in front of the next one",
        "engine/serve/ws_framing.cpp",
        "    partial.message_size = 0;\n    partial.whole = false;\n",
        "    partial.whole = false;\n"),
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
    done = run([os.path.join(folder, "bin", "sim_test"),
                "--gtest_filter=Simulation.*:HalfCloses.*:*Ends.*", "--seeds", str(seeds)])
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
