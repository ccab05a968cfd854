#include "tests/support/conversation.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/conversation_text.h"

namespace ringrpc::testing {
namespace {

constexpr std::string_view fence = "```";

struct Block {
  std::string kind;      // the first word behind the fence
  std::string argument;  // the rest of that line
  std::string text;      // without the last line's end
  int line = 0;
};

struct Section {
  std::string name;
  int line = 0;
  std::vector<Block> blocks;
};

Block open_block(std::string_view info, int line) {
  const std::size_t space = info.find(' ');
  Block block;
  block.kind = info.substr(0, space);
  if (space != info.npos) block.argument = info.substr(space + 1);
  block.line = line;
  return block;
}

// Headings divide the file; whatever is no block is prose.
std::vector<Section> read_sections(std::istream& in) {
  std::vector<Section> sections(1);
  std::optional<Block> block;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (block.has_value() && line == fence) {
      if (!block->text.empty()) block->text.pop_back();
      sections.back().blocks.push_back(*std::move(block));
      block.reset();
    } else if (block.has_value()) {
      block->text += line + "\n";
    } else if (line.starts_with(fence)) {
      block = open_block(std::string_view(line).substr(fence.size()), number);
    } else if (line.starts_with("## ")) {
      sections.push_back({line.substr(3), number, {}});
    }
  }
  return sections;
}

// A reply's block: fields, an empty line, the body. Without fields the text is the body.
ExpectedReply read_reply(const Block& block, const std::string& text) {
  ExpectedReply reply;
  if (!block.argument.empty()) reply.status = std::stoi(block.argument);
  std::string_view rest = text;
  const std::size_t colon = rest.find(": ");
  const std::string_view name = rest.substr(0, colon == rest.npos ? 0 : colon);
  const auto in_name = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '-';
  };
  const bool has_fields = !name.empty() && std::all_of(name.begin(), name.end(), in_name);
  while (has_fields && !rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) break;
    if (line.starts_with("Content-Length: ")) {
      reply.announced = std::stoul(std::string(line.substr(16)));
    } else {
      reply.fields.emplace_back(line);
    }
  }
  reply.body = expand(rest);
  const auto names_type = [](const std::string& line) {
    return line.starts_with("Content-Type: ");
  };
  const bool typed = std::any_of(reply.fields.begin(), reply.fields.end(), names_type);
  if (!reply.body.empty() && !typed) reply.fields.emplace_back("Content-Type: application/json");
  std::sort(reply.fields.begin(), reply.fields.end());
  return reply;
}

bool read_calls(const std::string& text, Conversation& out) {
  out.calls.emplace();
  std::istringstream lines(text);
  std::string name;
  std::uint64_t count = 0;
  while (lines >> name >> count) (*out.calls)[name] = count;
  return lines.eof();
}

void read_counts(const std::string& text, Conversation& out) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    out.counts.emplace_back(line.substr(0, space), std::stoull(line.substr(space + 1)));
  }
}

// Adds what one block says. Returns: a complaint, empty when all is well.
std::string read_block(const Block& block, const Variant& variant, Conversation& out) {
  const std::string text = variant.apply(block.text);
  if (block.kind == "call" || block.kind == "request" || block.kind == "bytes") {
    Step step;
    if (block.kind == "call") {
      step.message = expand(text);
      step.bytes = call_bytes(*step.message);
    } else {
      step.bytes = block.kind == "request" ? request_bytes(text) : escaped_bytes(text);
    }
    out.steps.push_back(std::move(step));
    if (block.argument == "sockets") out.sockets_only = true;
    return {};
  }
  if (block.kind == "reply") {
    Step step;
    step.kind = Step::Kind::reply;
    step.reply = read_reply(block, text);
    out.steps.push_back(std::move(step));
    return {};
  }
  if (block.kind == "finish" || block.kind == "close") {
    Step step;
    step.kind = block.kind == "close" ? Step::Kind::close : Step::Kind::finish;
    out.steps.push_back(std::move(step));
    return {};
  }
  if (block.kind == "calls") return read_calls(text, out) ? "" : "calls are lines of NAME COUNT";
  if (block.kind == "counts") {
    read_counts(text, out);
    return {};
  }
  return block.kind == "each" ? "" : "there is no block called " + block.kind;
}

// One conversation, or one for each line of its `each` block.
std::string read_section(const Section& section, ConversationFile& out) {
  std::vector<Variant> variants;
  for (const Block& block : section.blocks) {
    if (block.kind != "each") continue;
    std::istringstream lines(block.text);
    int number = block.line;
    for (std::string line; std::getline(lines, line);) variants.push_back({line, ++number});
  }
  if (variants.empty()) variants.push_back({{}, section.line});
  for (const Variant& variant : variants) {
    Conversation one;
    one.name = section.name;
    if (!variant.line.empty()) one.name += " [" + shown(variant.line) + "]";
    one.place = out.name + ".md:" + std::to_string(variant.number);
    for (const Block& block : section.blocks) {
      const std::string complaint = read_block(block, variant, one);
      if (!complaint.empty()) return complaint + ", line " + std::to_string(block.line);
    }
    out.conversations.push_back(std::move(one));
  }
  return {};
}

}  // namespace

bool Conversation::is_single() const {
  std::size_t sends = 0;
  std::size_t replies = 0;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::send) ++sends;
    if (step.kind == Step::Kind::finish) return false;
    if (step.kind == Step::Kind::reply && step.reply.interim()) return false;
    if (step.kind == Step::Kind::reply) ++replies;
  }
  return !sockets_only && sends == 1 && replies == 1;
}

bool Conversation::stays_open() const {
  return steps.empty() ||
         (steps.back().kind != Step::Kind::close && steps.back().kind != Step::Kind::finish);
}

std::size_t Conversation::sent_size() const {
  std::size_t size = 0;
  for (const Step& step : steps) size += step.bytes.size();
  return size;
}

ConversationFile read_conversations(const std::string& path) {
  ConversationFile file;
  const std::size_t slash = path.rfind('/');
  file.name = path.substr(slash == path.npos ? 0 : slash + 1);
  file.name = file.name.substr(0, file.name.rfind('.'));
  std::ifstream in(path);
  if (!in) {
    file.error = "cannot read " + path;
    return file;
  }
  const std::vector<Section> sections = read_sections(in);
  for (const Block& block : sections.front().blocks) {
    if (block.kind != "server") continue;
    std::istringstream words(block.text);
    for (std::string name, value; words >> name >> value;) file.options[name] = value;
  }
  for (std::size_t i = 1; i < sections.size() && file.error.empty(); ++i) {
    if (sections[i].blocks.empty()) continue;
    file.error = read_section(sections[i], file);
  }
  if (file.error.empty() && file.conversations.empty()) file.error = "no conversation in it";
  return file;
}

}  // namespace ringrpc::testing
