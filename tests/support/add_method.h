#pragma once

// Handlers into a table without a server around it.

#include <ringrpc/server_handlers.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/base/assert.h"
#include "engine/rpc/table.h"

namespace ringrpc::testing {

template <typename F>
void add_method(rpc::Registry& registry, std::string name, F handler) {
  using Shape = handlers::Shape<F>;
  auto method = std::make_unique<rpc::Method>();
  method->name = std::move(name);
  method->invoke = &handlers::invoke<F>;
  method->state = new F(std::move(handler));
  method->destroy = [](void* state) { delete static_cast<F*>(state); };
  if constexpr (Shape::deferred || Shape::coroutine) method->kind = rpc::MethodKind::deferred;
  method->streams = Shape::streams || Shape::sends;
  RINGRPC_ASSERT(registry.add(std::move(method)).ok());
}

}  // namespace ringrpc::testing
