#pragma once
// Scaling of losses, as torch.amp.GradScaler: keeps small gradients of 16 bits from vanishing. A step whose gradients
// overflowed is skipped, as decided on the device.

#include <locus/optim/optimizer_step.hpp>
#include <locus/optim/scaled_optimizer.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;             ///< of the scale, after growth_interval steps in a row that were not skipped
  double backoff_factor = 0.5;          ///< of the scale, after a step that was skipped
  std::int64_t growth_interval = 2000;  ///< in steps
};

/// State of a scaler for resuming a training: `options`, with the current scale as init_scale, and counters.
struct GradScalerState {
  GradScalerOptions options;
  std::int64_t growth_tracker = 0;  ///< steps since the scale changed or one was skipped
  std::int64_t skipped_steps = 0;
};

namespace detail {
using locus::detail::GradientScale;

/// Its reciprocal is a normal number, too, so that neither is ever 0 or infinite.
inline constexpr float least_scale = std::numeric_limits<float>::min();
inline constexpr float most_scale = 1 / least_scale;

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const GradScalerOptions& checked(const GradScalerOptions& options) {
  const auto require = [](bool valid, const char* option, double given, const char* expected) {
    if (!valid) fail<ArgumentError>({"GradScaler: ", option, " is ", given, "; expected ", expected});
  };
  require(options.init_scale > double{least_scale} && options.init_scale <= double{most_scale}, "init_scale",
          options.init_scale, "a number above 1.18e-38, and 8.5e37 at most");
  require(options.growth_factor > 1 && options.growth_factor <= double{most_scale}, "growth_factor",
          options.growth_factor, "a finite number above 1");
  require(options.backoff_factor > 0 && options.backoff_factor < 1, "backoff_factor", options.backoff_factor,
          "a number between 0 and 1");
  require(options.growth_interval >= 1, "growth_interval", static_cast<double>(options.growth_interval), "1 or more");
  return options;
}
/// throws ArgumentError for numbers out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const GradScalerState& checked(const GradScalerState& state) {
  (void)checked(state.options);
  if (state.growth_tracker < 0 || state.skipped_steps < 0)
    fail<ArgumentError>({"GradScaler: a state of ", state.growth_tracker, " steps since the scale changed, and ",
                         state.skipped_steps, " skipped ones; expected 0 or more"});
  return state;
}

struct NotFinite {
  template <class R> LOCUS_FN bool operator()(R gradient) const { return !(gradient - gradient == R(0)); }
};
struct Unscale {
  template <class R>
  LOCUS_FN R operator()(R gradient, float inverse) const {
    return gradient * static_cast<R>(inverse);
  }
};
struct UpdateScale {
  float growth, backoff;
  std::int64_t interval;
  LOCUS_FN void operator()(float scale, std::int64_t tracker, std::int64_t skipped, bool skips, float& new_scale,
                           float& inverse, std::int64_t& new_tracker, std::int64_t& new_skipped) const {
    const bool grows = !skips && tracker + 1 >= interval;
    const float wanted = skips ? scale * backoff : grows ? scale * growth : scale;
    new_scale = wanted > most_scale ? scale : wanted < least_scale ? least_scale : wanted;
    inverse = 1 / new_scale;
    new_tracker = skips || grows ? 0 : tracker + 1;
    new_skipped = skipped + (skips ? 1 : 0);
  }
};

/// State that a scaler shares with its losses and with captured steps.
template <class D>
struct ScalerState : Counted {
  static constexpr const char* handle_name = "GradScaler";
  Tensor<float, D> scale, inverse;
  Tensor<std::int64_t, D> growth_tracker, skipped;
  Tensor<bool, D> found;  ///< whether the gradients of this step hold inf or NaN
  Shared<GradientScale> scaled{new GradientScale(
      "has the scale of a GradScaler; call scaler.unscale(optimizer) before it is clipped or read, and "
      "scaler.step(optimizer) in place of optimizer.step()")};
  Shared<GradientScale> used{
      new GradientScale("has the scale of a step that was made; call zero_grad() before the next backward pass, and "
                        "scaler.unscale(optimizer) before the step where it is read afterwards")};
  enum class Stage { begun, unscaled, stepped };
  Stage stage = Stage::begun;
  Shared<GraphNode> optimizer;  ///< identifies the optimizer that it serves: the node of its first parameter

