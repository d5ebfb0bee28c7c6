// Runs on: host, cuda (rows), reference.
// Attention and its layer against PyTorch, float64 and finite differences; that scores are not stored; refusals.

#include <locus/autograd/gradcheck.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>
#include <locus/ops/rotary.hpp>
#include <locus/ops/rotary_tables.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// No tensors: not a call, rather than an error within the library.
template <class X>
concept Turns = requires(const X& x, const Tensor<float>& table) { rotary(x, table, table); };
static_assert(Turns<Tensor<float>> && !Turns<std::vector<float>> && !Turns<float>);

/// A mask of marks, as PyTorch's numbers have it: 0 or 1.
template <class D>
Tensor<bool, D> marks(const char* name) {
  return golden::tensor<bool, D>(name);
}

/// Softmax of all scores at once, in float64.
template <class T, class D>
Tensor<double, D> whole(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v, bool is_causal) {
  const auto in_double = [](const auto& x) { return x.template as<double>(); };
  auto scores = (matmul(in_double(q), in_double(k).transpose()) / std::sqrt(static_cast<double>(q.size(-1)))).eval();
  if (is_causal) {
    const auto rows = arange<double>(0., static_cast<double>(q.size(-2)), 1., q.device()).unsqueeze(1);
    scores =
        where(arange<double>(0., static_cast<double>(k.size(-2)), 1., q.device()) <= rows, scores, -infinity).eval();
  }
  return matmul(softmax(scores, -1), in_double(v));
}

struct Settings {
  bool is_causal = false;
  double dropout = 0;
};
/// Attention in parts of so many bytes, of 3 rows or more; 0: by the device's own kernels, where it has any.
template <class T, class D>
auto in_parts(std::int64_t bytes, const Settings& settings, const auto& q, const auto& k, const auto& v,
              const Tensor<bool, D>& mask = {}) {
  operation::Attention<T, D, true> op;
  op.settings.is_causal = settings.is_causal, op.settings.fuses = bytes == 0;
  if (bytes > 0) op.settings.bytes = bytes;
  if (mask.buffer()) op.settings.masks[0].marks = detail::as_bytes(detail::mask_as_heads(mask, mask.shape()));
  detail::draw_attention(op.settings, true, settings.dropout, q.elements() * k.size(-2), [&](std::int64_t count) {
    Generator<D> numbers{11, 5};
    return Draw(count, numbers, q.device());
  });
  return apply(op, q, k, v);
}

template <class T, class D>
void check_parts(const Shape& batch, std::int64_t l, std::int64_t s, double allowed) {
  const auto of = [&](std::int64_t rows, std::int64_t width, std::uint64_t seed) {
    Shape shape = batch;
    shape.push_back(rows), shape.push_back(width);
    return sample<T, D>(shape, seed);
  };
  const auto check = [&](bool is_causal, double dropout) {
    CAPTURE(is_causal);
    CAPTURE(dropout);
    const auto q = variable(of(l, 5, 1)), k = variable(of(s, 5, 2)), v = variable(of(s, 3, 3));
    const auto q2 = variable(q.value()), k2 = variable(k.value()), v2 = variable(v.value());
    const auto g = of(l, 3, 4);
    const auto y = in_parts<T, D>(0, {is_causal, dropout}, q, k, v);
    if (dropout == 0) CHECK_CLOSE(y, reference(whole(q.value(), k.value(), v.value(), is_causal)), allowed);
    y.backward(g);
    for (const std::int64_t bytes : {1, 900, 3000}) {
      CAPTURE(bytes);
      for (const int times : {1, 2}) {  // the second is added to the first
        const auto added_up = [&](const auto& gradient) {
          auto numbers = reference(gradient);
          for (double& number : numbers.values) number *= times;
          return numbers;
        };
        const auto y2 = in_parts<T, D>(bytes, {is_causal, dropout}, q2, k2, v2);
        CHECK_CLOSE(y2, reference(y), allowed);
        y2.backward(g);
        CHECK_CLOSE(q2.grad(), added_up(q.grad()), times * allowed);
        CHECK_CLOSE(k2.grad(), added_up(k.grad()), 2 * times * allowed);
        CHECK_CLOSE(v2.grad(), added_up(v.grad()), 2 * times * allowed);
      }
      q2.zero_grad(), k2.zero_grad(), v2.zero_grad();
    }
  };
  for (const bool is_causal : {false, true})
    for (const double dropout : {0., 0.25}) check(is_causal, dropout);
}

}  // namespace

LOCUS_DEVICE_TEST("attention and its gradients agree with PyTorch", D) {
  const auto check = [](const std::string& name, const AttentionOptions<double, D>& options) {
    CAPTURE(name);
    const auto of = [&](const char* part) { return variable(golden::tensor<double, D>(name + part)); };
    const auto q = of("_q"), k = of("_k"), v = of("_v");
    CHECK_GOLDEN(name, scaled_dot_product_attention(q, k, v, options), ({"q", "k", "v"}), q, k, v);
    CHECK_CLOSE(scaled_dot_product_attention(q.value(), k.value(), v.value(), options), golden::reference(name), 1e-10);
  };
  check("attention_plain", {});
  check("attention_causal", {.is_causal = true, .scale = 0.3});
  check("attention_marked", {.mask = marks<D>("attention_marks")});  // the last query attends to nothing
  const auto left_out = marks<D>("attention_left_out");
  const auto added = where(left_out, -infinity, golden::tensor<double, D>("attention_numbers"));
  check("attention_added", {.mask = added});
}

