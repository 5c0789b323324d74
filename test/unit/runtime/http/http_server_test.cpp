// The server and the client of runtime/http, against each other and against strangers.
#include "runtime/http/http_server.h"

#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "runtime/http/bearer.h"
#include "runtime/http/http_client.h"

using namespace scavenger;

namespace {

const std::string kToken = "0123456789abcdef";

// Refuses who has no token, and repeats what the others say.
class Echo final : public HttpHandler {
 public:
  explicit Echo(HttpLimits limits)
      : server_(io_, {"127.0.0.1", 0}, limits, *this), runner_([this] { io_.run(); }) {}
  ~Echo() override {
    io_.stop();
    runner_.join();
  }
  std::uint16_t port() const { return server_.port(); }

 private:
  std::optional<HttpResponse> refuse(const HttpHead& head) override {
    if (brings_bearer_token(head.field("authorization"), kToken)) return std::nullopt;
    HttpResponse response;
    response.status = 401;
    return response;
  }
  awaitable<void> answer(HttpHead head, std::string body, HttpConnection& connection) override {
    HttpResponse response;
    response.body = head.method + " " + head.target + " " + body;
    response.fields.emplace_back("X-Test", "yes");
    co_await connection.send(std::move(response));
  }

  asio::io_context io_;
  HttpServer server_;
  std::thread runner_;
};

HttpReply ask(const Echo& echo, const std::string& body, const std::string& token = kToken) {
  asio::io_context io;
  HttpClient client(io);
  HttpRequest request{.method = "POST",
                      .url = "http://127.0.0.1:" + std::to_string(echo.port()) + "/place?a=1",
                      .headers = {},
                      .body = body};
  request.headers.emplace_back("Authorization", "Bearer " + token);
  auto reply = asio::co_spawn(io, client.send(std::move(request)), asio::use_future);
  io.run();
  return reply.get();
}

// Sends bytes and reads until the server closes.
std::string say(const Echo& echo, const std::string& bytes) {
  asio::io_context io;
  tcp::socket socket(io);
  socket.connect({asio::ip::address_v4::loopback(), echo.port()});
  boost::system::error_code error;
  asio::write(socket, asio::buffer(bytes), error);
  error = {};
  std::string heard;
  while (!error) {
    char piece[1024];
    heard.append(piece, socket.read_some(asio::buffer(piece), error));
  }
  return heard;
}

}  // namespace

TEST_CASE("a request with the token reaches the handler whole") {
  const Echo echo(HttpLimits{});
  const HttpReply reply = ask(echo, "text");
  CHECK(reply.status == 200);
  CHECK(reply.body == "POST /place?a=1 text");
}

TEST_CASE("a stranger is refused by the head: the body is not waited for") {
  const Echo echo(HttpLimits{});
  CHECK(ask(echo, "text", "another token 123").status == 401);
  const std::string heard =
      say(echo, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\nthe beginning");
  CHECK(heard.find("401") != std::string::npos);
}

TEST_CASE("what is longer than the limits gets 413, head and body alike") {
  HttpLimits limits;
  limits.body_bytes = 1000;
  const Echo echo(limits);
  CHECK(ask(echo, std::string(1000, 'x')).status == 200);
  CHECK(ask(echo, std::string(1001, 'x')).status == 413);
  const std::string heard =
      say(echo, "GET / HTTP/1.1\r\nX-Long: " + std::string(limits.head_bytes, 'x') + "\r\n\r\n");
  CHECK(heard.find("413") != std::string::npos);
}

TEST_CASE("strangers who say nothing do not shut out who brings the token") {
  HttpLimits limits;
  limits.connections = 4;
  limits.head_patience = std::chrono::minutes(10);
  const Echo echo(limits);
  asio::io_context io;
  std::vector<tcp::socket> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.emplace_back(io);
    strangers.back().connect({asio::ip::address_v4::loopback(), echo.port()});
  }
  CHECK(ask(echo, "text").status == 200);
}

TEST_CASE("the name of a header may be in any case; one that is missing is empty") {
  HttpHead head;
  head.fields.emplace_back("Content-Type", "a");
  CHECK(head.field("content-type") == "a");
  CHECK(head.field("Host").empty());
}

TEST_CASE("a bearer token counts only whole and after its word") {
  CHECK(brings_bearer_token("Bearer " + kToken, kToken));
  CHECK_FALSE(brings_bearer_token(kToken, kToken));
  CHECK_FALSE(brings_bearer_token("Bearer " + kToken + " ", kToken));
  CHECK_FALSE(brings_bearer_token("Bearer ", kToken));
  CHECK_FALSE(brings_bearer_token("", kToken));
}

TEST_CASE("a client whom nobody hears says so, and that nothing was sent") {
  std::uint16_t port = 0;
  {
    const Echo echo(HttpLimits{});
    port = echo.port();
  }
  asio::io_context io;
  HttpClient client(io);
  HttpRequest request{.url = "http://127.0.0.1:" + std::to_string(port), .headers = {}, .body = {}};
  auto reply = asio::co_spawn(io, client.send(std::move(request)), asio::use_future);
  io.run();
  try {
    reply.get();
    FAIL("there was an answer");
  } catch (const HttpError& error) {
    CHECK(error.stage() == HttpError::Stage::kNotSent);
    CHECK(error.cause() == "Connection refused");
  }
}
