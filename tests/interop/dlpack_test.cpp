// Runs on: host, cuda (tensors).
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

#include <iterator>
#include <random>
#include <support/counting_dlpack.hpp>
#include <support/device_list.hpp>
#include <support/fuzz.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>
#include <vector>

using namespace locus;
using namespace locus_test;

namespace {

/// The struct of a dlpack.h, which is another type.
namespace header {
enum DLDeviceType : std::int32_t { kDLCPU = 1 };
struct DLManagedTensor {
  struct {
    void* data;
    struct {
      DLDeviceType device_type;
      std::int32_t device_id;
    } device;
    std::int32_t ndim;
    struct {
      std::uint8_t code, bits;
      std::uint16_t lanes;
    } dtype;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
  } dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
}  // namespace header

/// Another library: an array of six floats 0, 1, ... on the host, which counts the calls of its deleter.
struct Library {
  alignas(16) float values[6] = {0, 1, 2, 3, 4, 5};
  std::vector<std::int64_t> shape{2, 3}, strides{3, 1};
  int freed = 0;
  /// A struct like this, with changes.
  template <class M = dlpack::DLManagedTensorVersioned, class Change>
  [[nodiscard]] dlpack::Owner<M> lend(const Change& change) {
    auto* const managed = new M{};
    if constexpr (dlpack::Versioned<M>) managed->version = {1, 1};
    managed->manager_ctx = this;
    managed->deleter = [](M* self) {
      ++static_cast<Library*>(self->manager_ctx)->freed;
      delete self;
    };
    auto& given = managed->dl_tensor;
    given.data = values;
    given.device.device_type = static_cast<decltype(given.device.device_type)>(dlpack::kDLCPU);
    given.ndim = static_cast<std::int32_t>(shape.size());
    given.dtype = {dlpack::kDLFloat, 32, 1};
    given.shape = shape.data();
    given.strides = strides.data();
    change(*managed);
    return dlpack::Owner<M>(managed);
  }
  template <class M = dlpack::DLManagedTensorVersioned>
  [[nodiscard]] dlpack::Owner<M> lend() {
    return lend<M>([](M&) {});
  }
};

/// The message with which from_dlpack<float> refuses a changed struct. The struct stays the caller's, and is freed
/// once.
template <class E, class Change>
[[nodiscard]] std::string refusal(const Change& change) {
  Library library;
  std::string message;
  {
    auto managed = library.lend([&](auto& given) { change(library, given); });
    message = message_of<E>([&] { (void)from_dlpack<float>(std::move(managed)); });
    CHECK(managed);
    CHECK(library.freed == 0);
  }
  CHECK(library.freed == 1);
  return message;
}

template <class T, class D>
void check_round_trip(const D& device) {
  const Tensor<T, D> x = arange<std::int32_t>(6).reshape({2, 3}).template as<T>().to(device);
  auto managed = to_dlpack(x);
  CHECK(managed.get()->dl_tensor.dtype == dlpack::data_type<T>);
  const auto y = from_dlpack<T, D>(std::move(managed));
  CHECK_FALSE(managed);
  CHECK(y.data() == x.data());
  CHECK(y.device() == device);
  CHECK(y.layout().same_places(x.layout()));
  if constexpr (!std::is_same_v<T, bool>) CHECK_CLOSE(y, Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
}

}  // namespace

LOCUS_DEVICE_TEST("every element type goes out and comes back, in place", D) {
  check_round_trip<float>(D{});
  check_round_trip<std::int64_t>(D{});
  if constexpr (all_dtypes<D>) {
    check_round_trip<double>(D{});
    check_round_trip<half>(D{});
    check_round_trip<bfloat16>(D{});
    check_round_trip<bool>(D{});
    check_round_trip<std::int8_t>(D{});
    check_round_trip<std::int16_t>(D{});
    check_round_trip<std::int32_t>(D{});
    check_round_trip<std::uint8_t>(D{});
    check_round_trip<std::uint16_t>(D{});
    check_round_trip<std::uint32_t>(D{});
    check_round_trip<std::uint64_t>(D{});
  }
}

LOCUS_DEVICE_TEST("views, scalars and tensors without elements keep their layout", D) {
  const Tensor<float, D> x = arange<float, D>(24).reshape({2, 3, 4});
  const auto there_and_back = [](const Tensor<float, D>& view) {
    const auto back = from_dlpack<float, D>(to_dlpack(view));
    CHECK(back.shape() == view.shape());
    CHECK(back.strides() == view.strides());
    return back;
  };
  CHECK_CLOSE(there_and_back(x.select(1, 2).transpose()), Reference({4, 2}, {8, 20, 9, 21, 10, 22, 11, 23}));
  CHECK_CLOSE(there_and_back(x.slice(2, 1, 4, 2).select(0, 1)), Reference({3, 2}, {13, 15, 17, 19, 21, 23}));
  CHECK_CLOSE(there_and_back(x.at(1, 2, 3)), Reference({}, {23}));
  const Tensor<float, D> nothing = x.slice(0, 0, 0);
  CHECK(to_dlpack(nothing).get()->dl_tensor.data == nullptr);
  CHECK(there_and_back(nothing).shape() == Shape{0, 3, 4});
  CHECK(there_and_back(Tensor<float, D>{}).empty());
  // Repeated elements can be read by others, but no tensor of Locus may write to them: a copy comes back.
  const Tensor<float, D> row = arange<float, D>(3).expand({2, 3});
  CHECK(to_dlpack(row).get()->dl_tensor.strides[0] == 0);
  CHECK_THROWS_AS((void)there_and_back(row), ArgumentError);
  CHECK_CLOSE((copy_from_dlpack<float, D>(to_dlpack(row))), Reference({2, 3}, {0, 1, 2, 0, 1, 2}));
}

LOCUS_DEVICE_TEST("the memory lives as long as one of the two libraries uses it", D) {
  dlpack::Owner<dlpack::DLManagedTensorVersioned> managed;
  {
    const Tensor<float, D> x = arange<float, D>(4);
    managed = to_dlpack(x);
  }
  Tensor<float, D> y = from_dlpack<float, D>(std::move(managed));
  const Tensor<float, D> view = y.slice(0, 1, 3);
  y = {};
  CHECK_CLOSE(view, {1, 2});
  view.fill_(7);
  CHECK_CLOSE(view, {7, 7});
  // A graph keeps it, too.
  Traced<float, D> loss, w = variable(full<float, D>({2}, 2));
  loss = sum(w * trace(from_dlpack<float, D>(to_dlpack(view))));
  loss.backward();
  CHECK_CLOSE(w.grad(), {7, 7});
  // Forgotten structs free their memory.
  (void)to_dlpack<dlpack::DLManagedTensor>(view);
}

TEST_CASE("the deleter of a struct is called once, with the last tensor in its memory") {
  Library library;
  Tensor<float, Cpu> view;
  {
    auto x = from_dlpack<float>(library.lend());
    static_assert(std::is_same_v<decltype(x), Tensor<float, Cpu>>);
    CHECK(x.data() == library.values);
    x.fill_(3);
    view = x.select(0, 1);
  }
  CHECK(library.values[5] == 3);
  CHECK(library.freed == 0);
  view = {};
  CHECK(library.freed == 1);
  { const auto unused = library.lend<dlpack::DLManagedTensor>(); }
  CHECK(library.freed == 2);
  auto assigned = library.lend();
  assigned = library.lend();
  CHECK(library.freed == 3);
  assigned = {};
  CHECK(library.freed == 4);
  // Without a deleter, the memory is the other library's alone.
  auto* const kept = library.lend([](auto& given) { given.deleter = nullptr; }).release();
  (void)from_dlpack<float>(dlpack::Owner(kept));
  delete kept;
  CHECK(library.freed == 4);
}

TEST_CASE("the struct of any dlpack.h is taken and made, with a version and without") {
  Library library;
  CHECK_CLOSE(from_dlpack<float>(library.lend<header::DLManagedTensor>()), Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
  CHECK(library.freed == 1);
  const auto x = arange<float>(3);
  header::DLManagedTensor* const raw = to_dlpack<header::DLManagedTensor>(x).release();
  CHECK(raw->dl_tensor.device.device_type == header::kDLCPU);
  CHECK(raw->dl_tensor.shape[0] == 3);
  CHECK(raw->dl_tensor.strides[0] == 1);
  CHECK(raw->dl_tensor.data == x.data());
  raw->deleter(raw);
  const auto versioned = to_dlpack(x);
  CHECK(versioned.get()->version.major == 1);
  CHECK(versioned.get()->flags == 0);
}

TEST_CASE("strides that are left out, offsets in bytes, and page-locked memory") {
  Library library;
  CHECK_CLOSE(from_dlpack<float>(library.lend([](auto& given) { given.dl_tensor.strides = nullptr; })),
              Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
  library.shape = {2, 2};
  library.strides = {1, 3};
  CHECK_CLOSE(from_dlpack<float>(library.lend([](auto& given) { given.dl_tensor.byte_offset = 4; })),
              Reference({2, 2}, {1, 4, 2, 5}));
  CHECK_CLOSE(
      from_dlpack<float>(library.lend([](auto& given) { given.dl_tensor.device.device_type = dlpack::kDLCUDAHost; })),
      Reference({2, 2}, {0, 3, 1, 4}));
  CHECK(dlpack::Place<Pinned>::of({}).device_type == dlpack::kDLCUDAHost);
}

TEST_CASE("a copy reads memory that no tensor may write to") {
  Library library;
  const auto read_only = [](auto& given) { given.flags = dlpack::read_only; };
  const auto refused = message_of<ArgumentError>([&] { (void)from_dlpack<float>(library.lend(read_only)); });
  CHECK(refused ==
        "from_dlpack: the memory is read-only, and a tensor can write to its own; copy it, by "
        "copy_from_dlpack");
  auto copy = copy_from_dlpack<float>(library.lend(read_only));
  CHECK(library.freed == 2);
  CHECK(copy.is_contiguous());
  copy.fill_(1);
  CHECK(library.values[0] == 0);
  library.strides = {-3, 1};  // as x[::-1] of NumPy
  CHECK_CLOSE(copy_from_dlpack<float>(library.lend([&](auto& given) { given.dl_tensor.data = library.values + 3; })),
              Reference({2, 3}, {3, 4, 5, 0, 1, 2}));
  library.strides = {1, 1};  // windows
  CHECK_CLOSE(copy_from_dlpack<float>(library.lend()), Reference({2, 3}, {0, 1, 2, 1, 2, 3}));
  library.strides = {INT64_MIN, 1};
  CHECK_THROWS_AS((void)copy_from_dlpack<float>(library.lend()), ShapeError);
}

TEST_CASE("a struct that is no tensor of this type is refused, and stays the caller's") {
  const auto type = [](std::uint8_t code, std::uint8_t bits, std::uint16_t lanes) {
    return refusal<ArgumentError>([=](Library&, auto& given) { given.dl_tensor.dtype = {code, bits, lanes}; });
  };
  CHECK(type(dlpack::kDLFloat, 64, 1) ==
        "from_dlpack: the elements are float64, and the tensor would hold float32; name the type of the elements, and "
        "convert with .as<T>(); with_dlpack finds the type");
  CHECK(contains(type(dlpack::kDLFloat, 32, 4), "the elements are float32 in vectors of 4"));
  CHECK(contains(type(dlpack::kDLComplex, 64, 1), "complex64"));
  CHECK(contains(type(10, 8, 1), "the type of code 10"));
  const auto place = [](std::int32_t where, std::int32_t ordinal) {
    return refusal<DeviceError>([=](Library&, auto& given) {
      given.dl_tensor.device = {static_cast<dlpack::DLDeviceType>(where), ordinal};
    });
  };
  CHECK(place(dlpack::kDLCUDA, 1) ==
        "from_dlpack: the memory is on cuda:1, and the tensor would be on cpu; copy it in the other library, as by "
        "x.cpu() of PyTorch, or name the place of the memory, as in from_dlpack<float, Cuda>");
  CHECK(contains(place(dlpack::kDLROCM, 0), "rocm:0"));
  CHECK(contains(place(5, 0), "a device of unknown type 5"));
  CHECK(contains(place(-1, 0), "a device of unknown type -1"));
}

TEST_CASE("a malformed struct is refused") {
  const auto rank = [](std::int32_t ndim) {
    return refusal<ShapeError>([=](Library&, auto& given) { given.dl_tensor.ndim = ndim; });
  };
  CHECK(rank(100) == "from_dlpack: a tensor of 100 dimensions; expected 0 to 8: reshape it in the other library");
  CHECK(contains(rank(-1), "-1 dimensions"));
  const auto shape = [](std::vector<std::int64_t> extents, std::vector<std::int64_t> strides) {
    return [=](Library& library, auto& given) {
      library.shape = extents;
      library.strides = strides;
      given.dl_tensor.shape = library.shape.data();
      given.dl_tensor.strides = library.strides.data();
    };
  };
  CHECK(refusal<ShapeError>(shape({-2, 3}, {3, 1})) ==
        "from_dlpack: shape (-2, 3) has a negative extent; expected 0 or more");
  CHECK(contains(refusal<ShapeError>(shape({INT64_MAX, 2}, {2, 1})), "2^63"));
  CHECK(contains(refusal<ShapeError>(shape({3, 3}, {INT64_MAX, INT64_MAX})), "2^63 bytes"));
  CHECK(refusal<ArgumentError>(shape({2, 3}, {1, 1})) ==
        "from_dlpack: with strides (1, 1), elements of shape (2, 3) may share memory; expected one place for each: "
        "copy it, by copy_from_dlpack");
  CHECK(refusal<ArgumentError>(shape({2, 3}, {-3, 1})) ==
        "from_dlpack: strides (-3, 1); expected none below 0: copy it, by copy_from_dlpack");
  CHECK(contains(refusal<ArgumentError>([](Library&, auto& given) { given.dl_tensor.data = nullptr; }),
                 "a null pointer for 6 elements of shape (2, 3)"));
  CHECK(contains(refusal<ArgumentError>([](Library&, auto& given) { given.dl_tensor.shape = nullptr; }),
                 "a null pointer to the shape"));
  CHECK(contains(refusal<ArgumentError>([](Library&, auto& given) { given.dl_tensor.byte_offset = 2; }),
                 "no multiple of the 4 bytes"));
  CHECK(contains(refusal<ArgumentError>([](Library&, auto& given) { given.dl_tensor.byte_offset = UINT64_MAX; }),
                 "past the end of memory"));
  CHECK(refusal<ArgumentError>([](Library&, auto& given) {
          given.version = {2, 3};
        }) == "from_dlpack: a struct of DLPack 2.3; expected 1.x: ask the other library for it, as max_version");
}

TEST_CASE("random structs become tensors without overflow and overlap, or are refused") {
  constexpr std::int64_t extents[] = {-1, 0, 1, 1, 2, 2, 3, 5, std::int64_t{1} << 31, std::int64_t{1} << 62, INT64_MAX};
  constexpr std::int64_t steps[] = {0,  1,         1,         2,        3,         6,
                                    -1, INT64_MIN, INT64_MAX, 10000000, INT32_MAX, -(std::int64_t{1} << 61)};
  std::mt19937_64 random(fuzz_seed(1));
  int accepted = 0, refused = 0;
  for (std::int64_t i = 0, count = fuzz_count(5000); i < count; ++i) {
    Library library;
    const auto rank = random() % 6;
    library.shape.resize(rank), library.strides.resize(rank);
    for (auto& extent : library.shape) extent = extents[random() % std::size(extents)];
    for (auto& stride : library.strides) stride = steps[random() % std::size(steps)];
    try {
      const auto x = from_dlpack<float>(library.lend());
      ++accepted;
      const auto [begin, end] = x.layout().span();
      CHECK(begin == 0);
      CHECK(static_cast<std::uint64_t>(end) * sizeof(float) == x.buffer().bytes());
      CHECK_FALSE(x.layout().shares_elements());
    } catch (const Error&) {
      ++refused;
    }
    CHECK(library.freed == 1);
  }
  CHECK(accepted > 100);
  CHECK(refused > 100);
}

TEST_CASE("a struct is used once") {
  Library library;
  auto managed = library.lend();
  const auto x = from_dlpack<float>(std::move(managed));
  const auto again = message_of<ArgumentError>([&] { (void)from_dlpack<float>(std::move(managed)); });
  CHECK(again ==
        "from_dlpack: there is no tensor: a struct of DLPack is used once; ask the other library for another one");
  CHECK_THROWS_AS((void)from_dlpack<float>(dlpack::Owner<dlpack::DLManagedTensor>{}), ArgumentError);
}

TEST_CASE("the GPU of the memory") {
  Library library;
  const auto on = [&](std::int32_t ordinal) {
    return library.lend([=](auto& given) { given.dl_tensor.device = {dlpack::kDLExtDev, ordinal}; });
  };
  CHECK(from_dlpack<float, Counting>(on(3)).device() == Counting{3});
  CHECK(from_dlpack<float>(on(1), Counting{1}).device() == Counting{1});
  CHECK(contains(message_of<DeviceError>([&] { (void)from_dlpack<float>(on(1), Counting{0}); }),
                 "the memory is on an extension device:1, and the tensor would be on counting:0"));
#if !LOCUS_CUDA
  const auto on_gpu = [&] { return library.lend([](auto& given) { given.dl_tensor.device = {dlpack::kDLCUDA, 0}; }); };
  CHECK_THROWS_AS((void)(from_dlpack<float, Cuda>(on_gpu())), CudaUnavailable);
  CHECK_THROWS_AS((with_dlpack(on_gpu(), []<class T, class D>(const Tensor<T, D>&) {})), CudaUnavailable);
#endif
}

TEST_CASE("a function that is compiled for the types that it takes") {
  Library library;
  const auto name = []<class T>(const Tensor<T, Cpu>&) { return dtype_name<T>(); };
  CHECK(with_dlpack(library.lend(), name) == "float32");
  CHECK(with_dlpack(to_dlpack(zeros<std::uint16_t>({2})), name) == "uint16");
  CHECK(with_dlpack(to_dlpack(zeros<bool>(Shape{})), name) == "bool");
  const auto any = []<class T, class D>(const Tensor<T, D>& x) { return x.elements(); };
  CHECK(with_dlpack(library.lend<dlpack::DLManagedTensor>(), any) == 6);
  std::int64_t seen = 0;
  with_dlpack(to_dlpack(zeros<std::int64_t>({3})), [&](const Tensor<std::int64_t, Cpu>& x) { seen = x.size(0); });
  CHECK(seen == 3);
  auto unwanted = library.lend();
  const auto refused = message_of<ArgumentError>(
      [&] { with_dlpack(std::move(unwanted), []<IntegerDType T>(const Tensor<T, Cpu>&) {}); });
  CHECK(contains(refused, "with_dlpack: the function takes no tensor of float32 on cpu"));
  CHECK(unwanted);
  CHECK(contains(message_of<DeviceError>([&] {
                   with_dlpack(library.lend([](auto& given) { given.dl_tensor.device.device_type = dlpack::kDLMetal; }),
                               any);
                 }),
                 "the memory is on metal:0, and the tensor would be on cpu or cuda"));
}

#if LOCUS_CUDA
TEST_CASE("streams of two libraries on a GPU") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  cudaStream_t theirs = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&theirs, cudaStreamNonBlocking) == cudaSuccess);
  const auto number = reinterpret_cast<std::intptr_t>(theirs);
  const std::vector<float> expected(1 << 20, 3);
  std::vector<float> found(expected.size());
  for (int round = 0; round < 3; ++round) {  // they read what was queued here
    const Tensor<float, Cuda> x = full<float, Cuda>({1 << 20}, 1) + 2;
    const auto managed = to_dlpack(x, {.stream = number});
    REQUIRE(cudaMemcpyAsync(found.data(), managed.get()->dl_tensor.data, found.size() * sizeof(float),
                            cudaMemcpyDeviceToHost, theirs) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(theirs) == cudaSuccess);
    CHECK(found == expected);
  }
  const Tensor<float, Cuda> memory = zeros<float, Cuda>({1 << 20});
  for (int round = 0; round < 3; ++round) {  // and the other way round
    auto managed = to_dlpack(memory, {.stream = number});
    REQUIRE(cudaMemcpyAsync(memory.data(), expected.data(), found.size() * sizeof(float), cudaMemcpyHostToDevice,
                            theirs) == cudaSuccess);
    const auto y = from_dlpack<float, Cuda>(std::move(managed), {.stream = number});
    CHECK_CLOSE(sum(y), Reference({}, {3.0 * (1 << 20)}));
    y.fill_(0);
  }
  REQUIRE(cudaStreamDestroy(theirs) == cudaSuccess);
  CHECK(cuda::number_of_stream({}) == reinterpret_cast<std::intptr_t>(cuda::stream()));
  CHECK(contains(message_of<ArgumentError>([&] { (void)to_dlpack(memory, {.stream = 0}); }), "stream 0; expected"));
  CHECK(contains(message_of<ArgumentError>([&] { (void)to_dlpack(memory, {.stream = -7}); }), "stream -7; expected"));
  CHECK_CLOSE((from_dlpack<float, Cuda>(to_dlpack(memory, {.stream = 2}), {.stream = -1}).slice(0, 0, 2)), {0, 0});
  CHECK(contains(message_of<DeviceError>([&] { (void)from_dlpack<float>(to_dlpack(memory)); }), "on cuda:0"));
  CHECK(with_dlpack(to_dlpack(memory), []<class D>(const Tensor<float, D>& x) { return x.elements(); }) == 1 << 20);
  Library library;
  CHECK(contains(message_of<ArgumentError>([&] {
                   (void)from_dlpack<float, Cuda>(
                       library.lend([](auto& given) { given.dl_tensor.device.device_type = dlpack::kDLCUDA; }));
                 }),
                 "from_dlpack: the memory is the host's"));
}
#endif