LOCUS_DEVICE_TEST("heads that share keys and values agree with PyTorch, of any strides", D) {
  const auto leaf = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  {
    const auto q = leaf("grouped_q"), k = leaf("grouped_k"), v = leaf("grouped_v");
    const auto y = scaled_dot_product_attention(q, k, v, {.is_causal = true, .enable_gqa = true});
    CHECK_GOLDEN("grouped", y, ({"q", "k", "v"}), q, k, v);
    const auto rows_first = [](const auto& x) { return transpose(x.value().transpose(1, 2).contiguous(), 1, 2); };
    CHECK_CLOSE(scaled_dot_product_attention(rows_first(q), rows_first(k), rows_first(v),
                                             {.is_causal = true, .enable_gqa = true}),
                golden::reference("grouped"), 1e-10);
  }
  const auto q = leaf("grouped_marked_q"), k = leaf("grouped_marked_k"), v = leaf("grouped_marked_v");
  const auto mask = marks<D>("grouped_marks");
  CHECK_GOLDEN("grouped_marked", scaled_dot_product_attention(q, k, v, {.mask = mask, .enable_gqa = true}),
               ({"q", "k", "v"}), q, k, v);
  const Parameter<double, D> learned(k.value());
  scaled_dot_product_attention(q, learned, v, {.mask = mask, .enable_gqa = true})
      .backward(golden::tensor<double, D>("grouped_marked_cotangent"));
  CHECK_CLOSE(learned.grad(), golden::reference("grouped_marked_dk"), 1e-10);
  const auto none = q.value().slice(1, 0, 0);  // no heads of queries
  CHECK(scaled_dot_product_attention(none, k.value(), v.value(), {.enable_gqa = true}).shape() == Shape{2, 0, 4, 2});
  CHECK_THROWS_AS((void)scaled_dot_product_attention(q, k, v), ShapeError);
  CHECK_THROWS_AS((void)scaled_dot_product_attention(slice(q, 1, 0, 5), k, v, {.enable_gqa = true}), ShapeError);
  CHECK_THROWS_AS((void)packed_attention(zeros<double, D>({1, 2, 6}), 2, {.enable_gqa = true}), ArgumentError);
}

LOCUS_DEVICE_TEST("rotary positions and their gradient agree with transformers", D) {
  const auto x = variable(golden::tensor<double, D>("rotary_x"));
  const auto angles = golden::tensor<double, D>("rotary_angles");
  const Tensor<double, D> cosines = cos(angles), sines = sin(angles);
  const LaunchLog forward;
  const auto y = rotary(x, cosines, sines);
  CHECK(forward.launches() == 1);
  CHECK_GOLDEN("rotary", y, ({"x"}), x);
  CHECK(gradcheck([&](const auto& in) { return rotary(in, cosines, sines); }, x.value()));
  const auto rows_first = x.value().transpose(1, 2).contiguous().transpose(1, 2);
  CHECK_CLOSE(rotary(rows_first, cosines, sines), golden::reference("rotary"), 1e-10);
  CHECK_CLOSE(rotary(x.value().template as<float>(), cosines.template as<float>(), sines.template as<float>()),
              golden::reference("rotary"), 1e-6);
  CHECK_CLOSE(rotary(x.value().template as<bfloat16>(), cosines.template as<bfloat16>(), sines.template as<bfloat16>())
                  .template as<float>(),
              golden::reference("rotary"), 3e-2);
  // Twice the same: gradients add up.
  const auto both = variable(x.value());
  (rotary(both, cosines, sines) + rotary(both, cosines, sines)).backward(golden::tensor<double, D>("rotary_cotangent"));
  CHECK_CLOSE(both.grad() * 0.5, golden::reference("rotary_dx"), 1e-10);
  CHECK_THROWS_AS((void)rotary(zeros<double, D>({4, 5}), cosines, sines), ShapeError);
  CHECK_THROWS_AS((void)rotary(zeros<double, D>({3, 6}), cosines, sines), ShapeError);
  CHECK_THROWS_AS((void)rotary(x, cosines, sines.slice(0, 0, 1)), ShapeError);
  CHECK(rotary(zeros<double, D>({0, 4, 6}), cosines, sines).shape() == Shape{0, 4, 6});
}

LOCUS_DEVICE_TEST("frequencies of rotary positions are those of transformers", D) {
  const RotaryScaling exact{.factor = 4,
                            .original_max_position_embeddings = 64,
                            .beta_fast = 8,
                            .beta_slow = 2,
                            .truncate = false,
                            .mscale = 0.7,
                            .mscale_all_dim = 0.3};
  const struct {
    const char* name;
    RotaryType type;
    double factor;
    std::int64_t trained;
    RotaryScaling rest = {};
  } cases[] = {{"default", RotaryType::plain, 1, 0},     {"linear", RotaryType::linear, 3, 0},
               {"dynamic", RotaryType::dynamic, 2, 128}, {"llama3", RotaryType::llama3, 8, 64},
               {"yarn", RotaryType::yarn, 4, 64},        {"yarn_exact", RotaryType::yarn, 4, 64, exact}};
  for (const auto& each : cases) {
    CAPTURE(each.name);
    RotaryOptions options{.theta = 500, .scaling = each.rest};
    options.scaling.type = each.type, options.scaling.factor = each.factor;
    options.scaling.original_max_position_embeddings = each.trained;
    const auto expected = golden::reference(std::string("rotary_frequencies_") + each.name).values;
    const double scale = golden::reference(std::string("rotary_scale_") + each.name).values[0];
    const auto frequencies = rotary_frequencies(16, options, 300);
    const auto [cosines, sines] = rotary_tables<float>(arange<std::int64_t>(5, D{}), 16, options, 300);
    CHECK(cosines.shape() == Shape{5, 8});
    std::vector<double> in_cosines, in_sines;
    for (std::size_t p = 0; p < 5; ++p) {
      for (const double f : expected) {
        in_cosines.push_back(scale * std::cos(static_cast<double>(p) * f));
        in_sines.push_back(scale * std::sin(static_cast<double>(p) * f));
      }
    }
    for (std::size_t i = 0; i < 8; ++i) CHECK(frequencies[i] == doctest::Approx(expected[i]).epsilon(2e-6));
    CHECK_CLOSE(cosines, (locus_test::Reference{{5, 8}, in_cosines}), 2e-6);
    CHECK_CLOSE(sines, (locus_test::Reference{{5, 8}, in_sines}), 2e-6);
  }
  CHECK_THROWS_AS((void)rotary_frequencies(7), ArgumentError);
  CHECK_THROWS_AS((void)rotary_frequencies(8, {.theta = -1}), ArgumentError);
  CHECK_THROWS_AS((void)rotary_frequencies(8, {.scaling = {.type = RotaryType::llama3, .factor = 2}}), ArgumentError);
  CHECK_THROWS_AS(
      (void)rotary_frequencies(2, {.scaling = {.type = RotaryType::dynamic, .original_max_position_embeddings = 4}}),
      ArgumentError);
}

