// Who reaches the service without its token, or brings something that does not belong in it.
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "elastic/model_service/model_service.h"
#include "perfmodel/store/sqlite_store.h"
#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("a stranger is refused by the head of a request: its body is not waited for") {
  const TemporaryFolder folder;
  perfmodel::SqliteStore store(folder.path() / "s.sqlite");
  asio::io_context io;
  ModelService service(io, "127.0.0.1", 0, "0123456789abcdef", store);
  std::thread runner([&io] { io.run(); });

  asio::io_context own;
  tcp::socket socket(own);
  socket.connect({asio::ip::address_v4::loopback(), service.port()});
  const std::string head = "POST /models HTTP/1.1\r\nHost: a\r\nContent-Length: 16000000\r\n\r\n";
  asio::write(socket, asio::buffer(head));
  std::string heard;
  boost::system::error_code error;
  while (!error) {
    char bytes[1024];
    heard.append(bytes, socket.read_some(asio::buffer(bytes), error));
  }
  io.stop();
  runner.join();

  CHECK(heard.find("401") != std::string::npos);
}

TEST_CASE("a fit of a model that nobody has measured is not taken") {
  const TemporaryFolder folder;
  perfmodel::SqliteStore store(folder.path() / "s.sqlite");

  CHECK(answer_request(store, "PUT", "/models/NOBODY/fit", "{}").status == 404);
  CHECK(answer_request(store, "GET", "/models/NOBODY/fit", "").status == 404);
}

TEST_CASE("a token that another user has put there is no secret") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "token";
  token_from(path, true);
  CHECK(token_from(path, false).size() >= 16);

  if (::chown(path.c_str(), 12345, static_cast<gid_t>(-1)) != 0) return;  // only root may give away
  CHECK_THROWS_AS(token_from(path, false), InputError);
}
