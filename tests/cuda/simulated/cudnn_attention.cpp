// Attention by cuDNN's fused engines: the graphs, which the stand-in computes operation by operation, the calls that
// are its, refusals, and captured steps. Heads are wider than a tile of Locus's own kernels, so that cuDNN is asked.
// The case about plans, which a process makes once, comes first, in processes of its own. Part of cudnn.cpp.

namespace of_attention {
/// Heads beside each other: (batch, heads, rows, width) of (batch, rows, heads width).
template <class T>
Tensor<T, Cuda> heads(std::int64_t rows, std::int64_t width, std::uint64_t seed) {
  return sample<T, Cuda>({2, rows, 2 * width}, seed).reshape({2, rows, 2, width}).transpose(1, 2);
}
/// The result, and the gradients after two passes, whose second is added to the first.
template <class T>
std::vector<Tensor<T, Cuda>> passes(std::int64_t rows, std::int64_t keys, bool is_causal) {
  const auto q = variable(heads<T>(rows, 136, 1)), k = variable(heads<T>(keys, 136, 2)),
             v = variable(heads<T>(keys, 8, 3));
  const auto y = scaled_dot_product_attention(q, k, v, {.is_causal = is_causal, .scale = 0.2});
  y.backward(heads<T>(rows, 8, 4), {.retain_graph = true});
  y.backward(heads<T>(rows, 8, 5));
  return {y.value(), q.grad(), k.grad(), v.grad()};
}
template <class T>
void check_equal(std::int64_t rows, std::int64_t keys, bool is_causal, double allowed) {
  CAPTURE(rows);
  CAPTURE(is_causal);
  const int before = dnn.launched;
  const auto by_cudnn = passes<T>(rows, keys, is_causal);
  CHECK(dnn.launched - before == 3);
  const auto expected = without_cudnn([&] { return passes<T>(rows, keys, is_causal); });
  CHECK(dnn.launched - before == 3);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK_CLOSE(by_cudnn[i], reference(expected[i]), allowed);
}
/// Passes by cuDNN in a call of attention.
template <class T = half>
int asked(const AttentionOptions<T, Cuda>& options = {}, std::int64_t width = 136) {
  const int before = dnn.launched;
  const auto q = heads<T>(3, width, 1);
  (void)scaled_dot_product_attention(trace(q), q, q, options);
  return dnn.launched - before;
}

TEST_CASE("a form is planned once; an engine that fails where it is used is passed over; a trace tells refusals") {
  CHECK(in_new_process({}, [] {
    const int before = dnn.asked;
    bool right = asked() == 1 && dnn.asked - before == 2;  // heuristics of two modes
    right &= asked() == 1 && dnn.asked - before == 2 && dnn.engine == 46;
    (void)asked({.is_causal = true});
    return right && dnn.asked - before == 4;
  }));
  CHECK(in_new_process({}, [] {
    dnn.engines[0].runs = CUDNN_STATUS_NOT_SUPPORTED;
    return asked() == 1 && dnn.engine == 5 && asked() == 1;
  }));
  std::string said;
  CHECK(in_new_process(
      {},
      [] {
        trace_launches(true);
        for (auto& engine : dnn.engines) engine.ready = CUDNN_STATUS_NOT_SUPPORTED;
        return asked({.is_causal = true}) == 0;
      },
      &said));
  CHECK(said.find("locus: attention of queries (2, 2, 3, 136), keys (2, 2, 3, 136) and values (2, 2, 3, 136) of "
                  "float16, causal: not by cuDNN (cudnnBackendFinalize (a plan): CUDNN_STATUS_NOT_SUPPORTED") !=
        std::string::npos);
  CHECK(in_new_process({}, [] {  // a workspace that is not allowed
    for (auto& engine : dnn.engines) engine.workspace = std::int64_t{2} << 30;
    return asked() == 0;
  }));
}

TEST_CASE("attention by cuDNN gives what products give, with its gradients") {
  for (const bool is_causal : {false, true}) {
    check_equal<half>(3, 5, is_causal, 1e-2);
    check_equal<half>(4, 2, is_causal, 1e-2);
    check_equal<bfloat16>(2, 3, is_causal, 8e-2);
    check_equal<half>(1, 3, is_causal, 1e-2);
  }
}

TEST_CASE("gradients that are not wanted are written elsewhere") {
  const auto q = heads<half>(3, 136, 1), k = heads<half>(4, 136, 2), v = heads<half>(4, 8, 3), g = heads<half>(3, 8, 4);
  const auto key_gradient = [&] {
    const auto traced = variable(k);
    scaled_dot_product_attention(q, traced, v).backward(g);
    return traced.grad();
  };
  const int before = dnn.launched;
  const auto by_cudnn = key_gradient();
  CHECK(dnn.launched - before == 2);
  CHECK_CLOSE(by_cudnn, reference(without_cudnn(key_gradient)), 1e-2);
}

TEST_CASE("cuDNN computes attention of 16 bits without masks and dropout that no tile of Locus's own holds") {
  CHECK(asked() == 1);
  CHECK(asked({}, 16) == 0);   // small: Locus's own
  CHECK(asked({}, 140) == 0);  // rows at multiples of 8 bytes
  CHECK(asked<float>() == 0);
  CHECK(asked({.mask = sample<bool, Cuda>({3, 3}, 1)}) == 0);
  CHECK(asked({.dropout = 0.5}) == 0);
  CHECK(without_cudnn([] { return asked(); }) == 0);
}

TEST_CASE("a captured step of attention by cuDNN replays what it computed") {
  const auto train = [](bool captured) {
    const auto x = variable(heads<half>(3, 136, 1));
    std::vector<double> losses;
    const auto step = [&] {
      x.zero_grad();
      const auto loss = mean(scaled_dot_product_attention(x, x, x, {.is_causal = true}));
      loss.backward();
      x.value().copy_(x.value() - x.grad() * 50.f);
      return loss.value();
    };
    if (captured) {
      auto replay = capture(step);
      for (int i = 0; i < 3; ++i) losses.push_back(reference(replay()).values[0]);
    } else {
      for (int i = 0; i < 3; ++i) losses.push_back(reference(step()).values[0]);
    }
    return losses;
  };
  const int before = dnn.launched;
  const auto eager = train(false);
  CHECK(dnn.launched - before == 6);
  CHECK(train(true) == eager);
  CHECK(eager[0] != eager[2]);
}

}  // namespace of_attention
