// A coroutine that awaits the sending of what owns something and has no name is refused.
// Expect: ringrpc: what is sent and owns something needs a name

#include <ringrpc/server.h>

#include <string>

struct Said {
  std::string text;
};

ringrpc::Co<void> say(ringrpc::CoStream stream) {
  const Said said{.text = "a"};
#ifdef REFUSED
  co_await stream.send("said", Said{.text = "a"});
#else
  co_await stream.send("said", said);
#endif
}
