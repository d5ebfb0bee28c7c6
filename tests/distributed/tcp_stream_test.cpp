// Runs on: host; alone.
// One TCP connection, when memory is short or the peer ends.

#include <locus/distributed/tcp/tcp_stream.hpp>

#include <doctest/doctest.h>

#include <support/failing_memory.hpp>

#include <array>
#include <random>

using namespace locus;
using namespace locus_test;
using dist::detail::Socket;
using dist::detail::TcpStream;

namespace {
/// A stream, and the bytes that its peer writes.
struct Connection {
  Connection() {
    int ends[2] = {-1, -1};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    stream = TcpStream(Socket(ends[0]));
    peer = Socket(ends[1]);
  }
  void write(const void* data, std::size_t bytes) const {
    REQUIRE(peer.write_some(data, static_cast<std::int64_t>(bytes)) == static_cast<std::int64_t>(bytes));
  }
  TcpStream stream{};
  Socket peer{};
  std::vector<dist::detail::ControlMessage> controls{};
};

Shared<TcpStream::Transfer> receiving(std::array<float, 4>& target, std::int64_t tag) {
  Shared transfer(new TcpStream::Transfer);
  transfer->frame = {sizeof target, tag};
  transfer->receives = true;
  transfer->data = reinterpret_cast<unsigned char*>(target.data());
  return transfer;
}
}  // namespace

TEST_CASE("without memory for bytes that come before they are asked for, the connection goes on afterwards") {
  for (std::int64_t successes = 0; successes < 3; ++successes) {
    Connection connection;
    const std::array<float, 4> sent{1, 2, 3, 4};
    std::array<float, 4> received{};
    connection.write(std::array<std::int64_t, 2>{sizeof sent, 5}.data(), 16);
    {
      const MemoryFailure failure(successes, false);
      for (int turn = 0; turn < 2; ++turn)
        CHECK_THROWS_AS(connection.stream.progress(connection.controls, 1), std::bad_alloc);
    }
    CHECK(!connection.stream.has_ended());
    connection.write(sent.data(), sizeof sent);
    connection.stream.progress(connection.controls, 1);
    const auto transfer = receiving(received, 5);
    connection.stream.receive(transfer);
    CHECK(transfer->is_done);
    CHECK(received == sent);
    connection.peer = {};
    connection.stream.progress(connection.controls, 1);
    CHECK(connection.stream.has_ended());
  }
}

TEST_CASE("without memory for a note, it comes when there is some") {
  for (std::int64_t successes = 0; successes < 3; ++successes) {
    Connection connection;
    dist::detail::ControlMessage control{.what = dist::detail::ControlMessage::What::end, .count = 3};
    connection.write(std::array<std::int64_t, 2>{sizeof control, TcpStream::control_tag}.data(), 16);
    connection.write(&control, sizeof control);
    {
      const MemoryFailure failure(successes, false);
      CHECK_THROWS_AS(connection.stream.progress(connection.controls, 1), std::bad_alloc);
    }
    connection.stream.progress(connection.controls, 1);
    REQUIRE(connection.controls.size() == 1);
    CHECK(connection.controls[0].from == 1);
    CHECK(connection.controls[0].count == 3);
  }
}

TEST_CASE("what was received before the peer ended is not lost, what is awaited then is open") {
  Connection connection;
  std::array<float, 4> first{}, second{};
  const auto comes = receiving(first, 5), waits = receiving(second, 6);
  connection.stream.receive(comes);
  connection.stream.receive(waits);
  const std::array<float, 4> sent{1, 2, 3, 4};
  connection.write(std::array<std::int64_t, 2>{sizeof sent, 5}.data(), 16);
  connection.write(sent.data(), sizeof sent);
  connection.peer = {};
  connection.stream.progress(connection.controls, 1);
  CHECK(connection.stream.has_ended());
  CHECK(connection.stream.is_over(*comes));
  CHECK(first == sent);
  CHECK(!connection.stream.is_over(*waits));
}

TEST_CASE("a length that no transfer has ends the connection") {
  using Lengths = std::array<std::int64_t, 2>;
  constexpr std::int64_t control = sizeof(dist::detail::ControlMessage);
  for (const Lengths& frame : {Lengths{-5, 5}, Lengths{0, 5}, Lengths{INT64_MAX, 5}, Lengths{std::int64_t{1} << 48, 5},
                               Lengths{control - 1, TcpStream::control_tag}}) {
    CAPTURE(frame[0]);
    Connection connection;
    connection.write(frame.data(), sizeof frame);
    CHECK_NOTHROW(connection.stream.progress(connection.controls, 1));
    CHECK(connection.stream.has_ended());
    char byte = 0;
    CHECK(connection.peer.read_some(&byte, 1) == -1);  // closed
    CHECK_NOTHROW(connection.stream.progress(connection.controls, 1));
  }
}

TEST_CASE("a frame that promises more than comes allocates no more than comes, and some") {
  Connection connection;
  const std::int64_t promised = std::int64_t{1} << 46;
  connection.write(std::array<std::int64_t, 2>{promised, 5}.data(), 16);
  CHECK_NOTHROW(connection.stream.progress(connection.controls, 1));
  const std::string some(100000, 'x');
  connection.write(some.data(), some.size());
  CHECK_NOTHROW(connection.stream.progress(connection.controls, 1));
  CHECK(!connection.stream.has_ended());
}

TEST_CASE("bytes at random end the connection, or are kept, in no more memory than came") {
  std::mt19937 random(3);
  for (int run = 0; run < 300; ++run) {
    Connection connection;
    for (int part = 0; part < 8; ++part) {  // frames that may be valid, and bytes that are none
      const std::int64_t lengths[] = {static_cast<std::int64_t>(random() % 64), std::int64_t{1} << (random() % 63),
                                      sizeof(dist::detail::ControlMessage)};
      const std::int64_t frame[] = {lengths[random() % 3], static_cast<std::int64_t>(random() % 3) - 1};
      connection.write(frame, sizeof frame);
      std::string bytes(random() % 500, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      connection.write(bytes.data(), bytes.size());
      const MemoryFailure none(64, false);  // few allocations, whatever the frame promises
      CHECK_NOTHROW(connection.stream.progress(connection.controls, 1));
      if (connection.stream.has_ended()) break;
    }
    for (const auto& control : connection.controls) CHECK(control.from == 1);
  }
}

TEST_CASE("what comes before it is asked for is whole, however large, and whenever it is asked for") {
  for (const std::size_t size : {std::size_t{1}, std::size_t{65536}, std::size_t{65537}, std::size_t{500000}})
    for (const bool is_asked_within : {false, true}) {
      Connection connection;
      std::string sent(size, '\0'), received(size, '\0');
      for (std::size_t i = 0; i < size; ++i) sent[i] = static_cast<char>(i * 7 + i / 251);
      Shared transfer(new TcpStream::Transfer);
      transfer->frame = {static_cast<std::int64_t>(size), 5};
      transfer->receives = true;
      transfer->data = reinterpret_cast<unsigned char*>(received.data());
      connection.write(&transfer->frame, 16);
      for (std::size_t at = 0; at < size; at += 50000) {
        connection.write(sent.data() + at, std::min<std::size_t>(size - at, 50000));
        connection.stream.progress(connection.controls, 1);
        if (is_asked_within && at == 0) connection.stream.receive(transfer);
      }
      if (!is_asked_within) connection.stream.receive(transfer);
      CHECK(transfer->is_done);
      CHECK(received == sent);
    }
}
