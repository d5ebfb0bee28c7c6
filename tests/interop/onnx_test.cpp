// Runs on: host.
#include <locus/interop/onnx.hpp>
#include <locus/tensor/from.hpp>

#include <support/fuzz.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// A model with a value of each kind that a file can hold.
onnx::Model sample() {
  const Tensor weight = from({{1, 2}, {3, 4}});
  onnx::Graph branch{.name = "branch",
                     .nodes = {{.op_type = "Identity", .inputs = {"x"}, .outputs = {"z"}}},
                     .outputs = {{"z", onnx::DataType::float32, {}}}};
  onnx::Node node{.op_type = "Everything",
                  .inputs = {"x", "", "weight"},
                  .outputs = {"y"},
                  .attributes = {{"number", 0.5f},
                                 {"integer", std::int64_t{-3}},
                                 {"text", std::string("t\0t", 3)},
                                 {"numbers", std::vector<float>{1, -2.5f}},
                                 {"integers", std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX}},
                                 {"texts", std::vector<std::string>{"a", ""}},
                                 {"tensor", onnx::tensor_data("", from<std::int64_t>({7, 8}))},
                                 {"tensors", std::vector<onnx::TensorData>{onnx::tensor_data("", from<bool>({1, 0}))}},
                                 {"branch", onnx::Graphs{{branch}}},
                                 {"branches", onnx::Graphs{{branch, branch}, true}},
                                 {"nothing", std::vector<std::int64_t>{}}},
                  .name = "everything",
                  .domain = "com.example"};
  return {.ir_version = 9,
          .operator_sets = {{"", 21}, {"com.example", 1}},
          .producer_version = "1",
          .domain = "example",
          .model_version = 3,
          .graph = {.name = "sample",
                    .nodes = {node},
                    .initializers = {onnx::tensor_data("weight", weight)},
                    .inputs = {{"x", onnx::DataType::float32, {"batch", 2, onnx::Dimension()}}},
                    .outputs = {{.name = "y", .type = onnx::DataType::int32, .has_shape = false}},
                    .values = {{"z", onnx::DataType::float16, {}}}},
          .metadata = {{"author", "somebody"}}};
}

/// One field of a protobuf message: of varints, or of bytes.
std::string varint(std::uint64_t value) {
  std::string text;
  for (; value > 127; value >>= 7) text += static_cast<char>(value % 128 + 128);
  return text += static_cast<char>(value);
}
std::string field(unsigned tag, std::uint64_t value) { return varint(tag * 8) + varint(value); }
std::string field(unsigned tag, const std::string& bytes) { return varint(tag * 8 + 2) + varint(bytes.size()) + bytes; }
/// A model whose graph has one initial value, of these fields.
std::string model_of_tensor(const std::string& tensor) { return field(7, field(5, tensor + field(8, "t"))); }
onnx::TensorData tensor_in(const std::string& fields) {
  return onnx::parse_onnx(model_of_tensor(fields)).graph.initializers.at(0);
}
std::string complaint(const std::string& model) {
  return message_of<DataError>([&] { (void)onnx::parse_onnx(model); });
}

}  // namespace

TEST_CASE("a model is read as it was written") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model.onnx";
  const onnx::Model model = sample();
  onnx::write_onnx(path, model);
  const onnx::Model read = onnx::read_onnx(path);
  CHECK(read.ir_version == 9);
  REQUIRE(read.operator_sets.size() == 2);
  CHECK((read.operator_sets[1].domain == "com.example" && read.operator_sets[0].version == 21));
  CHECK((read.producer_name == "locus" && read.domain == "example" && read.model_version == 3));
  CHECK((read.metadata.at(0).key == "author" && read.metadata[0].value == "somebody"));

  const onnx::Node& node = read.graph.nodes.at(0);
  CHECK((node.op_type == "Everything" && node.name == "everything" && node.domain == "com.example"));
  CHECK(node.inputs == std::vector<std::string>{"x", "", "weight"});
  CHECK(*onnx::find_attribute<float>(node, "number") == 0.5f);
  CHECK(*onnx::find_attribute<std::int64_t>(node, "integer") == -3);
  CHECK(*onnx::find_attribute<std::string>(node, "text") == std::string("t\0t", 3));
  CHECK(*onnx::find_attribute<std::vector<float>>(node, "numbers") == std::vector<float>{1, -2.5f});
  CHECK(*onnx::find_attribute<std::vector<std::int64_t>>(node, "integers") ==
        std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX});
  CHECK(*onnx::find_attribute<std::vector<std::string>>(node, "texts") == std::vector<std::string>{"a", ""});
  CHECK_CLOSE(onnx::tensor_of<std::int64_t>(*onnx::find_attribute<onnx::TensorData>(node, "tensor")),
              Reference({2}, {7, 8}));
  CHECK(onnx::find_attribute<std::vector<std::int64_t>>(node, "nothing")->empty());
  CHECK(onnx::find_attribute<onnx::Graphs>(node, "branch")->list.at(0).nodes.at(0).op_type == "Identity");
  CHECK(onnx::find_attribute<onnx::Graphs>(node, "branches")->list.size() == 2);
  CHECK(onnx::find_attribute<std::int64_t>(node, "number") == nullptr);
  CHECK(onnx::find_attribute<std::int64_t>(node, "absent") == nullptr);

  CHECK_CLOSE(onnx::tensor_of<float>(read.graph.initializers.at(0)), Reference({2, 2}, {1, 2, 3, 4}));
  const onnx::ValueInfo& input = read.graph.inputs.at(0);
  REQUIRE(input.shape.size() == 3);
  CHECK((input.shape[0].symbol == "batch" && input.shape[1].extent == 2 && input.shape[2].extent == -1));
  CHECK((!read.graph.outputs.at(0).has_shape && read.graph.values.at(0).has_shape));
  CHECK(onnx::encode_onnx(read) == onnx::encode_onnx(model));
}