  void go_to(Stage next) {
    locus::detail::restore_if_abandoned(stage);
    stage = next;
    locus::detail::at_replay([state = Shared<ScalerState>(this), next] { state->stage = next; });
  }
};

#include <locus/refuse/optim/grad_scaler_mistakes.inc>
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A loss times the scale of its scaler. Not a tensor, because its value is of no use before it is unscaled.
template <class T, class D>
class [[nodiscard]] Scaled {
 public:
  using IsScaledLoss = void;

  /// Adds scaled gradients to all leaves of the loss that collect gradients. Only the scaler accepts scaled gradients:
  /// clipping, reading, or a step of the optimizer alone throws GraphError.
  /// cost: as loss.backward(); a launch more for a loss of double
  /// throws as loss.backward(), and GraphError if it would add to a gradient of another scale: one of an ordinary loss,
  /// one already unscaled, or one of a step that was made
  void backward(const BackwardOptions& options = {}) const {
    if (loss_.elements() != 1)
      fail<ShapeError>({"backward: expected a scalar loss, got shape ", loss_.shape(), "; reduce it with sum or mean"});
    const Pass pass(state_->scaled.get());
    loss_.backward(state_->scale.template as<T>().reshape(loss_.shape()), options);
  }
#include <locus/refuse/optim/scaled_class.inc>

 private:
  friend class GradScaler<D>;
  struct Pass {
    detail::GradientScale* before = std::exchange(locus::detail::pass_scale, nullptr);
    explicit Pass(detail::GradientScale* scale) { locus::detail::pass_scale = scale; }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() { locus::detail::pass_scale = before; }
  };
  Scaled(Traced<T, D> loss, Shared<detail::ScalerState<D>> state) : loss_(std::move(loss)), state_(std::move(state)) {}

  Traced<T, D> loss_;
  Shared<detail::ScalerState<D>> state_;
};
#include <locus/refuse/optim/scaled.inc>

/// Scales losses for an optimizer, so that gradients of half neither vanish nor overflow. Its scale, its counters and
/// the flag of a step lie on the device: the host never waits, and captured steps update them.
///
///     optim::GradScaler<D> scaler;
///     for (auto [images, labels] : batches) {
///       auto loss = nn::cross_entropy(model16(trace(images.template as<half>())).template as<float>(), labels);
///       optimizer.zero_grad();
///       scaler.scale(loss).backward();
///       scaler.step(optimizer);   // skipped where a gradient is inf or NaN
///       scaler.update();          // doubles or halves the scale
///     }
template <class D>
class GradScaler {
 public:
  using device_type = D;

  /// throws ArgumentError for options out of range
  explicit GradScaler(const GradScalerOptions& options = {}, D device = {})
      : options_(detail::checked(options)), state_(new State) {
    state_->scale = Tensor<float, D>({}, device);
    state_->inverse = Tensor<float, D>({}, device);
    state_->growth_tracker = Tensor<std::int64_t, D>({}, device);
    state_->skipped = Tensor<std::int64_t, D>({}, device);
    state_->found = Tensor<bool, D>({}, device).fill_(false);
    write(options.init_scale, 0, 0);
  }
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;
  GradScaler(GradScaler&&) noexcept = default;
  GradScaler& operator=(GradScaler&&) noexcept = default;
  ~GradScaler() = default;

  /// A loss of float or double, times the scale. If several passes accumulate gradients for one step, scale each loss.
  /// cost: none
  ///
  ///     scaler.scale(loss / 4).backward();
  template <TensorLike X>
    requires(detail::IsLoss<X, D>)
  [[nodiscard]] auto scale(const X& loss) const {
    (void)*state_;  // throws where the scaler was moved from
    const auto& traced = loss.eval();
    return Scaled<value_of<X>, D>(traced, state_);
  }

  /// Divides the optimizer's gradients by the scale, so that they can be clipped or read before the step; does nothing
  /// if they are unscaled already. Parameters of 16 bits have gradients of 16 bits: gradients of half below 6e-8 become
  /// 0, and below 6e-5 lose digits. step() without unscale() divides in registers, in float, and loses nothing.
  /// cost: two launches for each run of neighbours in flat memory. Nothing waits for the device
  /// throws GraphError for gradients of other losses than its own, gradients that have yet to be reduced over ranks,
  /// another optimizer than before, or none with a gradient
  template <class O>
    requires(detail::IsOptimizerOn<O, D>)
  void unscale(O& optimizer) {
    if (!are_scaled("GradScaler::unscale", optimizer)) return;
    const auto& parameters = optimizer.parameters();
    for (const auto& run : find_infinite(parameters))
      locus::detail::map_into(run, detail::Unscale{}, run, state_->inverse);
    mark(parameters, {});
    locus::detail::gradients_changed(parameters);
    state_->go_to(State::Stage::unscaled);
  }