LOCUS_DEVICE_TEST("gradients of any strides, of what is repeated, and of one tensor for several operands", D) {
  const auto q = sample<double, D>({2, 3, 2, 4}, 1), k = sample<double, D>({4, 5, 2}, 2).transpose(0, 2),  // (2, 5, 4)
      v = sample<double, D>({5, 6}, 3).slice(1, 0, 6, 2), x = sample<double, D>({2, 3, 4}, 4);
  const auto attention = [](const auto& a, const auto& b, const auto& c) {
    return scaled_dot_product_attention(a, b, c);
  };
  const auto heads = [](const auto& a) { return permute(a, {0, 2, 1, 3}); };  // (2, 2, 3, 4)
  const GradcheckResult found[] = {
      gradcheck([&](const auto& a, const auto& b, const auto& c) { return attention(heads(a), b, c); }, q, k, v),
      gradcheck([&](const auto& a) { return attention(a, a, a); }, x),
      gradcheck([&](const auto& a) { return attention(a, x, a) + a; }, x),
      gradcheck([&](const auto& a) { return scaled_dot_product_attention(a, a, x, {.is_causal = true}); }, x),
      gradcheck([&](const auto& b) { return attention(heads(q), b, v); }, k),
      gradcheck([&](const auto& c) { return attention(heads(q), k, c); }, v),
      gradcheck([&](const auto& a) { return attention(a, a, a); }, sample<double, D>({2, 1, 2, 3, 2}, 6))};
  for (const auto& each : found) CHECK_MESSAGE(each, each.what());
  const auto g = variable(x), h = variable(x);
  const auto one = ones<double>({1, 1, 4}, x.device());
  attention(g, x, x).backward(one.expand({2, 3, 4}));
  attention(h, x, x).backward(one.expand({2, 3, 4}).contiguous());
  CHECK_CLOSE(g.grad(), reference(h.grad()), 0);
}

