#pragma once
// The fields of a protobuf message, read by protozero, with errors that name the file and the message.

#include <locus/core/check.hpp>
#include <locus/core/printable.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <protozero/pbf_reader.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// Reads a message field by field. protozero asserts that a field has the type that is read; a Fields checks it first,
/// so a damaged file throws. It throws DataError that begins with `what`, such as "cannot read 'net.onnx'".
///
///     for (Fields fields(what, "Node", bytes); fields.next();)
///       switch (fields.tag()) {
///         case 3: node.name = fields.text(); break;
///         default: fields.skip_to(node.rest);
///       }
class Fields {
 public:
  Fields(const std::string& what, const char* message, protozero::data_view bytes)
      : what_(&what), message_(message), reader_(bytes) {}

  /// Goes to the next field; false after the last one.
  [[nodiscard]] bool next() {
    begin_ = reader_.data().data();
    return guarded([&] { return reader_.next(); });
  }
  [[nodiscard]] std::uint32_t tag() const { return reader_.tag(); }

  [[nodiscard]] protozero::data_view view() {
    require(protozero::pbf_wire_type::length_delimited);
    return guarded([&] { return reader_.get_view(); });
  }
  [[nodiscard]] std::string text() {
    const auto bytes = view();
    return {bytes.data(), bytes.size()};
  }
  [[nodiscard]] std::int64_t integer() {
    require(protozero::pbf_wire_type::varint);
    return guarded([&] { return reader_.get_int64(); });
  }
  [[nodiscard]] float number() {
    require(protozero::pbf_wire_type::fixed32);
    return guarded([&] { return reader_.get_float(); });
  }
  /// Appends integers, packed or not.
  void append_to(std::vector<std::int64_t>& list) {
    if (reader_.wire_type() == protozero::pbf_wire_type::varint) return list.push_back(integer());
    require(protozero::pbf_wire_type::length_delimited);
    guarded([&] {
      for (const std::int64_t value : reader_.get_packed_int64()) list.push_back(value);
    });
  }
  /// Appends numbers of type float or double, packed or not.
  void append_to(std::vector<float>& list) {
    if (reader_.wire_type() == protozero::pbf_wire_type::fixed32) return list.push_back(number());
    require(protozero::pbf_wire_type::length_delimited);
    guarded([&] {
      for (const float value : reader_.get_packed_float()) list.push_back(value);
    });
  }
  void append_to(std::vector<double>& list) {
    if (reader_.wire_type() == protozero::pbf_wire_type::fixed64)
      return list.push_back(guarded([&] { return reader_.get_double(); }));
    require(protozero::pbf_wire_type::length_delimited);
    guarded([&] {
      for (const double value : reader_.get_packed_double()) list.push_back(value);
    });
  }
  void skip() {
    guarded([&] { reader_.skip(); });
  }
  /// Skips the field, and appends its encoding.
  void skip_to(std::string& rest) {
    skip();
    rest.append(begin_, reader_.data().data());
  }

  [[nodiscard]] const std::string& what() const { return *what_; }

 private:
  void require(protozero::pbf_wire_type type) const {
    if (reader_.wire_type() != type) fail_at("is of another type than ONNX has there");
  }
  template <class F>
  auto guarded(const F& f) -> decltype(f()) {
    try {
      return f();
    } catch (const protozero::exception&) {
      fail_at("is damaged or cut off");
    }
  }
  [[noreturn]] void fail_at(const char* problem) const {
    fail<DataError>({*what_, " as ONNX: field ", reader_.tag(), " of a ", message_, " ", problem,
                     "; expected a file that an exporter wrote whole"});
  }

  const std::string* what_;
  const char* message_;
  protozero::pbf_reader reader_;
  const char* begin_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