TEST_CASE("fields that the graph does not name are kept") {
  const std::string node = field(1, field(2, "y") + field(4, "Relu") + field(6, "documentation") + field(99, 5u));
  const std::string graph = field(7, node + field(10, "of the graph") + field(15, "sparse"));
  const std::string text = field(1, 8u) + graph + field(25, "a function");
  const onnx::Model model = onnx::parse_onnx(text);
  const std::string written = onnx::encode_onnx(model);
  for (const std::string& part : {field(6, "documentation") + field(99, 5u), field(10, "of the graph"),
                                  field(15, "sparse"), field(25, "a function")})
    CHECK(contains(written, part));
}

TEST_CASE("tensors as bytes, as lists of numbers, packed or not") {
  const std::string one_half = std::string("\0\0\0\x3f", 4), shape = field(1, 2u);
  CHECK_CLOSE(onnx::tensor_of<float>(tensor_in(shape + field(2, 1u) + field(9, one_half + one_half))),
              Reference({2}, {0.5, 0.5}));
  CHECK_CLOSE(onnx::tensor_of<float>(tensor_in(shape + field(2, 1u) + field(4, one_half + one_half))),
              Reference({2}, {0.5, 0.5}));
  CHECK_CLOSE(onnx::tensor_of<float>(
                  tensor_in(shape + field(2, 1u) + varint(4 * 8 + 5) + one_half + varint(4 * 8 + 5) + one_half)),
              Reference({2}, {0.5, 0.5}));
  CHECK_CLOSE(onnx::tensor_of<std::int64_t>(tensor_in(shape + field(2, 7u) + field(7, varint(5) + varint(~0ull)))),
              Reference({2}, {5, -1}));
  CHECK_CLOSE(
      onnx::tensor_of<std::uint8_t>(tensor_in(field(1, varint(2)) + field(2, 2u) + field(5, 200u) + field(5, 1u))),
      Reference({2}, {200, 1}));
  CHECK_CLOSE(onnx::tensor_of<half>(tensor_in(shape + field(2, 10u) + field(5, varint(0x3c00) + varint(0xc000)))),
              Reference({2}, {1, -2}));
  CHECK(tensor_in(shape + field(2, 8u) + field(6, "a") + field(6, "b")).strings == std::vector<std::string>{"a", "b"});
  CHECK_CLOSE(onnx::tensor_as<float>(tensor_in(shape + field(2, 9u) + field(9, std::string("\1\0", 2)))),
              Reference({2}, {1, 0}));
}

TEST_CASE("external data lies in the folder of the model") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model.onnx";
  onnx::Model model = sample();
  onnx::write_onnx(path, model, {.external_data = "model.data", .external_at_least = 1});
  CHECK(content_of(folder.path / "model.data").size() == 16);
  CHECK_CLOSE(onnx::tensor_of<float>(onnx::read_onnx(path).graph.initializers.at(0)), Reference({2, 2}, {1, 2, 3, 4}));
  CHECK(onnx::encode_onnx(onnx::read_onnx(path)) == onnx::encode_onnx(model));

  (void)folder.write("model.data", "short");
  CHECK(contains(message_of<DataError>([&] { (void)onnx::read_onnx(path); }),
                 "ONNX tensor 'weight' is 16 bytes from byte 0 of external file 'model.data', which has 5"));
  CHECK_THROWS_AS(onnx::write_onnx(path, model, {.external_data = "../x"}), DataError);
  CHECK(contains(message_of<DataError>([&] { onnx::write_onnx(path, model, {.external_data = "model.onnx"}); }),
                 "is the model's own file"));

  const auto location = [](const std::string& name) {
    return model_of_tensor(field(1, 4u) + field(2, 2u) + field(14, 1u) +
                           field(13, field(1, "location") + field(2, name)));
  };
  (void)folder.write("secret", "1234");
  std::filesystem::create_directory(folder.path / "inner");
  std::filesystem::create_symlink("../secret", folder.path / "inner" / "link");
  for (const char* name : {"../secret", "/etc/passwd", "a/../../secret", "link", ""}) {
    const std::string inner = folder.write("inner/outside.onnx", location(name));
    CHECK_MESSAGE(
        contains(message_of<DataError>([&] { (void)onnx::read_onnx(inner); }), "expected a file in the model's folder"),
        name);
  }
  CHECK(contains(complaint(location("secret")), "expected a model that was read by read_onnx"));
}