LOCUS_DEVICE_TEST("masks broadcast, also to more than four dimensions", D) {
  const auto q = sample<double, D>({2, 1, 2, 3, 4}, 1), k = sample<double, D>({2, 3, 1, 5, 4}, 2);
  const auto whole_mask = sample<bool, D>({2, 3, 2, 3, 5}, 3);
  const auto all = reference(scaled_dot_product_attention(q, k, k));
  for (const Shape& shape : {Shape{2, 3, 2, 3, 5}, Shape{3, 1, 3, 5}, Shape{2, 3, 5}, Shape{3, 1}, Shape{5}, Shape{}}) {
    CAPTURE(shape);
    const auto mask = sample<bool, D>(shape, 4, 0, 1);
    const auto added = where(mask, zeros<double>(shape, q.device()), -infinity).eval();
    const auto y = scaled_dot_product_attention(q, k, k, {.mask = mask});
    CHECK_CLOSE(scaled_dot_product_attention(q, k, k, {.mask = mask.expand({2, 3, 2, 3, 5}).contiguous()}),
                reference(y), 0);
    CHECK_CLOSE(scaled_dot_product_attention(q, k, k, {.mask = added}), reference(y), 0);
  }
  CHECK_CLOSE(scaled_dot_product_attention(q, k, k, {.mask = whole_mask || !whole_mask}), all, 0);
  for (const Shape& batch : {Shape{2, 0, 2, 3}, Shape{2, 3, 0, 3}, Shape{2, 3, 2, 0}}) {  // nothing to compute
    CAPTURE(batch);
    Shape empty = batch, mask = batch;
    empty.push_back(4), mask.push_back(3);
    const Tensor<double, D> keys({batch[0], batch[1], batch[2], 3, 4}, q.device());
    CHECK(scaled_dot_product_attention(Tensor<double, D>(empty), keys, keys, {.mask = Tensor<bool, D>(mask)}).shape() ==
          empty);
  }
  // Masks are read again for gradients.
  const auto traced = variable(q);
  const auto numbers = zeros<double>({5}, q.device());
  const auto with_marks = scaled_dot_product_attention(traced, k, k, {.mask = whole_mask});
  const auto with_numbers = scaled_dot_product_attention(traced, k, k, {.mask = numbers});
  const auto ahead = whole_mask.clone();
  whole_mask.fill_(true), numbers.fill_(1);
  CHECK_THROWS_AS(with_marks.backward(zeros<double>(with_marks.shape(), q.device())), StaleError);
  CHECK_THROWS_AS(with_numbers.backward(zeros<double>(with_numbers.shape(), q.device())), StaleError);
  whole_mask.copy_(ahead);
  const auto found = gradcheck(
      [&](const auto& a, const auto& b) {
        return scaled_dot_product_attention(a, b, b, {.mask = whole_mask, .is_causal = true});
      },
      q, k);
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("heads that lie side by side are those that are taken apart", D) {
  const auto x = sample<double, D>({2, 5, 18}, 1), one = sample<double, D>({5, 18}, 2);
  const auto mask = sample<double, D>({3, 1, 5}, 3);
  const auto apart = [&](const auto& v, int which) {  // (2, 3, 5, 2)
    return permute(reshape(slice(v, 2, 6 * which, 6 * which + 6), {2, 5, 3, 2}), {0, 2, 1, 3});
  };
  const AttentionOptions<double, D> options{.mask = mask, .is_causal = true, .scale = 0.7};
  const auto y = permute(scaled_dot_product_attention(apart(x, 0), apart(x, 1), apart(x, 2), options), {0, 2, 1, 3});
  CHECK_CLOSE(packed_attention(x, 3, options), reference(y.contiguous().reshape({2, 5, 6})), 1e-13);
  const GradcheckResult found[] = {
      gradcheck([&](const auto& v) { return packed_attention(v, 3, options); }, x),
      gradcheck([](const auto& v) { return packed_attention(v, 2) + v.slice(1, 6, 12); }, one)};
  for (const auto& each : found) CHECK_MESSAGE(each, each.what());
  CHECK_THROWS_WITH_AS((void)packed_attention(x, 4), doctest::Contains("shape (2, 5, 18) for 4 heads"), ShapeError);
  CHECK_THROWS_AS((void)packed_attention(x, 0), ShapeError);
  CHECK_THROWS_WITH_AS((void)packed_attention(x, 0x5555555555555556),
                       doctest::Contains("for 6148914691236517206 heads"),
                       ShapeError);  // three times as many do not fit an int64_t
}

LOCUS_DEVICE_TEST("parts of any size give what all scores at once give", D) {
  check_parts<double, D>({2, 3}, 7, 9, 1e-13);
  check_parts<float, D>({3}, 9, 4, 5e-6);
  if constexpr (locus_test::all_dtypes<D>) {
    check_parts<half, D>({2, 2}, 6, 5, 6e-3);
    if constexpr (HostAccessible<D>) check_parts<bfloat16, D>({}, 5, 8, 5e-2);  // whose loops are its own on hosts
  }
}

LOCUS_DEVICE_TEST("more rows than a causal part has, and odd sizes", D) {
  for (const auto& lengths : {std::pair<std::int64_t, std::int64_t>{261, 131}, {131, 261}, {1, 33}, {33, 1}}) {
    const std::int64_t l = lengths.first, s = lengths.second;
    CAPTURE(l);
    const auto q = sample<float, D>({2, l, 3}, 1), k = sample<float, D>({2, s, 3}, 2),
               v = sample<float, D>({2, s, 2}, 3);
    for (const bool is_causal : {false, true}) {
      const auto y = scaled_dot_product_attention(q, k, v, {.is_causal = is_causal});
      CHECK_CLOSE(y, reference(whole(q, k, v, is_causal)), 4e-6);
    }
  }
}

/// A device's own attention beside products, for heads of any strides and more than one tile.
template <class T, class D>
void check_fused(std::int64_t rows, std::int64_t keys, std::int64_t width, std::int64_t value_width, double allowed) {
  CAPTURE(rows);
  CAPTURE(width);
  const auto mask = sample<bool, D>({1, 1, rows, keys}, 5, 0, 1) || sample<bool, D>({2, 1, 1, keys}, 6, 0, 1);
  for (const auto& settings : {Settings{}, Settings{true, 0.25}}) {
    const auto heads = [&](std::int64_t l, std::int64_t e, std::uint64_t seed) {  // (2, 1, l, e), beside each other
      return variable(sample<T, D>({2, l, e + 1}, seed).slice(2, 0, e).unsqueeze(1));
    };
    const auto q = heads(rows, width, 1), k = heads(keys, width, 2), v = heads(keys, value_width, 3);
    const auto q2 = variable(q.value().clone()), k2 = variable(k.value().clone()), v2 = variable(v.value().clone());
    const auto y = in_parts<T, D>(0, settings, q, k, v, mask), y2 = in_parts<T, D>(1 << 20, settings, q2, k2, v2, mask);
    CHECK_CLOSE(y, reference(y2), allowed);
    const auto g = sample<T, D>(y.shape(), 4);
    y.backward(g), y2.backward(g);
    CHECK_CLOSE(q.grad(), reference(q2.grad()), allowed);
    CHECK_CLOSE(k.grad(), reference(k2.grad()), 2 * allowed);
    CHECK_CLOSE(v.grad(), reference(v2.grad()), 2 * allowed);
  }
}

LOCUS_DEVICE_TEST("a device's own attention gives what products give", D) {
  if constexpr (AttendingDevice<D, float>) {
    check_fused<float, D>(70, 130, 8, 12, 2e-6);
    check_fused<float, D>(130, 66, 71, 100, 2e-6);
    check_fused<half, D>(65, 67, 20, 24, 6e-3);
    check_fused<bfloat16, D>(3, 70, 66, 2, 5e-2);
    check_fused<double, D>(66, 70, 64, 9, 1e-13);
    check_fused<double, D>(2, 3, 65, 1, 1e-13);  // too wide: products alone
  }
}

LOCUS_DEVICE_TEST("16 bits keep the digits that they have", D) {
  if constexpr (locus_test::all_dtypes<D>) {
    const auto q = sample<half, D>({2, 12, 16}, 1), k = sample<half, D>({2, 20, 16}, 2),
               v = sample<half, D>({2, 20, 8}, 3);
    CHECK_CLOSE(scaled_dot_product_attention(q, k, v), reference(whole(q, k, v, false)), 4e-3);
    // Products of 80,000 are no half before they are scaled.
    const auto large = full<half>({1, 2, 16}, half(70.f), q.device());
    CHECK_CLOSE(scaled_dot_product_attention(large, large, v.slice(0, 0, 1).slice(1, 0, 2)),
                reference(mean(v.slice(0, 0, 1).slice(1, 0, 2), 1, true).eval().expand({1, 2, 8})), 2e-3);
  }
}

LOCUS_DEVICE_TEST("dropout drops weights of traced operands, again in the backward pass", D) {
  const auto q = sample<double, D>({2, 4, 3}, 1), k = sample<double, D>({2, 5, 3}, 2),
             v = sample<double, D>({2, 5, 2}, 3);
  const auto eye =
      (arange<double>(0., 5., 1., q.device()).unsqueeze(1) == arange<double>(0., 5., 1., q.device())).eval();
  const auto identity = where(eye, 1., zeros<double>({5, 5}, q.device())).eval();
  const auto dropped = [&](const auto& a, const auto& b, const auto& c) {
    Generator<D> numbers{11, 5};
    return scaled_dot_product_attention(a, b, c, {.dropout = 0.25}, numbers);
  };
  Generator<D> one{11, 5};
  const auto weights = scaled_dot_product_attention(q, k, identity);
  const auto kept = bernoulli<double>(0.75, {2, 4, 5}, one);
  CHECK_CLOSE(dropped(trace(q), k, identity), reference(weights * kept / 0.75));
  const auto found = gradcheck(
      [&](const auto& a, const auto& b, const auto& c) {  // of plain tensors, too
        if constexpr (requires { a.node(); }) return dropped(a, b, c);
        else return dropped(trace(a), b, c).value();
      },
      q, k, v);
  CHECK_MESSAGE(found, found.what());
  CHECK_CLOSE(dropped(q, k, v), reference(scaled_dot_product_attention(q, k, v)), 0);
  const auto packed = sample<double, D>({2, 4, 9}, 4);
  const auto third = [&](int i) { return packed.slice(2, 3 * i, 3 * i + 3); };
  Generator<D> again{11, 5};
  CHECK_CLOSE(packed_attention(trace(packed), 1, {.dropout = 0.25}, again),
              reference(dropped(trace(third(0)), third(1), third(2))));
  CHECK_CLOSE(dropped(frozen(trace(q)), k, v), reference(scaled_dot_product_attention(q, k, v)), 0);
  const auto drawn = [&] {
    manual_seed(7);
    return reference(scaled_dot_product_attention(trace(q), k, v, {.dropout = 0.5}));
  };
  CHECK(drawn().values == drawn().values);
  CHECK_CLOSE(scaled_dot_product_attention(trace(q), k, v, {.dropout = 1}), std::vector<double>(16, 0.));
}

LOCUS_DEVICE_TEST("a query that attends to nothing gives zeros; NaN stays in its rows, and masked scores do not count",
                  D) {
  auto q = sample<float, Cpu>({3, 2}, 1), k = sample<float, Cpu>({4, 2}, 2);
  const auto v = sample<float, D>({4, 2}, 3);
  const auto y = reference(scaled_dot_product_attention(q.to<D>(), k.to<D>(), v));
  q(1, 0) = std::nanf("");
  const auto with_nan = reference(scaled_dot_product_attention(q.to<D>(), k.to<D>(), v));
  for (const std::size_t i : {0u, 1u, 4u, 5u}) CHECK(with_nan.values[i] == y.values[i]);
  CHECK((std::isnan(with_nan.values[2]) && std::isnan(with_nan.values[3])));
  q(1, 0) = 1, k(2, 1) = std::nanf("");
  const auto mask = locus_test::tensor<bool, D>({3, 4}, {1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0});
  const auto traced = variable(q.to<D>());
  const auto masked = scaled_dot_product_attention(traced, k.to<D>(), v, {.mask = mask});
  const auto values = reference(masked).values;
  CHECK((std::isfinite(values[0]) && values[2] == 0 && values[3] == 0 && std::isnan(values[4])));
  masked.slice(0, 0, 2).backward(ones<float>({2, 2}, v.device()));
  CHECK(reference(traced.grad()).values[2] == 0);
}

LOCUS_DEVICE_TEST("no batches, no queries, no keys, no width", D) {
  const auto check = [](const Shape& q, const Shape& k, const Shape& v, std::vector<double> expected) {
    const auto a = variable(sample<float, D>(q, 1)), b = variable(sample<float, D>(k, 2)),
               c = variable(ones<float, D>(v));
    const auto y = scaled_dot_product_attention(a, b, c, {.is_causal = q.rank() == 3});
    CHECK_CLOSE(y, expected);
    y.backward(ones<float, D>(y.shape()));
    CHECK_CLOSE(a.grad(), std::vector<double>(static_cast<std::size_t>(elements(q)), 0.));
    CHECK(b.grad().shape() == k);
    CHECK(c.grad().shape() == v);
  };
  check({0, 3, 2}, {0, 4, 2}, {0, 4, 2}, {});
  check({2, 0, 2}, {2, 4, 2}, {2, 4, 2}, {});
  check({2, 2}, {0, 2}, {0, 1}, {0, 0});
  check({2, 0}, {3, 0}, {3, 1}, {1, 1});
  check({2, 2}, {3, 2}, {3, 0}, {});
}

LOCUS_DEVICE_TEST("launches are as many as promised", D) {
  const auto q = variable(sample<float, D>({2, 3, 4, 5}, 1)), k = variable(sample<float, D>({2, 3, 6, 5}, 2)),
             v = variable(sample<float, D>({2, 3, 6, 2}, 3));
  const auto count = [&](const auto& attention, int forward, int forward_products, int backward, int products) {
    const LaunchLog of_forward;
    const auto y = attention();
    constexpr int more = locus_test::most_of_product - 1;
    locus_test::check_launches<D>("attention", of_forward.launches(), forward, forward + more * forward_products);
    const auto g = sample<float, D>(y.shape(), 4);
    const LaunchLog of_backward;
    y.backward(g);
    locus_test::check_launches<D>("backward", of_backward.launches(), backward, backward + more * products);
  };
  const auto mask = sample<bool, D>({2, 3, 4, 6}, 5);
  const auto by_products = [&](const Settings& settings, const Tensor<bool, D>& marks) {
    return [&, settings, marks] { return in_parts<float, D>(1 << 20, settings, q, k, v, marks); };
  };
  count(by_products({}, {}), 4, 2, 7, 5);
  count(by_products({}, mask), 5, 2, 8, 5);
  count(by_products({.is_causal = true}, {}), 6, 2, 9, 5);  // the triangle is made for all parts
  // Heads side by side: where that saves launches, copies of k, v and y; of q, k, v, g and three gradients.
  const auto x = variable(sample<float, D>({4, 4, 3 * 6}, 6));
  const auto packed = [&] {
    operation::PackedAttention<float, D, true> op;
    op.settings.fuses = false, op.heads = 3;
    return apply(op, x);
  };
  if constexpr (!HostAccessible<D>) count(packed, 7, 2, 14, 5);
  if constexpr (AttendingDevice<D, float>) {
    const AttentionOptions<float, D> options{.mask = mask, .is_causal = true};
    count([&] { return scaled_dot_product_attention(q, k, v, options); }, 1, 0, 3, 0);
  }
}

#if !LOCUS_CUDA
TEST_CASE("scores are never stored whole") {
  using D = locus_test::Counting;
  const std::int64_t n = 2048, bytes = detail::score_bytes<Cpu>;
  CHECK(4 * bytes < n * n * 4);  // the most for sequences of any length
  const auto x = variable(sample<float, D>({1, 1, n, 8}, 1));
  const auto g = sample<float, D>({1, 1, n, 8}, 2);
  for (const bool is_causal : {false, true}) {
    const std::int64_t before = locus_test::restart_peak();
    const auto y = in_parts<float, D>(bytes, {is_causal}, x, x, x);
    CHECK(locus_test::counting_peak - before <= n * n * 4 / 12);
    y.backward(g);
    CHECK(locus_test::counting_peak - before <= n * n * 4 / 6);  // gradients besides
    x.zero_grad();
  }
}
#endif

LOCUS_DEVICE_TEST("the layer and its gradients agree with PyTorch", D) {
  using Layer = nn::MultiheadAttention<double, D>;
  using Masks = nn::MultiheadAttentionMasks<double, D>;
  const auto filled = [](const std::string& name, const Layer& layer) {
    for (const auto& [key, parameter] : layer.named_parameters())
      parameter.value().copy_(golden::tensor<double, D>(name + "_" + key));
    return layer;
  };
  const auto of = [](const std::string& name) { return variable(golden::tensor<double, D>(name)); };
  const Masks masks{.key_padding_mask = marks<D>("multihead_padding"), .attn_mask = marks<D>("multihead_mask")};
  const auto check_self = [&](const auto& call) {
    const Layer layer = filled("multihead_self", Layer{4, 2});
    const auto x = of("multihead_x");
    CHECK_GOLDEN("multihead_self", call(layer, x),
                 ({"x", "in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}), x, layer.in_proj_weight,
                 layer.in_proj_bias, layer.out_proj.weight, layer.out_proj.bias);
    CHECK_CLOSE(call(layer, x.value()), golden::reference("multihead_self"), 1e-10);
  };
  check_self([&](const auto& layer, const auto& x) { return layer(x, masks); });
  check_self([&](const auto& layer, const auto& x) {
    return layer(x, {.key_padding_mask = masks.key_padding_mask, .is_causal = true});
  });
  check_self([&](const auto& layer, const auto& x) { return layer(x, x, x, masks); });
  check_self([&](const auto& layer, const auto& x) {
    const auto numbers = where(masks.key_padding_mask.marks(), -infinity, zeros<double>({2, 4}, x.device()));
    return layer(x, {.key_padding_mask = numbers, .attn_mask = masks.attn_mask});
  });
  check_self([&](const auto& layer, const auto& x) {
    const auto [output, weights] = layer.with_weights(x, masks);
    CHECK_CLOSE(weights, golden::reference("multihead_self_weights"), 1e-10);
    const Masks causal{.key_padding_mask = masks.key_padding_mask, .is_causal = true};
    CHECK_CLOSE(layer.with_weights(x, causal).weights, reference(weights), 1e-12);
    return output;
  });
  const Layer layer = filled("multihead_self", Layer{4, 2});
  const auto one = golden::tensor<double, D>("multihead_one");
  CHECK_CLOSE(layer(one), golden::reference("multihead_self_one"), 1e-10);
  CHECK(layer.with_weights(one).weights.shape() == Shape{4, 4});

  const Masks each{.attn_mask = golden::tensor<double, D>("multihead_each")};
  const auto operands = [&](const std::string& name) {
    return Tuple(of(name + "_query"), of(name + "_key"), of(name + "_value"));
  };
  {
    const Layer cross = filled("multihead_cross", Layer{4, 2});
    const auto [query, key, value] = operands("multihead_cross");
    const auto [output, weights] = cross.with_weights(query, key, value, each);
    CHECK_GOLDEN("multihead_cross", output,
                 ({"query", "key", "value", "in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}),
                 query, key, value, cross.in_proj_weight, cross.in_proj_bias, cross.out_proj.weight,
                 cross.out_proj.bias);
    CHECK_CLOSE(weights, golden::reference("multihead_cross_weights"), 1e-10);
    // More keys than queries, of which those behind all queries are not computed.
    const Masks marked{.attn_mask = masks.attn_mask.marks().slice(0, 0, 3)};
    const auto expected = reference(cross.with_weights(query, key, value, marked).weights);
    for (int i = 0; i < 2; ++i)
      (void)full<double>({2, 3, 4}, 7., query.device());  // which memory may be given out again
    CHECK_CLOSE(cross.with_weights(query, key, value, {.is_causal = true}).weights, expected, 1e-12);
  }
  const Layer wide = filled("multihead_wide", Layer{4, 2, {.bias = false, .kdim = 3, .vdim = 5}});
  const auto [query, key, value] = operands("multihead_wide");
  CHECK_GOLDEN("multihead_wide", wide(query, key, value, each),
               ({"query", "key", "value", "q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"}), query,
               key, value, wide.q_proj_weight, wide.k_proj_weight, wide.v_proj_weight, wide.out_proj.weight);
}

LOCUS_DEVICE_TEST(
    "the layer has PyTorch's names and first values, drops in training alone, and is copied and converted", D) {
  manual_seed(3);
  const nn::MultiheadAttention<float, D> layer{24, 4, {.dropout = 0.5}};
  std::string names;
  for (const auto& [name, parameter] : layer.named_parameters())
    names += name + " " + to_string(parameter.shape()) + "; ";
  CHECK(names == "in_proj_weight (72, 24); in_proj_bias (72,); out_proj.weight (24, 24); out_proj.bias (24,); ");
  const auto largest = [](const auto& parameter) { return reference(max(abs(parameter.value()))).values[0]; };
  CHECK(largest(layer.in_proj_weight) <= std::sqrt(6.0 / 96));
  CHECK(largest(layer.in_proj_weight) > 0.9 * std::sqrt(6.0 / 96));
  CHECK(largest(layer.out_proj.weight) <= 1 / std::sqrt(24.0));
  CHECK(largest(layer.in_proj_bias) + largest(layer.out_proj.bias) == 0);

  const auto x = sample<float, D>({2, 6, 24}, 1);
  const auto plain = reference(layer(x));
  CHECK_CLOSE(layer(frozen(trace(x))), plain, 0);
  const auto [output, weights] = layer.with_weights(trace(x));
  CHECK(reference(output).values != plain.values);
  CHECK(reference(weights).values != reference(layer.with_weights(x).weights).values);
  const nn::MultiheadAttention<float, D> one{24, 1, {.dropout = 0.5}};  // with one head, the weights are the head's
  const auto seen = one.with_weights(trace(x));
  const auto values = linear(x, one.in_proj_weight.value().slice(0, 48, 72));
  CHECK_CLOSE(one.out_proj(matmul(seen.weights, values)), reference(seen.output), 1e-5);
  const nn::Sequential<float, D> model{layer, nn::LayerNorm<float, D>{24}};
  CHECK_CLOSE(model.clone()(x), reference(model(x)), 0);
  const auto in_double = layer.template as<double>();
  const Tensor<double, D> x2 = x.template as<double>();
  CHECK_CLOSE(in_double(x2), plain, 1e-5);
  CHECK(reference(in_double(trace(x2))).values != reference(in_double(x2)).values);

  // Parameters meet plain keys, and are recorded if the query is traced.
  layer(trace(x), x, x).backward(x);
  CHECK(reference(sum(abs(layer.in_proj_weight.grad().slice(0, 24, 48)))).values[0] > 0);
}

LOCUS_DEVICE_TEST("a mask of (batch, l, s) counts for all heads of a text", D) {
  manual_seed(8);
  const nn::MultiheadAttention<float, D> layer{4, 2};
  const auto x = randn<float>({3, 3, 4}, D{});
  const Tensor<bool, D> mask = randn<float>({3, 3, 3}, D{}) > 0.5f;
  const auto expected = layer(
      x, {.attn_mask = mask.unsqueeze(1).expand({3, 2, 3, 3}).contiguous().reshape({6, 3, 3}), .is_causal = true});
  CHECK_CLOSE(layer(x, {.attn_mask = mask, .is_causal = true}), reference(expected), 1e-6);
  CHECK(reference(layer(x, {.is_causal = true})).values != reference(expected).values);
}

LOCUS_DEVICE_TEST("a layer with fewer heads of keys is the layer whose projections repeat them", D) {
  constexpr std::int64_t width = 12, heads = 6, kv_heads = 2, e = width / heads;
  for (const std::int64_t kdim : {std::int64_t{0}, std::int64_t{5}}) {
    const nn::MultiheadAttention<double, D> few(width, heads, {.kdim = kdim, .kv_heads = kv_heads}),
        all(width, heads, {.kdim = kdim});
    CHECK(few.parameters().size() == all.parameters().size());
    // Rows of each head of keys and values, three times.
    const auto repeated = [&](const Tensor<double, D>& rows) {
      Shape shape = rows.shape(), parts{kv_heads, 1, e}, wide{kv_heads, heads / kv_heads, e};
      if (rows.rank() == 2) parts.push_back(rows.size(1)), wide.push_back(rows.size(1));
      shape[0] = width;
      return rows.reshape(parts).expand(wide).reshape(shape);
    };
    const auto fill_packed = [&](const auto& from, const auto& to) {
      const Tensor<double, D> rows = from.value(), out = to.value();
      out.slice(0, 0, width).copy_(rows.slice(0, 0, width));
      for (const std::int64_t i : {0, 1})
        out.slice(0, width * (1 + i), width * (2 + i))
            .copy_(repeated(rows.slice(0, width + 4 * i, width + 4 * (i + 1))));
    };
    few.in_proj_bias.value().copy_(sample<double, D>({width + 8}, 1));
    fill_packed(few.in_proj_bias, all.in_proj_bias);
    if (kdim == 0) {
      fill_packed(few.in_proj_weight, all.in_proj_weight);
    } else {
      all.q_proj_weight.value().copy_(few.q_proj_weight.value());
      all.k_proj_weight.value().copy_(repeated(few.k_proj_weight.value()));
      all.v_proj_weight.value().copy_(repeated(few.v_proj_weight.value()));
    }
    all.out_proj.weight.value().copy_(few.out_proj.weight.value());
    const auto x = sample<double, D>({2, 4, width}, 2), keys = sample<double, D>({2, 3, kdim == 0 ? width : kdim}, 3),
               values = sample<double, D>({2, 3, width}, 4);
    const auto padding = (sample<double, D>({2, 3}, 5) < -0.3).eval();
    const auto each = (sample<double, D>({2 * heads, 4, 3}, 6) < -0.5).eval();
    const auto [y, weights] = few.with_weights(x, keys, values, {.key_padding_mask = padding, .attn_mask = each});
    const auto [expected, of_all] = all.with_weights(x, keys, values, {.key_padding_mask = padding, .attn_mask = each});
    CHECK_CLOSE(y, reference(expected), 1e-12);
    CHECK_CLOSE(weights, reference(of_all), 1e-12);
    if (kdim != 0) continue;
    CHECK_CLOSE(few(x, {.is_causal = true}), reference(all(x, {.is_causal = true})), 1e-12);
    CHECK_CLOSE(few(x.select(0, 0)), reference(all(x.select(0, 0))), 1e-12);
    const auto g = sample<double, D>({2, 4, width}, 7);
    few(frozen(trace(x)), {.is_causal = true}).backward(g);
    all(frozen(trace(x)), {.is_causal = true}).backward(g);
    const auto of_keys = all.in_proj_weight.grad().slice(0, width, 2 * width).reshape({kv_heads, 3, e, width});
    CHECK_CLOSE(few.in_proj_weight.grad().slice(0, width, width + 4), reference(sum(of_keys, 1).reshape({4, width})),
                1e-10);
    CHECK_CLOSE(few.template as<float>()(x.template as<float>()), reference(few(x)), 1e-5);
  }
  using Layer = nn::MultiheadAttention<double, D>;
  CHECK_THROWS_AS(Layer(12, 6, {.kv_heads = 4}), ArgumentError);
  CHECK_THROWS_AS(Layer(12, 6, {.kv_heads = -1}), ArgumentError);
}

LOCUS_DEVICE_TEST("what does not fit is refused, naming it", D) {
  const auto of = [](const Shape& shape) { return Tensor<float, D>(shape); };
  const auto x = of({2, 3, 4});
  CHECK_THROWS_WITH_AS((void)scaled_dot_product_attention(x, of({2, 5, 3}), of({2, 5, 3})),
                       doctest::Contains("queries of shape (2, 3, 4), keys (2, 5, 3) and values (2, 5, 3): queries and "
                                         "keys are of other widths"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)scaled_dot_product_attention(x, of({2, 5, 4}), of({2, 6, 4})),
                       doctest::Contains("not as many values as keys"), ShapeError);
  CHECK_THROWS_WITH_AS((void)scaled_dot_product_attention(x, of({3, 5, 4}), of({3, 5, 4})),
                       doctest::Contains("batches broadcast only"), ShapeError);
  CHECK_THROWS_WITH_AS((void)scaled_dot_product_attention(of({4}), x, x), doctest::Contains("two dimensions"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)scaled_dot_product_attention(x, x, x, {.mask = Tensor<bool, D>({3, 4})}),
                       doctest::Contains("a mask of shape (3, 4) for scores of shape (2, 3, 3)"), ShapeError);
  CHECK_THROWS_AS((void)scaled_dot_product_attention(x, x, x, {.dropout = 1.5}), ArgumentError);
  CHECK_THROWS_AS((void)scaled_dot_product_attention(x, x, x, {.scale = infinity}), ArgumentError);
  using Layer = nn::MultiheadAttention<float, D>;
  CHECK_THROWS_WITH_AS((Layer{8, 3}), doctest::Contains("3 heads for a width of 8"), ArgumentError);
  CHECK_THROWS_AS((Layer{8, 0}), ArgumentError);
  CHECK_THROWS_AS((Layer{8, 2, {.dropout = -1}}), ArgumentError);
  CHECK_THROWS_AS((Layer{8, 2, {.kdim = -1}}), ArgumentError);
  const Layer layer{4, 2};
  CHECK_THROWS_WITH_AS((void)layer(of({2, 3, 5})), doctest::Contains("x of shape (2, 3, 5)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)layer(x, of({3, 5, 4}), of({3, 5, 4})), doctest::Contains("key (3, 5, 4)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)layer(x, {.key_padding_mask = Tensor<bool, D>({3, 2})}),
                       doctest::Contains("key_padding_mask of shape (3, 2)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)layer(x, {.attn_mask = Tensor<bool, D>({3, 3, 3})}),
                       doctest::Contains("attn_mask of shape (3, 3, 3); expected (3, 3), (4, 3, 3) or, for all heads, "
                                         "(2, 3, 3)"),
                       ShapeError);
  const Layer wide{4, 2, {.kdim = 3}};
  CHECK_THROWS_WITH_AS((void)wide(x), doctest::Contains("call it on three"), ArgumentError);
}