  /// optimizer.step() with unscaled gradients, unless one of them is inf or NaN: then values, momentum, moments and the
  /// count of steps stay. The device decides.
  /// cost: as optimizer.step(skip), and, unless unscale(optimizer) was called, one launch for each run of
  ///       neighbours in flat memory
  /// throws GraphError as unscale, and for a second step before update()
  template <class O>
    requires(detail::IsOptimizerOn<O, D>)
  void step(O& optimizer) {
    if (state_->stage == State::Stage::stepped)
      fail<GraphError>(
          {"GradScaler::step: called again before update(); call scaler.update() after each step, and give each "
           "optimizer a scaler and a loss of its own, or make one optimizer of groups"});
    const bool scaled = are_scaled("GradScaler::step", optimizer);
    if (scaled) (void)find_infinite(optimizer.parameters());
    const During during(optimizer.unscale_, scaled ? state_->inverse.data() : nullptr);
    optimizer.step(state_->found);
    if (scaled) mark(optimizer.parameters(), state_->used);
    state_->go_to(State::Stage::stepped);
  }

  /// Call after each step: multiplies the scale by backoff_factor if the step was skipped, and by growth_factor after
  /// growth_interval steps in a row without a skip. A scale that would exceed 8.5e37 stays; a scale that would fall
  /// below 1.18e-38 becomes 1.18e-38, and scale_factor() throws.
  /// cost: one launch; nothing waits for the device
  /// throws GraphError unless a step was made since the last update
  void update() {
    if (state_->stage != State::Stage::stepped)
      fail<GraphError>(
          {"GradScaler::update: no step was made since the last update; call scaler.step(optimizer) first"});
    launch_update();
    state_->go_to(State::Stage::begun);
  }

  /// The optimizer, stepped through this scaler: pass it to fit and train_step in place of the optimizer. Optimizer and
  /// scaler must outlive it.
  ///
  ///     fit(model16, scaler.with(optimizer), train, valid, history);
  template <class O>
    requires(detail::IsOptimizerOn<O, D>)
  [[nodiscard]] const ScaledOptimizer<O> with(O& optimizer) {  // const: then `Optimizer&` of fit takes it unnamed
    return {optimizer, *this};
  }

  /// The current scale of losses.
  /// cost: a copy to the host, which waits
  /// throws NumericError once the scale fell to the smallest normal number: gradients are then inf or NaN whatever the
  /// scale
  [[nodiscard]] double scale_factor() const {
    const float scale = state_->scale.template to<Cpu>().item();
    if (scale <= detail::least_scale)
      fail<NumericError>(
          {"GradScaler: the scale fell to ", scale, " in ", skipped_steps(),
           " skipped steps: gradients are inf or NaN whatever the scale; look for bad values in the data "
           "and in the weights, or try a smaller learning rate"});
    return double{scale};
  }
  /// Number of skipped steps since the scaler was made. cost: a copy to the host, which waits
  [[nodiscard]] std::int64_t skipped_steps() const { return state_->skipped.template to<Cpu>().item(); }
  [[nodiscard]] const GradScalerOptions& options() const { return options_; }
  [[nodiscard]] D device() const { return state_->scale.device(); }

  /// State for resuming a training; to save it to a file, see optim::state_dict(scaler). cost: copies to the host
  [[nodiscard]] GradScalerState state() const {
    GradScalerState state{options_, state_->growth_tracker.template to<Cpu>().item(), skipped_steps()};
    state.options.init_scale = double{state_->scale.template to<Cpu>().item()};
    return state;
  }
  /// Resumes from the state of another scaler. throws ArgumentError for a number out of range; then nothing was changed
  void set_state(const GradScalerState& state) {
    (void)detail::checked(state);
    options_ = state.options;
    write(state.options.init_scale, state.growth_tracker, state.skipped_steps);
  }
#include <locus/refuse/optim/grad_scaler_class.inc>

 private:
  using State = detail::ScalerState<D>;
  struct During {
    const float*& place;
    During(const float*& where, const float* factor) : place(where) { place = factor; }
    During(const During&) = delete;
    During& operator=(const During&) = delete;
    ~During() { place = nullptr; }
  };

