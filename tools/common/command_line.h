#pragma once

// What all programs do with their command line, and with what they write.
//
// CLI11's parse() has two habits that surprise: `--flag=` takes the next argument as its value, and
// a range lets "nan" pass. Here an empty value is an empty value, and a number is a finite one.

#include <CLI/CLI.hpp>
#include <string>

namespace tools {

inline constexpr int exit_usage = 2;
inline constexpr int exit_unable = 3;  // also when what was asked for could not be written

// Parses, and answers --help and --version.
// Returns: true to go on; false with the exit code when the program is done.
bool parse(CLI::App& app, int argc, const char* const* argv, int& exit_code);

// Flushes stdout. Returns: `code`, or exit_unable after a line on stderr when something that was
// printed could not be written.
int finish(const std::string& program, int code);

// Checks for add_option()->check().
CLI::Validator not_empty();
CLI::Validator number_between(double min, double max);
// A name or address as it stands in Host (RFC 9110, section 7.2), a port or not.
CLI::Validator host_name();
// A path that a Unix socket can have.
CLI::Validator socket_path();
// Permissions as chmod takes them: three octal digits, a 0 before them or not.
CLI::Validator permissions();
// SCHEME://HOST, a port or not (RFC 6454, section 6.2).
CLI::Validator origin();

}  // namespace tools
