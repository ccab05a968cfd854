#include "tests/support/conversation.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/conversation_frames.h"
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

// The texts that a file gives names to, for <<NAME>> in all its blocks.
using Texts = std::map<std::string, std::string>;

Texts read_texts(const std::vector<Section>& sections) {
  Texts texts;
  for (const Section& section : sections) {
    for (const Block& block : section.blocks) {
      if (block.kind != "text") continue;
      std::string text = with_texts(block.text, texts);
      std::erase(text, '\n');
      texts[block.argument] = std::move(text);
    }
  }
  return texts;
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

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::stoul(text));
}

// "STATUS [times N]": with a number, <<#>> in the body is the reply's own.
void read_replies(const Block& block, const std::string& text, Conversation& out) {
  constexpr std::string_view word = "times ";
  const std::size_t at = block.argument.find(word);
  const std::uint32_t times =
      at == block.argument.npos ? 1 : number(block.argument.substr(at + word.size()));
  for (std::uint32_t i = 0; i < times; ++i) {
    Step step;
    step.kind = Step::Kind::reply;
    step.reply = read_reply(block, with_texts(text, {{"#", std::to_string(i)}}));
    out.steps.push_back(std::move(step));
  }
}

Step hears(std::string_view text) {
  Step step;
  step.kind = Step::Kind::reply;
  step.reply.frames = heard_frames(text);
  return step;
}

// What is said and heard on a WebSocket. Returns: whether the block is about that.
bool read_websocket_block(const Block& block, const std::string& text, Conversation& out,
                          std::string& complaint) {
  Step step;
  if (block.kind == "upgrade") {
    step.bytes = handshake_bytes(block.argument.empty() ? "/rpc" : block.argument);
    if (!frames_bytes(text, step.bytes)) complaint = step.bytes;
    step.handshake = text.empty();
    out.steps.push_back(std::move(step));
    Step agreed;
    agreed.kind = Step::Kind::reply;
    agreed.reply = handshake_reply();
    out.steps.push_back(std::move(agreed));
    out.sockets_only = true;
  } else if (block.kind == "frames") {
    if (!frames_bytes(text, step.bytes)) complaint = step.bytes;
    if (block.argument.starts_with("pace ")) step.pace_ms = number(block.argument.substr(5));
    out.steps.push_back(std::move(step));
  } else if (block.kind == "hears") {
    out.steps.push_back(hears(text));
  } else if (block.kind == "bye") {
    frames_bytes("close 1000", step.bytes);
    out.steps.push_back(std::move(step));
    out.steps.push_back(hears("close 1000"));
    Step end;
    end.kind = Step::Kind::close;
    out.steps.push_back(std::move(end));
  } else {
    return false;
  }
  return true;
}

// An event stream: each line is an event's data, or a comment when it begins with a colon.
Step read_stream(const Block& block, const std::string& text) {
  Step step;
  step.kind = Step::Kind::reply;
  step.reply.stream = true;
  step.reply.fields = {"Cache-Control: no-store", "Content-Type: text/event-stream",
                       "Transfer-Encoding: chunked", "X-Accel-Buffering: no"};
  if (block.argument == "last") step.reply.fields.emplace_back("Connection: close");
  std::sort(step.reply.fields.begin(), step.reply.fields.end());
  std::istringstream lines(expand(text));
  for (std::string line; std::getline(lines, line);) {
    step.reply.body += (line.starts_with(':') ? line : "data: " + line) + "\n\n";
  }
  return step;
}

// What happens without bytes.
std::optional<Step> read_event(const Block& block) {
  Step step;
  if (block.kind == "finish") {
    step.kind = Step::Kind::finish;
  } else if (block.kind == "close") {
    step.kind = Step::Kind::close;
  } else if (block.kind == "hold") {
    step.kind = Step::Kind::hold;
  } else if (block.kind == "pass") {
    step.kind = Step::Kind::pass;
    step.pace_ms = number(block.argument);
  } else {
    return std::nullopt;
  }
  return step;
}