  void write(double scale, std::int64_t growth_tracker, std::int64_t skipped) {
    (void)state_->scale.fill_(static_cast<float>(scale));
    (void)state_->inverse.fill_(1 / static_cast<float>(scale));
    (void)state_->growth_tracker.fill_(growth_tracker);
    (void)state_->skipped.fill_(skipped);
  }
  /// Whether the optimizer's gradients are scaled; false if this scaler unscaled them already.
  template <class O>
  [[nodiscard]] bool are_scaled(std::string_view who, O& optimizer);
  /// Writes `found`, in one launch for each of the gradient runs, which it returns.
  template <class T>
  auto find_infinite(const std::vector<Parameter<T, D>>& parameters);
  template <class T>
  static void mark(const std::vector<Parameter<T, D>>& parameters, const Shared<detail::GradientScale>& scale) {
    for (const auto& parameter : parameters)
      if (parameter.has_grad()) parameter.node()->set_scale(scale);
  }
  void launch_update();

  GradScalerOptions options_;
  Shared<State> state_;
};
LOCUS_REFUSALS_END
GradScaler(const GradScalerOptions& = {}) -> GradScaler<Cpu>;
template <class D>
GradScaler(const GradScalerOptions&, D) -> GradScaler<D>;

template <class D>
template <class O>
bool GradScaler<D>::are_scaled(std::string_view who, O& optimizer) {
  const auto& parameters = optimizer.parameters();
  if (parameters.empty()) return false;
  const Shared<GraphNode> first(parameters[0].leaf().get());
  if (state_->optimizer && !(state_->optimizer == first))
    fail<GraphError>({who,
                      ": the scaler serves another optimizer; give each optimizer a scaler and a loss of its own, ",
                      "or make one optimizer of groups"});
  bool scaled = false, ordinary = false;
  for (const auto& parameter : parameters) {
    if (!parameter.has_grad()) continue;
    const auto& scale = parameter.node()->scale();
    if (scale && !(scale == state_->scaled))
      fail<GraphError>({who, ": the gradient of shape ", parameter.shape(), " ", scale->reason});
    scaled |= static_cast<bool>(scale);
    ordinary |= !scale;
  }
  if (scaled && ordinary)
    fail<GraphError>({who, ": some of the gradients are scaled, and others are not; call zero_grad() first, and scale ",
                      "every loss of the step"});
  if (!scaled && state_->stage != State::Stage::unscaled)
    fail<GraphError>({who,
                      ordinary ? ": the gradients are those of a loss that was not scaled"
                               : ": no parameter of the optimizer has a gradient",
                      "; call scaler.scale(loss).backward() first"});
  if (scaled) locus::detail::require_reduced(who, parameters);
  state_->optimizer = first;
  return scaled;
}

template <class D>
template <class T>
auto GradScaler<D>::find_infinite(const std::vector<Parameter<T, D>>& parameters) {
  const auto runs = locus::detail::gradient_runs(parameters);
  bool is_first = true;
  for (const auto& run : runs) {
    const locus::detail::FoldedAxes all("GradScaler", run.shape(), {});
    locus::detail::reduce_into(state_->found, !std::exchange(is_first, false), run.shape(), all,
                               Apply<detail::NotFinite, Symbol<0>>{}, fold::Any{}, run);
  }
  if (const auto others = locus::detail::other_parts(parameters)) others->set_if_any(state_->found);
  return runs;
}

template <class D>
void GradScaler<D>::launch_update() {
  static constexpr Strides dense{1};
  std::array<PlanOperand, 8> operands;
  operands.fill({nullptr, &dense});
  const State& s = *state_;
  Backend<D>::map(device(), make_plan<8>({1}, operands),
                  detail::UpdateScale{static_cast<float>(options_.growth_factor),
                                      static_cast<float>(options_.backoff_factor), options_.growth_interval},
                  Pack<const float*, const std::int64_t*, const std::int64_t*, const bool*>(
                      s.scale.data(), s.growth_tracker.data(), s.skipped.data(), s.found.data()),
                  Pack<float*, float*, std::int64_t*, std::int64_t*>(s.scale.data(), s.inverse.data(),
                                                                     s.growth_tracker.data(), s.skipped.data()));
}

}}}  // namespace locus::LOCUS_ABI::optim
