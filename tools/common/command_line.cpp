#include "tools/common/command_line.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

}  // namespace tools
