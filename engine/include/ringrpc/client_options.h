#pragma once

// What a client and its calls can be told. For client.h. Times are milliseconds, sizes bytes.

#include <ringrpc/client_answer.h>
#include <ringrpc/client_callback.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc {

// A message as it is sent, with the ids of the calls in it, for those who write their own.
struct RawMessage {
  std::string text = {};
  std::vector<std::string> ids = {};  // tokens as they stand in the text; none: no reply is due
  bool any_reply = false;             // whichever reply comes first is the answer
};

// Milliseconds since a try began; 0 when it did not come that far.
struct Timing {
  double connected = 0;
  double first_byte = 0;  // of the answer
  double total = 0;
};

// All that came back for one message.
struct Exchange {
  Failure failure = {};
  int http_status = 0;                   // 0 on transports without
  std::string head = {};                 // HTTP: status line and fields, as they came
  std::string body = {};                 // the reply's text; of an event stream its last message
  Timing timing = {};                    // of the last try
  unsigned tries = 0;                    // how often it was sent, or was to be
  std::vector<JsonAnswer> answers = {};  // one for each id, in their order
};

// A call that is about to be tried again, or that is not though it could be.
struct Retry {
  const Exchange& exchange;  // the try that failed
  int code = 0;              // of the error object; 0 without
  unsigned number = 0;       // of the retry, from 1
  unsigned most = 0;
  double wait_s = 0;              // until the next try, or what the server asks for
  bool given_up = false;          // it asks for more than ClientOptions::retry_wait_max_ms
  RawMessage* message = nullptr;  // of exchange(): may be replaced by one with other ids
};

inline constexpr std::uint32_t inherited = 0xFFFF'FFFF;

struct CallOptions {
  std::uint32_t timeout_ms = inherited;  // for all tries and the waits between them; 0: none
  std::uint32_t retries = inherited;
  // The call may run twice without harm: it is sent again, within its retries, also when its
  // connection ended before the answer.
  bool idempotent = false;
  // Notifications that come before the answer; on HTTP the server is asked for an event stream. On
  // other transports nothing tells which call a notification belongs to: the oldest call that has
  // a callback gets it, and may answer false to pass it on to the next, and at last to
  // Client::on_notification().
  Callback<bool(const Notification&)> on_event = {};
  Callback<void(Retry&)> on_retry = {};
};

// A field of the HTTP request's head.
struct HttpField {
  std::string name;
  std::string value;
};

struct ClientOptions {
  std::uint32_t timeout_ms = 30'000;          // see CallOptions
  std::uint32_t try_timeout_ms = 0;           // of each try alone, connecting included; 0: none
  std::uint32_t connect_timeout_ms = 10'000;  // for all addresses of a host together
  std::uint32_t retries = 3;                  // further tries after the first
  std::uint32_t retry_wait_max_ms = 60'000;   // a server that asks for more gets no other try
  std::uint32_t backoff_ms = 100;             // before the first retry; doubles each time
  std::uint32_t backoff_max_ms = 10'000;
  // HTTP: connections at a time, one call on each; further calls wait. Other transports use one.
  std::uint32_t connections_max = 8;
  // HTTP: a connection that was idle for longer is not used again: the server may be closing it.
  std::uint32_t idle_max_ms = 30'000;
  std::size_t calls_max = 65'536;            // in flight; further ones fail as too_large
  std::size_t message_size_max = 64u << 20;  // of what is sent
  std::size_t reply_size_max = 64u << 20;    // of one message that comes; 2 GiB - 1 at the most
  std::vector<HttpField> headers = {};       // a name that is given here replaces the client's own
  bool stay_connected = false;  // not HTTP: poll() reconnects, with backoff, though nothing is sent
  // Sees all that goes out and comes in: the HTTP head (empty elsewhere) and the message. It runs
  // in the midst of the loop: it must not use the client.
  Callback<void(bool outgoing, std::string_view head, std::string_view body)> trace = {};
};

struct ClientStats {
  std::uint64_t sent = 0;      // messages, retries included
  std::uint64_t answered = 0;  // calls that got a result or an error
  std::uint64_t failed = 0;    // calls that did not
  std::uint64_t retries = 0;
  std::uint64_t connects = 0;     // connections that were made
  std::uint64_t disconnects = 0;  // connections that ended while calls waited on them
  std::uint64_t notifications = 0;
  std::uint64_t unclaimed = 0;        // notifications that no callback took
  std::uint64_t unknown_replies = 0;  // replies whose id no call has (any more): dropped
  std::uint64_t bad_messages = 0;     // messages that are no JSON-RPC
};

}  // namespace ringrpc
