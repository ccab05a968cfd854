#include "tools/common/command_line.h"

#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace tools {

namespace {

// "--name=" of an option that takes a value becomes two arguments, the second one empty.
std::vector<std::string> arguments_of(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> out;
  bool options = true;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    options = options && text != "--";
    const bool bare =
        options && text.size() > 3 && text.starts_with("--") && text.find('=') == text.size() - 1;
    if (bare) {
      const CLI::Option* const option = app.get_option_no_throw(text.substr(0, text.size() - 1));
      if (option != nullptr && option->get_expected_max() > 0 && option->get_items_expected() > 0) {
        out.push_back(text.substr(0, text.size() - 1));
        text.clear();
      }
    }
    out.push_back(std::move(text));
  }
  return out;
}

bool is_host(std::string_view text) {
  if (text.empty() || text.front() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("-._~:[]", c) != nullptr;
  });
}

// RFC 3986, section 3.1.
bool is_scheme(std::string_view text) {
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("+-.", c) != nullptr;
  });
}

}  // namespace

bool parse(CLI::App& app, int argc, const char* const* argv, int& exit_code) {
  std::vector<std::string> arguments = arguments_of(app, argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // The parser takes them from the back.
  try {
    app.parse(std::move(arguments));
    return true;
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? finish(app.get_name(), 0) : exit_usage;
    return false;
  }
}

int finish(const std::string& program, int code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return code;
  std::fprintf(stderr, "%s: cannot write to stdout: %s\n", program.c_str(),
               errno == 0 ? "it failed before" : std::strerror(errno));
  return exit_unable;
}

CLI::Validator not_empty() {
  return {[](std::string& text) {
            return text.empty() ? std::string("the value is empty") : std::string();
          },
          ""};
}

CLI::Validator number_between(double min, double max) {
  const auto check = [min, max](std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool whole = !text.empty() && *end == '\0' && std::isfinite(value);
    if (whole && value >= min && value <= max) return {};
    char sentence[160];
    std::snprintf(sentence, sizeof(sentence), "%.60s is not a number from %g to %g", text.c_str(),
                  min, max);
    return sentence;
  };
  char range[80];
  std::snprintf(range, sizeof(range), "%g to %g", min, max);
  return {check, range};
}

CLI::Validator host_name() {
  return {[](std::string& text) -> std::string {
            if (text.empty()) return "the value is empty";
            return is_host(text) ? "" : text + " is no name or address of a host";
          },
          ""};
}

CLI::Validator socket_path() {
  return {[](std::string& text) {
            constexpr std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
            if (text.empty()) return std::string("the path is empty");
            if (text.size() <= most) return std::string();
            return "the path has " + std::to_string(text.size()) +
                   " bytes, and a Unix socket's has " + std::to_string(most) + " at most";
          },
          ""};
}

CLI::Validator permissions() {
  return {[](std::string& text) {
            const bool padded = text.size() == 4 && text.front() == '0';
            const std::string_view digits = std::string_view(text).substr(padded ? 1 : 0);
            const bool good = digits.size() == 3 &&
                              digits.find_first_not_of("01234567") == std::string_view::npos;
            return good ? std::string() : "no permissions: " + text + " (such as 0660)";
          },
          ""};
}

CLI::Validator origin() {
  return {[](std::string& text) -> std::string {
            if (text.empty()) return "the value is empty";
            const std::size_t scheme = text.find("://");
            const bool good = scheme != std::string::npos &&
                              is_scheme(std::string_view(text).substr(0, scheme)) &&
                              is_host(std::string_view(text).substr(scheme + 3));
            return good ? "" : text + " is no origin, such as https://example.com";
          },
          ""};
}

}  // namespace tools
