#pragma once

// Coroutines of a unit that is built without exceptions.

#include <ringrpc/server.h>

namespace ringrpc {

// co.throw, co.throw.child and co.throw.later let `thrower` throw through them; co.fine does not.
// What ends counts itself in `ended`.
void add_without_exceptions(Server& server, void (*thrower)(), int& ended);

}  // namespace ringrpc
