#pragma once

// The functions that the engine calls on a user's containers.
// They are compiled in the user's file, with the user's flags, and answer with a status when a
// container throws. Containers are known by what they can do, so that their headers need not be
// included here.

#include <ringrpc/fields_info.h>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace ringrpc::fields::detail {

template <class T>
concept StringLike = requires(T& text, const T& same, const char* data, std::size_t count) {
  typename T::traits_type;
  text.assign(data, count);
  { same.data() } -> std::same_as<const char*>;
};

template <class T>
concept OptionalLike = requires(T& value) {
  typename T::value_type;
  value.has_value();
  value.emplace();
  value.reset();
  *value;
};

template <class T>
concept VectorLike = !StringLike<T> && requires(T& list) {
  typename T::value_type;
  list.emplace_back();
  list.size();
  list.clear();
  requires std::same_as<typename T::value_type, bool> || requires { list.data(); };
};

template <class T>
concept SpanLike = requires(T& list) {
  typename T::element_type;
  list.subspan(std::size_t());
  requires T::extent == static_cast<std::size_t>(-1);
};

template <class T>
concept MapLike = requires(T& map) {
  typename T::key_type;
  typename T::mapped_type;
  map.begin();
  map.clear();
};

template <class T>
concept SpanElement =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string_view>;

// Runs the function. Returns: whether it ended without an exception.
template <class F>
bool guarded(F function) {
#if defined(__cpp_exceptions)
  try {
    function();
    return true;
  } catch (...) {
    return false;
  }
#else
  function();
  return true;
#endif
}

template <class T>
void clear_optional(void* self) {
  static_cast<T*>(self)->reset();
}

template <class T>
void clear_container(void* self) {
  static_cast<T*>(self)->clear();
}

template <class T>
void* engage_optional(void* self) {
  void* element = nullptr;
  guarded([&] { element = &static_cast<T*>(self)->emplace(); });
  return element;
}

template <class T>
Range read_optional(const void* self) {
  const T& value = *static_cast<const T*>(self);
  return value.has_value() ? Range{&*value, 1} : Range{};
}

template <class T>
void* append_to_vector(void* self) {
  void* element = nullptr;
  guarded([&] { element = &static_cast<T*>(self)->emplace_back(); });
  return element;
}

// Vectors, spans and strings.
template <class T>
Range read_range(const void* self) {
  const T& list = *static_cast<const T*>(self);
  return Range{list.data(), list.size()};
}

template <class T>
bool assign_string(void* self, const char* data, std::size_t count) {
  return guarded([&] { static_cast<T*>(self)->assign(data, count); });
}

template <class T>
void view_span(void* self, const void* data, std::size_t count) {
  *static_cast<T*>(self) = T(static_cast<typename T::element_type*>(data), count);
}

template <class T>
Insert insert_into_map(void* self, std::string_view key, void*& element) {
  Insert outcome = Insert::failed;
  guarded([&] {
    T& map = *static_cast<T*>(self);
    const auto place = map.try_emplace(typename T::key_type(key));
    element = &place.first->second;
    outcome = place.second ? Insert::done : Insert::duplicate;
  });
  return outcome;
}

template <class T>
bool each_of_map(const void* self, void* context, Visit visit) {
  for (const auto& [key, value] : *static_cast<const T*>(self)) {
    if (!visit(context, std::string_view(key), &value)) return false;
  }
  return true;
}

}  // namespace ringrpc::fields::detail