// Adds what one block says. Returns: a complaint, empty when all is well.
std::string read_block(const Block& block, const Variant& variant, Conversation& out) {
  const std::string text = variant.apply(block.text);
  if (block.kind == "call" || block.kind == "request" || block.kind == "bytes" ||
      block.kind == "line") {
    Step step;
    if (block.kind == "call") {
      step.message = expand(text);
      step.bytes = call_bytes(*step.message);
    } else if (block.kind == "line") {
      step.bytes = expand(text) + "\n";
    } else {
      step.bytes = block.kind == "request" ? request_bytes(text) : escaped_bytes(text);
    }
    if (block.argument.starts_with("pace ")) step.pace_ms = number(block.argument.substr(5));
    out.steps.push_back(std::move(step));
    if (block.argument == "sockets") out.sockets_only = true;
    if (block.argument == "http") out.http_only = true;
    return {};
  }
  if (block.kind == "says") {
    Step step;
    step.kind = Step::Kind::reply;
    step.reply.body = expand(text);
    step.reply.line = true;
    out.steps.push_back(std::move(step));
    return {};
  }
  std::string complaint;
  if (read_websocket_block(block, text, out, complaint)) return complaint;
  if (block.kind == "reply") {
    read_replies(block, text, out);
    return {};
  }
  if (block.kind == "stream") {
    out.steps.push_back(read_stream(block, text));
    out.sockets_only = true;
    return {};
  }
  if (const std::optional<Step> step = read_event(block); step.has_value()) {
    out.steps.push_back(*step);
    return {};
  }
  if (block.kind == "clients") {
    out.clients = number(block.argument);
    return {};
  }
  if (block.kind == "took") {
    std::istringstream words(block.argument);
    out.took_ms.emplace();
    words >> out.took_ms->first >> out.took_ms->second;
    return words.fail() ? "two times are needed" : "";
  }
  if (block.kind == "calls") return read_calls(text, out) ? "" : "calls are lines of NAME COUNT";
  if (block.kind == "counts") {
    read_counts(text, out);
    return {};
  }
  return block.kind == "each" || block.kind == "text" ? ""
                                                      : "there is no block called " + block.kind;
}

// The lines of an `each` block; "numbers FROM TO" and "bytes FROM TO" (hex) stand for theirs.
void add_variants(const Block& block, std::vector<Variant>& out) {
  std::istringstream words(block.argument);
  std::string kind;
  int first = 0;
  int last = -1;
  words >> kind;
  if (kind == "bytes") words >> std::hex;
  words >> first >> last;
  for (int i = first; i <= last; ++i) {
    char code[16];
    std::snprintf(code, sizeof(code), kind == "bytes" ? "\\x%02x" : "%d", i);
    out.push_back({code, block.line});
  }
  std::istringstream lines(block.text);
  int number = block.line;
  for (std::string line; std::getline(lines, line);) out.push_back({line, ++number});
}

// One conversation, or one for each line of its `each` block.
std::string read_section(const Section& section, ConversationFile& out) {
  std::vector<Variant> variants;
  for (const Block& block : section.blocks) {
    if (block.kind != "each") continue;
    add_variants(block, variants);
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
         (steps.back().kind != Step::Kind::close && steps.back().kind != Step::Kind::finish &&
          steps.back().kind != Step::Kind::hold);
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
  std::vector<Section> sections = read_sections(in);
  const Texts texts = read_texts(sections);
  for (Section& section : sections) {
    for (Block& block : section.blocks) block.text = with_texts(block.text, texts);
  }
  for (const Block& block : sections.front().blocks) {
    if (block.kind != "server") continue;
    std::istringstream words(block.text);
    for (std::string name, value; words >> name >> value;) {
      if (name == "protocol") {
        file.lines = value == "lines";
      } else {
        file.options[name] = value;
      }
    }
  }
  for (std::size_t i = 1; i < sections.size() && file.error.empty(); ++i) {
    if (sections[i].blocks.empty()) continue;
    file.error = read_section(sections[i], file);
  }
  if (file.error.empty() && file.conversations.empty()) file.error = "no conversation in it";
  return file;
}

}  // namespace ringrpc::testing