TEST_CASE("lying sizes are refused") {
  const std::string four(4, '\0');
  const auto refused = [](const std::string& fields, const std::string& why) {
    const std::string message = complaint(model_of_tensor(fields));
    CHECK_MESSAGE(contains(message, why), message);
  };
  refused(field(1, 2u) + field(2, 1u) + field(9, four), "has 4 bytes; expected 8 for 2 elements of float32");
  refused(field(1, 2u) + field(2, 1u) + field(4, four), "has 4 bytes; expected 8");
  refused(field(1, 2u) + field(2, 1u), "has 0 bytes; expected 8");
  refused(field(1, ~0ull) + field(2, 1u) + field(9, four), "extent -1 in its shape");
  refused(field(1, 1ull << 62) + field(2, 1u) + field(9, four), "more than 2^57 elements");
  refused(field(1, 1ull << 62) + field(1, 1ull << 62) + field(2, 1u), "more than 2^63 elements");
  refused(field(1, 1u) + field(2, 77u) + field(9, four), "elements of unknown type 77");
  refused(field(1, 1u) + field(2, 8u), "has 0 strings; expected 1");
  refused(field(1, 1u) + field(2, "text"), "field 2 of a Tensor is of another type than ONNX has there");
  refused(field(1, 1u) + field(2, 1u) + varint(9 * 8 + 2) + varint(1ull << 30), "is damaged or cut off");
  refused(
      field(1, 4u) + field(2, 1u) + field(14, 1u) + field(13, field(1, "offset") + field(2, "99999999999999999999")),
      "is no number");
  // An empty tensor may have huge extents, and no bytes.
  CHECK(tensor_in(field(1, 1ull << 62) + field(1, 1ull << 62) + field(1, 0u) + field(2, 1u)).bytes.elements() == 0);
}

TEST_CASE("tensors that Locus cannot hold are read, and refused where they are used") {
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += field(1, 1u);
  const onnx::TensorData deep = tensor_in(nine + field(2, 2u) + field(9, "a"));
  CHECK(contains(message_of<DataError>([&] { (void)onnx::tensor_of<std::uint8_t>(deep); }),
                 "has 9 dimensions; expected at most 8"));
  const onnx::TensorData packed = tensor_in(field(1, 3u) + field(2, 22u) + field(9, "ab"));
  CHECK(contains(message_of<DataError>([&] { (void)onnx::tensor_as<float>(packed); }), "type 22"));
  CHECK(contains(message_of<DataError>(
                     [&] { (void)onnx::tensor_of<float>(tensor_in(field(1, 1u) + field(2, 2u) + field(9, "a"))); }),
                 "holds uint8; expected float32"));
  CHECK(contains(message_of<DataError>(
                     [&] { (void)onnx::tensor_of<bool>(tensor_in(field(1, 1u) + field(2, 9u) + field(9, "a"))); }),
                 "of bool holds other bytes than 0 and 1"));
}

TEST_CASE("files that are no models are refused") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<DataError>([&] { (void)onnx::read_onnx(folder.path / "absent.onnx"); }),
                 "expected an ONNX file"));
  CHECK(contains(message_of<DataError>([&] { (void)onnx::read_onnx(folder.write("empty.onnx", "")); }), "it is empty"));
  CHECK(contains(complaint("<html>"), "is damaged or cut off"));
  CHECK(contains(complaint(field(1, 8u)), "it has no graph"));
  CHECK(contains(complaint(field(7, field(1, field(5, field(1, "t") + field(20, 4u))))), "attribute 't' has no value"));
  // Graphs within attributes of graphs, without an end.
  std::string graph;
  for (int i = 0; i < 40; ++i) graph = field(1, field(5, field(6, graph) + field(20, 5u)));
  CHECK(contains(complaint(field(7, graph)), "nested deeper than 32"));
}

TEST_CASE("damaged files are read, or refused with DataError") {
  const std::string whole = onnx::encode_onnx(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      (void)onnx::parse_onnx(whole.substr(0, size));
    } catch (const DataError&) {}
  }
  std::uint64_t state = fuzz_seed(1);
  const auto next = [&](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>((state >> 33) % below);
  };
  std::int64_t read = 0, refused = 0;
  for (std::int64_t i = 0; i < fuzz_count(3000); ++i) {
    std::string damaged = whole;
    for (std::size_t changes = 1 + next(4); changes > 0; --changes) {
      if (next(8) == 0) damaged.erase(next(damaged.size()), 1 + next(9));
      else damaged[next(damaged.size())] = static_cast<char>(next(256));
    }
    try {
      const onnx::Model model = onnx::parse_onnx(damaged);
      (void)onnx::encode_onnx(model);
      ++read;
    } catch (const DataError&) {
      ++refused;
    }
  }
  CHECK((read > 0 && refused > 0));
}
