#include "tests/unit/http/head_cases.h"

#include <ringrpc/limits.h>

#include <string_view>

namespace ringrpc::http::test {

using std::string_literals::operator""s;

namespace {

using Cases = std::vector<HeadCase>;

const std::string host_line = "Host: 127.0.0.1:8080\r\n";

void add_good(Cases& cases) {
  const std::vector<std::string> fields = {
      "",
      "Content-Type: application/json\r\nContent-Length: 62\r\n",
      "content-length:0\r\n",
      "CONTENT-LENGTH: \t 53 \t \r\n",
      "Content-Length: 18446744073709551615\r\n",
      "Content-Length: 10737418240\r\n",
      "Transfer-Encoding: chunked\r\n",
      "transfer-encoding:\tCHUNKED \r\n",
      "Connection: close, keep-alive\r\n",
      "Connection: Content-Length\r\nContent-Length: 5\r\n",
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
      "Expect: 100-continue\r\nContent-Length: 5\r\n",
      "Expect: 100-Continue\r\n",
      "Content_Length: 5\r\n",
      "X: \x80\x85\xa0\xff\r\n",
      "X:\r\n",
      "X: a\tb\r\n",
      "!#$%&'*+-.^_`|~09azAZ: 1\r\n",
      "Content-Encoding: gzip, gzip\r\n",
      "Content-Lengt: x\r\nContent-Lengthy: x\r\nHos: a b\r\nHostt: a b\r\nTransfer-Encodinh: "
      "x\r\n",
      "A-Name-Of-Thirty-One-Bytes-----: 1\r\n",
      "A-Name-Of-Thirty-Two-Bytes-----0: 1\r\n",
      "A-Name-Of-Far-More-Than-Thirty-Two-Bytes-As-Browsers-Send-Them: 1\r\n",
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n",
  };
  for (const std::string& field : fields) cases.push_back({field, head_with(field), 0});

  const std::vector<std::string> hosts = {"localhost",
                                          "localhost:",
                                          "[::1]:8080",
                                          "[::ffff:127.0.0.1]",
                                          "a-b.example.com:65535",
                                          "a_name~",
                                          "1",
                                          "x:0",
                                          "LOCALHOST:1",
                                          "a-name-that-is-longer-than-thirty-two-bytes.example:1",
                                          "thirty-two-bytes-of-name.example"};
  for (const std::string& host : hosts) {
    cases.push_back({host, "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 0});
  }
  const std::vector<std::string> lines = {"GET /healthz HTTP/1.1",
                                          "HEAD / HTTP/1.1",
                                          "PUT /a HTTP/1.1",
                                          "PATCH /a HTTP/1.1",
                                          "DELETE /a HTTP/1.1",
                                          "TRACE /a HTTP/1.1",
                                          "OPTIONS * HTTP/1.1",
                                          "OPTIONS /rpc HTTP/1.1",
                                          "POST /rpc?a=b?c HTTP/1.1",
                                          "POST /rpc HTTP/1.2",
                                          "POST /rpc HTTP/1.9",
                                          "POST /rpc HTTP/1.0",
                                          "POST http://h:80/rpc?x HTTP/1.1",
                                          "POST HTTP://h HTTP/1.1",
                                          "GET http://[::1]?q HTTP/1.1",
                                          "GET /~!$&'()*+,;=:@%00{}|\\^`\"<> HTTP/1.1"};
  for (const std::string& line : lines) {
    cases.push_back({line, line + "\r\n" + host_line + "\r\n", 0});
  }
  cases.push_back({"one empty line first", "\r\nGET / HTTP/1.1\r\n" + host_line + "\r\n", 0});
  cases.push_back({"1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 0});
  cases.push_back({"1.0 with an expectation", "POST / HTTP/1.0\r\nExpect: x\r\n\r\n", 0});
}

void add_lengths(Cases& cases) {
  const std::vector<std::string> values = {"+53",
                                           "-5",
                                           "-0",
                                           "0x35",
                                           "5 3",
                                           "5_3",
                                           "53.0",
                                           "5e1",
                                           "",
                                           "53;",
                                           "\v53",
                                           "53\0"s,
                                           "00053",
                                           "010",
                                           "00",
                                           "53, 53",
                                           "5, 6",
                                           "53,",
                                           ",53",
                                           "abc",
                                           "-268435455700",
                                           "-48",
                                           "5\t3",
                                           "\x85"
                                           "5",
                                           "5\xa0",
                                           "\xd9\xa5",
                                           "18446744073709551616",
                                           "18446744073709551620",
                                           "99999999999999999999",
                                           "100000000000000000000",
                                           "9999999999999999999999999999999999999999"};
  for (const std::string& value : values) {
    cases.push_back({"F3-F5 length " + value, head_with("Content-Length: " + value + "\r\n"), 400});
  }
  const std::vector<std::string> pairs = {
      "Content-Length: 53\r\nContent-Length: 7\r\n",
      "Content-Length: 53\r\ncontent-length: 53\r\n",
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
      "Content-Length: 0\r\nX: 1\r\nTransfer-Encoding: gzip\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"};
  for (const std::string& pair : pairs)
    cases.push_back({"F1, F2, F7 " + pair, head_with(pair), 400});
}

void add_codings(Cases& cases) {
  const std::vector<std::string> unknown = {
      "xchunked", "chunked, identity", "identity",           "gzip, chunked", "gzip", "chunkedx",
      "chunke",   "gzip ,\tchunked",   "chunked, chunked, x"};
  for (const std::string& value : unknown) {
    cases.push_back({"F7 " + value, head_with("Transfer-Encoding: " + value + "\r\n"), 501});
  }
  const std::vector<std::string> malformed = {"chunked, chunked",
                                              ",chunked",
                                              "chunked,",
                                              "chunked, ",
                                              "\"chunked\"",
                                              "chunked;a=b",
                                              "\vchunked",
                                              "chunked\0"s,
                                              "",
                                              " ",
                                              "\x85"
                                              "chunked",
                                              "chunked\xa0",
                                              "chunked chunked",
                                              "gzip chunked",
                                              "chunked,,chunked",
                                              "gzip,, chunked",
                                              "(chunked)",
                                              "chunked\f"};
  for (const std::string& value : malformed) {
    cases.push_back({"F7 " + value, head_with("Transfer-Encoding: " + value + "\r\n"), 400});
  }
  cases.push_back({"F11", "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", 400});
}

void add_lines(Cases& cases) {
  std::vector<std::string> fields = {
      "Transfer-Encoding : chunked\r\n",
      "Transfer-Encoding\t: chunked\r\n",
      "Transfer-\r\nEncoding: chunked\r\n",
      "\0Transfer-Encoding: chunked\r\n"s,
      "Transfer-Encoding:\r\n chunked\r\n",
      "X: a\r\n\tb\r\n",
      "X: a\r\n b: c\r\n",
      "Content-Length 53\r\n",
      ": x\r\n",
      ":\r\n",
      "X\r\n",
      "X-Abc: \rxTransfer-Encoding: chunked\r\n",
      "X: a\n",
      "X: a\nY: b\r\n",
      "X: a\r\r\n",
      "X: a\r",
      "X: a\r\0\n"s,
      "X: \r \n\r\n",
      "X: a\0b\r\n"s,
      "X\0: a\r\n"s,
      "X y: a\r\n",
      "(x): a\r\n",
      "x@y: a\r\n",
      "x\"y: a\r\n",
      "[x]: a\r\n",
      "x/y: a\r\n",
      "{x}: a\r\n",
      "x,y: a\r\n",
      "x;y: a\r\n",
      "x=y: a\r\n",
      "x?y: a\r\n",
      "x\\y: a\r\n",
      "<x>: a\r\n",
      "A-Name-Of-Thirty-Two-Bytes-----0 : 1\r\n",
      "X: a-value-that-is-longer-than-thirty-two-bytes-and-then-has-a-\x01-in-it\r\n",
      "Origin: http://a\r\nOrigin: http://a\r\n",
      "Content-Type: application/json\r\nContent-Type: application/json\r\n"};
  for (int c = 0; c < 256; ++c) {
    const std::string byte(1, static_cast<char>(c));
    const bool control = (c < 0x20 && c != '\t') || c == 0x7f;
    if (control) fields.push_back("X: a" + byte + "b\r\n");
    if (control || c >= 0x80 || c == ' ' || c == '\t') fields.push_back("a" + byte + "b: 1\r\n");
  }
  for (const std::string& field : fields) {
    cases.push_back({"F8-F15 " + field, head_with(field), 400});
    cases.push_back(
        {"F8-F15 first " + field, "GET / HTTP/1.1\r\n" + field + host_line + "\r\n", 400});
  }
  cases.push_back({"F12 end", "GET / HTTP/1.1\r\n" + host_line + "\n", 400});
  cases.push_back({"F12 all", "GET / HTTP/1.1\nHost: a\n\n", 400});
  cases.push_back({"H1", "GET /x\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 400});
  cases.push_back({"F10 first", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400});
  cases.push_back({"CR at the end", "GET / HTTP/1.1\r\n" + host_line + "\rX", 400});
}

void add_request_lines(Cases& cases) {
  const std::vector<std::string> bad = {
      "POST  /rpc HTTP/1.1",
      "POST\t/rpc HTTP/1.1",
      "POST /rpc HTTP/1.1 ",
      "POST /rpc",
      "POST /rpc ",
      "POST /rpc HTTP/1.01",
      "POST /rpc HTTP/1.10",
      "POST /rpc http/1.1",
      "POST /rpc HTTP/ 1.1",
      "POST /rpc HTTP/1,1",
      "POST /rpc HTTP/1",
      "POST /rpc HTTP/1.",
      "POST /rpc HTTP/.1",
      "POST /rpc HTTP/a.1",
      "POST /rpc HTTP/1.a",
      "POST /rpc HTTP1.1",
      "POST /rpc  HTTP/1.1",
      "POST /rpc\tHTTP/1.1",
      " POST /rpc HTTP/1.1",
      "",
      "POST",
      "POST /a b HTTP/1.1",
      "POST rpc HTTP/1.1",
      "POST * HTTP/1.1",
      "OPTIONS ** HTTP/1.1",
      "OPTIONS */ HTTP/1.1",
      "P\0ST / HTTP/1.1"s,
      "P[ST / HTTP/1.1",
      "POST\0 / HTTP/1.1"s,
      "POST /\0 HTTP/1.1"s,
      "POST /\x80 HTTP/1.1",
      "POST /\x7f HTTP/1.1",
      "POST /\x01 HTTP/1.1",
      "POST /rpc\r HTTP/1.1",
      "\xefPOST / HTTP/1.1",
      "CONNECT h:80 HTTP/1.1",
      "POST https://h/ HTTP/1.1",
      "POST ftp://h/ HTTP/1.1",
      "POST http:/h/ HTTP/1.1",
      "POST http:// HTTP/1.1",
      "POST http:///x HTTP/1.1",
      "POST http://u@h/ HTTP/1.1",
      "POST http://h:99999/ HTTP/1.1",
      "POST http://h:8x/ HTTP/1.1",
      "POST http://[::1/ HTTP/1.1",
      "POST http://a,b/ HTTP/1.1",
      "POST http://h#f HTTP/1.1",
      "POST http://h/#f HTTP/1.1",
      "GET /# HTTP/1.1",
      "GET /a-target-that-is-longer-than-thirty-two-bytes-and-has-a-#fragment HTTP/1.1",
      "POST /rpc?a#b HTTP/1.1",
      "POST # HTTP/1.1",
      "POST /rpc HTTP/x.1",
      "POST http://?q HTTP/1.1",
      "POST http HTTP/1.1",
      "POST h HTTP/1.1",
      "POST /a-target-that-is-longer-than-thirty-two-bytes-and-has-a-\x7f HTTP/1.1",
      "/rpc HTTP/1.1",
      "// HTTP/1.1",
      "POST/rpc HTTP/1.1",
      "POST /rpc HTTP/1.1\rX",
      "POST /rpc HTTP/1.1X"};
  for (const std::string& line : bad) {
    cases.push_back({"F23, F24 " + line, line + "\r\n" + host_line + "\r\n", 400});
  }
  for (const std::string& line :
       {"post / HTTP/1.1"s, "POSt / HTTP/1.1"s, "BREW / HTTP/1.1"s, "POSTS / HTTP/1.1"s,
        "GE / HTTP/1.1"s, "AAAAAAAAAAAAAAAA / HTTP/1.1"s, std::string(100'000, 'A') + " /",
        "get /x HTTP/1.1"s}) {
    cases.push_back({"F24 " + line.substr(0, 20), line + "\r\n" + host_line + "\r\n", 501});
  }
  for (const std::string& line :
       {"POST /rpc HTTP/2.0"s, "GET / HTTP/0.9"s, "GET / HTTP/9.9"s, "POST /rpc HTTP/3"s,
        "POST /rpc HTTP/4294967295.255"s, "POST /rpc HTTP/2x"s}) {
    cases.push_back({"F23 " + line, line + "\r\n" + host_line + "\r\n", 505});
  }
  cases.push_back({"F23 PRI", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505});
  cases.push_back({"two empty lines", "\r\n\r\nGET / HTTP/1.1\r\n" + host_line + "\r\n", 400});
  cases.push_back({"bare LF first", "\nGET / HTTP/1.1\r\n" + host_line + "\r\n", 400});
  cases.push_back({"CR first", "\rGET / HTTP/1.1\r\n" + host_line + "\r\n", 400});
  cases.push_back({"TLS", "\x16\x03\x01\x02\x00\x01"s, 400});
}

void add_hosts(Cases& cases) {
  cases.push_back({"F27 none", "GET / HTTP/1.1\r\nX: 1\r\n\r\n", 400});
  cases.push_back({"F27 none at all", "GET / HTTP/1.1\r\n\r\n", 400});
  cases.push_back({"F27 none, absolute-form", "GET http://h/ HTTP/1.1\r\n\r\n", 400});
  cases.push_back({"F27 1.2 needs it too", "GET / HTTP/1.2\r\n\r\n", 400});
  cases.push_back({"F27 twice", head_with("Host: 127.0.0.1:8080\r\n"), 400});
  cases.push_back({"F27 twice in 1.0", "GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n", 400});
  const std::vector<std::string> values = {
      "",
      " ",
      "a, b",
      "u@127.0.0.1:8080",
      "127.0.0.1:8080/x",
      "127.0.0.1:99999",
      "h:65536",
      "127.0.0.1:8080 x",
      "h:000080",
      ":8080",
      "h:8a",
      "h:-1",
      "h:+1",
      "h:1:2",
      "h: 80",
      "[::1",
      "[::1 ]",
      "[]",
      "[g]",
      "[::1]x",
      "::1",
      "h\0"s,
      "\xc3\xa4",
      "a b",
      "http://h",
      "h%00",
      "[::1]:",
      "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]",
      "a-name-that-is-longer-than-thirty-two-bytes.example:99999",
      "h:/",
      "h::",
      "h:\xb1",
      "h:1\xff"};
  for (const std::string& value : values) {
    const int verdict = value == "[::1]:" ? 0 : 400;
    cases.push_back({"F27 " + value, "GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n", verdict});
  }
  cases.push_back({"F33", head_with("Expect: x\r\n"), 417});
  cases.push_back({"F33 list", head_with("Expect: 100-continue, x\r\n"), 417});
  cases.push_back({"F33 empty", head_with("Expect:\r\n"), 417});
}

void add_sizes(Cases& cases) {
  cases.push_back({"R1 value", head_with("X: " + std::string(100'000, 'a') + "\r\n"), 431});
  cases.push_back({"R1 name", head_with(std::string(100'000, 'a') + ": x\r\n"), 431});
  const std::size_t overhead = head_with("X: \r\n").size();
  for (int extra = -1; extra <= 1; ++extra) {
    const std::size_t size = limits::head_size_max - overhead + static_cast<std::size_t>(extra);
    cases.push_back({"R1 head at its limit", head_with("X: " + std::string(size, 'a') + "\r\n"),
                     extra <= 0 ? 0 : 431});
  }
  for (int extra = -1; extra <= 1; ++extra) {
    std::string fields;
    // Host is one of them.
    for (int i = 1; i < static_cast<int>(limits::head_fields_max) + extra; ++i) {
      fields += "X1: 1\r\n";
    }
    cases.push_back({"R2 fields at their limit", head_with(fields), extra <= 0 ? 0 : 431});
  }
  for (int extra = -1; extra <= 1; ++extra) {
    const std::size_t size = limits::target_size_max + static_cast<std::size_t>(extra);
    const std::string target = "/" + std::string(size - 1, 'a');
    const int verdict = extra <= 0 ? 0 : 414;
    cases.push_back(
        {"target at its limit", "GET " + target + " HTTP/1.1\r\n" + host_line + "\r\n", verdict});
    cases.push_back({"target at its limit, 1.0", "GET " + target + " HTTP/1.0\r\n\r\n", verdict});
    const std::string authority = "http://" + std::string(size - 7, 'a');
    cases.push_back({"authority at its limit",
                     "GET " + authority + " HTTP/1.1\r\n" + host_line + "\r\n", verdict});
  }
  cases.push_back({"target and a bad byte at its limit",
                   "GET /" + std::string(limits::target_size_max - 1, 'a') + "\x7f", 400});
}

}  // namespace

std::string head_with(const std::string& fields) {
  return "POST /rpc HTTP/1.1\r\n" + host_line + fields + "\r\n";
}

std::vector<HeadCase> head_cases() {
  Cases cases;
  add_good(cases);
  add_lengths(cases);
  add_codings(cases);
  add_lines(cases);
  add_request_lines(cases);
  add_hosts(cases);
  add_sizes(cases);
  return cases;
}

}  // namespace ringrpc::http::test
