#pragma once

// Every limit of the engine, with its unit, its reason and its cost. Run-time options may change a
// limit within the [min, max] given beside it; everything else is fixed. Sizes are bytes.
// It is longer than a header should be, and not split: whoever operates a server finds all of them
// here, and what one of them costs is told by others.

#include <cstdint>

namespace ringrpc::limits {

// --- Messages -----------------------------------------------------------------------------------

// A request's body. Larger is refused with 413 and -31008. Costs one index entry (4 bytes) for each
// byte and worker in address space, touched only as far as messages reach.
inline constexpr std::uint32_t message_size_max = 4u << 20;
inline constexpr std::uint32_t message_size_max_min = 1u << 10;
inline constexpr std::uint32_t message_size_max_max = 64u << 20;

// A whole reply: single or batch. Larger answers -31004.
inline constexpr std::uint32_t reply_size_max = 16u << 20;
inline constexpr std::uint32_t reply_size_max_min = 4u << 10;
inline constexpr std::uint32_t reply_size_max_max = 256u << 20;

// What a reply may take beyond reply_size_max: its HTTP head, and in a batch the errors that stand
// for the calls that did not fit.
inline constexpr std::uint32_t reply_overhead_max = 4u << 20;

// Open brackets inside a message; the message object and the batch array are not counted. More is
// -32700. One bit each in a 64-bit word, so this limit is fixed.
inline constexpr std::uint32_t depth_max = 64;

// Elements of a batch. More answers one -31005 and runs nothing. 64 bytes of envelope each.
inline constexpr std::uint32_t batch_length_max = 1000;
inline constexpr std::uint32_t batch_length_max_min = 1;
inline constexpr std::uint32_t batch_length_max_max = 10'000;

// The id's token as it is on the wire, quotes included; a longer one is -32600. It is echoed, so it
// bounds error replies, whose room is fixed; and so is this limit.
inline constexpr std::uint32_t id_size_max = 256;

// A method's name after unescaping; longer names are unknown methods (-32601). Fixed: registered
// names are held to it, so that no name is longer than those that a client may ask for. Costs its
// bytes in the reader for each call of a batch whose names have escapes.
inline constexpr std::uint32_t method_size_max = 256;

// Methods registered in one table. Bounds the table's rebuild at each registration.
inline constexpr std::uint32_t methods_max = 16'384;
// Paths where the methods are served, /rpc among them. Each takes 8 bytes for every method that may
// be, in every worker, for its counts.
inline constexpr std::uint32_t mounts_max = 16;

// Decoded params of one call, in bytes for each byte of message_size_max: 64 MiB by default, of one
// worker and while the call runs. Counted are the characters of strings and the elements of vectors
// and maps by their size; what containers take beside (a vector that grows has up to twice as much
// room) is theirs. `{}` in a vector of large structs is three bytes: without a bound, one message
// could ask for all memory there is. Spans and unescaped views share message_size_max bytes of
// their own. More answers -31008.
inline constexpr std::uint32_t params_memory_factor = 16;

// Members of one reflected struct, and elements of a tuple.
inline constexpr std::uint32_t struct_members_max = 64;

// --- HTTP ---------------------------------------------------------------------------------------

// Request line and fields together. Larger is 431. A head that comes in pieces is parsed anew with
// each, so it bounds that work; options may tighten it. A block of the partial pool while it comes.
inline constexpr std::uint32_t head_size_max = 16u << 10;
inline constexpr std::uint32_t head_size_max_min = 1u << 10;
// Header fields. More is 431. 8 bytes each in the parsed head; options may tighten it.
inline constexpr std::uint32_t head_fields_max = 64;
inline constexpr std::uint32_t head_fields_max_min = 8;
// The request target. Longer is 414. Part of the head, so it costs nothing more; options may
// tighten it.
inline constexpr std::uint32_t target_size_max = 8u << 10;
inline constexpr std::uint32_t target_size_max_min = 64;
// Chunk extensions of one body, all together; more is 400.
inline constexpr std::uint32_t chunk_extension_size_max = 4u << 10;
// Hex digits of a chunk size; more is 400.
inline constexpr std::uint32_t chunk_size_digits_max = 16;
// The trailer section of a chunked body, and its fields; more is 431.
inline constexpr std::uint32_t trailer_size_max = 8u << 10;
// Bytes of a refused body that are read and dropped before the connection closes, and of whatever
// comes behind our FIN. Costs their reading.
inline constexpr std::uint32_t drain_size_max = 64u << 10;
inline constexpr std::uint32_t drain_size_max_max = 16u << 20;

// --- WebSocket ----------------------------------------------------------------------------------

// Frames of one message, and the bytes of its headers, and of the control frames in between, beyond
// its own size. More is a close with 1008: a message cut into crumbs costs work and time out of
// proportion. They cost no memory; a peer that sends whole lines or kilobytes stays far below.
inline constexpr std::uint32_t websocket_frames_max = 16'384;
inline constexpr std::uint32_t websocket_overhead_max = 4u << 10;
// A connection that has been silent for this long is sent a ping; when so many are unanswered at
// the time for the next, its peer is gone (1008). The idle timeout of HTTP is not for WebSockets.
inline constexpr std::uint32_t websocket_ping_ms = 20'000;
inline constexpr std::uint32_t websocket_pings_unanswered_max = 3;

// --- Time ---------------------------------------------------------------------------------------

// One slot of the timer wheel: how late a timeout may fire, and so the shortest that makes sense.
inline constexpr std::uint32_t timer_slot_ms = 100;
// Timeouts cost what a connection costs that does nothing for as long: its slot, and the block of a
// message that came in part. An hour is more than any of them needs.
inline constexpr std::uint32_t timeout_ms_min = timer_slot_ms;
inline constexpr std::uint32_t timeout_ms_max = 3'600'000;

// From accepting a connection, and from the first byte of each later request, to its whole head.
inline constexpr std::uint32_t head_timeout_ms = 10'000;
// Between requests of a kept connection. Longer than the pools of usual clients and proxies keep
// theirs, so that they are the ones who close.
inline constexpr std::uint32_t idle_timeout_ms = 75'000;
// A body must arrive at body_rate_min bytes per second once body_grace_ms have passed, else peers
// that drip hold the pool of partial messages.
inline constexpr std::uint32_t body_grace_ms = 5'000;
inline constexpr std::uint32_t body_rate_min = 1'000;
inline constexpr std::uint32_t body_rate_min_min = 1;
inline constexpr std::uint32_t body_rate_min_max = 1'000'000'000;
// A peer that takes no byte of its replies for this long is closed. Until then it holds its unsent
// replies: unsent_size_max and one reply at most.
inline constexpr std::uint32_t stall_timeout_ms = 30'000;
// TCP keepalive: after this much silence the kernel asks a peer whether it is there, so often again
// when nothing is heard, and resets the connection after so many questions. Nothing else tells of
// one that vanished while its call takes its time, and of one that closed by a FIN alone, which
// could be a half close: its kernel answers with a reset once it has forgotten the connection. A
// packet each way for each question. Where the kernel holds a stall against peers, its clock
// replaces the count, so the times are no more than a half and an eighth of that.
inline constexpr std::uint32_t keepalive_idle_s = 60;
inline constexpr std::uint32_t keepalive_interval_s = 15;
inline constexpr std::uint32_t keepalive_probes = 4;
// From our FIN to the forced close, while what the peer still sends is dropped.
inline constexpr std::uint32_t linger_timeout_ms = 1'000;
// From SIGTERM to the forced end (exit code 1), and from SIGTERM to the end of accepting: 0 to
// timeout_ms_max.
inline constexpr std::uint32_t stop_timeout_ms = 10'000;
inline constexpr std::uint32_t drain_delay_ms = 0;

// --- Connections and buffers --------------------------------------------------------------------

// Connections per worker; also bounded by the descriptor limit, less descriptors_reserved. Peers
// over it are told so: 503 with Retry-After, before they have asked. 64 bytes for each, and what
// the kernel has for a socket (about 2 KiB).
inline constexpr std::uint32_t connections_max = 16'384;
inline constexpr std::uint32_t connections_max_min = 1;
inline constexpr std::uint32_t connections_max_max = 1u << 20;
// Places beyond connections_max for peers that are being told so. Each takes linger_timeout_ms at
// most; while all are taken, further peers wait in the kernel's queue.
inline constexpr std::uint32_t refusals_max = 16;
// Descriptors kept back for listeners, rings, files and the user's own code.
inline constexpr std::uint32_t descriptors_reserved = 64;
// Receive buffers per worker, and their size. 256 x 4 KiB stay in the second-level cache; 1,024 and
// more were slower when pipelined (bench/README.md).
inline constexpr std::uint32_t receive_buffers = 256;
inline constexpr std::uint32_t receive_buffers_min = 2;
inline constexpr std::uint32_t receive_buffers_max = 4096;
inline constexpr std::uint32_t receive_buffer_size = 4096;
// Bytes between two receive buffers: the padding, and three cache lines in all, so that the first
// bytes of buffers, which are what most requests are, do not all fall into the same cache sets.
inline constexpr std::uint32_t receive_buffer_gap = 192;
// Receive buffers that one connection may fill in one turn.
inline constexpr std::uint32_t receives_per_turn_max = 8;
// Readable bytes behind every received byte, for vector loads (64 is what simdjson asks for too).
inline constexpr std::uint32_t padding = 64;
// Partial messages of all connections of a worker, in bytes. A connection that needs room when
// there is none is answered 503 and ends.
inline constexpr std::uint32_t partial_pool_size = 64u << 20;
inline constexpr std::uint32_t partial_pool_size_max = 4'000'000'000u;
// Reply slabs of one worker, and their size; replies that do not fit get a mapping of their own.
inline constexpr std::uint32_t reply_slab_size = 256u << 10;
inline constexpr std::uint32_t reply_slabs = 64;
// Runs of reply bytes that wait to be sent, of all connections of a worker: one or two for each
// connection that is being answered. 40 bytes each.
inline constexpr std::uint32_t reply_segments = 32'768;
// Replies too large for a slab, of all connections of a worker, while they wait to be sent. A reply
// that finds no room answers -31004, or ends its connection when not even that fits.
inline constexpr std::uint32_t large_replies_size_max = 256u << 20;
// One part in so many of that is the most that notifications and publications take: peers that hear
// them and do not read choose how long, and may not keep others from large replies. Beyond it they
// find no room.
inline constexpr std::uint32_t large_notices_share = 2;
// Unsent reply bytes of one connection beyond which its requests are not read any more.
inline constexpr std::uint32_t unsent_size_max = 256u << 10;

// --- Calls --------------------------------------------------------------------------------------

// Calls that are answered later and have not been. An HTTP connection over its limit is not read
// until some of them end; elsewhere, in a batch, and over the worker's limit, one too many is
// -31001, so that cancellations, pings and closes are read at any time. 1,536 bytes
// and two timers of 20 bytes each, touched by as many as there ever were at once.
inline constexpr std::uint32_t in_flight_per_connection_max = 128;
inline constexpr std::uint32_t in_flight_per_connection_max_max = 65'536;
inline constexpr std::uint32_t in_flight_max = 65'536;
inline constexpr std::uint32_t in_flight_max_min = 1;
inline constexpr std::uint32_t in_flight_max_max = 1u << 20;
// What all of them may hold beyond that, of one worker: params and heads that are longer than 448
// bytes together, replies over 128 bytes until they are sent, replies that wait for those before
// them. Requests leave a quarter of it, so that those in flight can be answered. A call that finds
// no room is -31001, a reply -31004.
inline constexpr std::uint32_t late_memory_size_max = 256u << 20;
inline constexpr std::uint32_t late_memory_size_max_min = 1u << 20;
inline constexpr std::uint32_t late_memory_size_max_max = 4'000'000'000u;
// Topics that the connections of one worker listen to, counted for each listener, and those of one
// connection. 48 bytes each, touched by as many as there ever were; the topic's name beside. More
// is -31001.
inline constexpr std::uint32_t subscriptions_max = 65'536;
inline constexpr std::uint32_t subscriptions_per_connection_max = 1'024;
// Bytes of publications that one turn gives to a subscriber, and to all of them together; the last
// one may go beyond. The rest waits for the next turn, in between the kernel takes what it can: so
// what is unsent tells who does not read, not how much was published at once. Costs a turn each.
inline constexpr std::uint32_t published_each_turn_max = unsent_size_max / 4;
inline constexpr std::uint32_t published_turn_max = 4u << 20;
// How long what is published on a worker waits for a subscriber that has more than unsent_size_max
// unsent, so that one that reads is not taken for one that does not; and of how much time, one part
// in so many, all of them may hold it up. The calls of others do not wait.
inline constexpr std::uint32_t published_patience_ms = 100;
inline constexpr std::uint32_t published_patience_share = 10;
// Bytes of one call's notifications that wait for its peer, beside unsent_size_max in its
// connection.
inline constexpr std::uint32_t stream_queue_size_max = 256u << 10;
// Notifications that a coroutine sends, or tries to, before others go first: what is sent leaves
// with the turn, and nobody waits for one that sends without an end. 64 short ones fill a packet.
inline constexpr std::uint32_t stream_sends_max = 64;
// How long one waits for whose notification late_memory_size_max has no room. What others give back
// tells nobody, so it is looked at so often; it costs a timer for each that waits.
inline constexpr std::uint32_t stream_memory_retry_ms = 10;
// An event stream that says nothing for so long gets a comment: proxies give up on silent ones
// after a minute or less.
inline constexpr std::uint32_t heartbeat_ms = 15'000;
inline constexpr std::uint32_t heartbeat_ms_min = timer_slot_ms;
// Frames of coroutines that have not ended, of one worker: 200 bytes to a few KiB for each, and for
// each that it awaits. One that finds no room is -31001.
inline constexpr std::uint32_t frame_memory_size_max = 64u << 20;
inline constexpr std::uint32_t frame_memory_size_max_min = 1u << 20;
inline constexpr std::uint32_t frame_memory_size_max_max = 4'000'000'000u;
// How long a call may take that is answered later; 0 for as long as it likes. Then its peer is told
// -31003 and its stop flag is raised.
inline constexpr std::uint32_t call_timeout_ms = 0;
// Threads that run blocking handlers and what coroutines offload, made when the first blocking
// handler or coroutine is registered, and calls that may wait for one of them. One too many is
// -31001.
inline constexpr std::uint32_t blocking_threads = 8;
inline constexpr std::uint32_t blocking_threads_max = 1024;
inline constexpr std::uint32_t blocking_queue_max = 1024;
inline constexpr std::uint32_t blocking_queue_max_max = 65'536;

// --- Workers ------------------------------------------------------------------------------------

inline constexpr std::uint32_t workers_max = 256;
// How long a worker may poll before it sleeps. Costs a processor while nobody calls.
inline constexpr std::uint32_t spin_us_max = 1'000'000;

static_assert(depth_max == 64, "the walk keeps its open brackets in one 64-bit word");
static_assert((receive_buffers & (receive_buffers - 1)) == 0,
              "a ring of buffers is a power of two");
static_assert(receive_buffers_max <= 32'768, "the kernel's limit for one ring of buffers");
static_assert(receive_buffer_gap >= padding, "the gap behind a receive buffer is its padding");
static_assert(head_size_max > target_size_max, "a target fits into a head");
static_assert(head_size_max_min > target_size_max_min, "the tightest, too");
static_assert(websocket_overhead_max >= 14, "the header of a message in one frame");
static_assert(message_size_max <= message_size_max_max && reply_size_max <= reply_size_max_max);
static_assert(refusals_max < descriptors_reserved, "they may take descriptors of the reserve");
static_assert(idle_timeout_ms <= timeout_ms_max && head_timeout_ms >= timeout_ms_min);
static_assert(linger_timeout_ms < stop_timeout_ms, "a stop has the time for a last goodbye");
static_assert(head_size_max <= 65'535, "a head's positions are 16 bits wide");
static_assert(partial_pool_size >= message_size_max + head_size_max,
              "one largest message fits into the pool");
static_assert(reply_slab_size >= 4 * (id_size_max + 1024), "a slab holds several error replies");

}  // namespace ringrpc::limits
