#pragma once
// A value of a running graph: numbers of T on D, or integers or bools on the host or on D.

#include <locus/autograd/traced.hpp>
#include <locus/interop/onnx/graph.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// A tensor of I on the host, on D, or on both; copied where it is needed first.
template <class I, class D>
class Placed {
 public:
  Placed() = default;
  explicit Placed(Tensor<I, Cpu> host) : host_(std::move(host)), is_on_host_(true) {}
  explicit Placed(Tensor<I, D> there) : there_(std::move(there)), is_there_(true) {}
  Placed(Tensor<I, Cpu> host, D device) : Placed(std::move(host)) { (void)there(device); }

  [[nodiscard]] bool is_on_host() const { return is_on_host_; }
  [[nodiscard]] const Shape& shape() const { return is_on_host_ ? host_.shape() : there_.shape(); }
  /// cost: if it is on D alone, a copy, for which the host waits
  [[nodiscard]] const Tensor<I, Cpu>& host() const {
    if (!is_on_host_) host_ = there_.template to<Cpu>(), is_on_host_ = true;
    return host_;
  }
  /// cost: if it is on the host alone, a copy
  [[nodiscard]] const Tensor<I, D>& there(D device) const {
    if (!is_there_) there_ = host_.template to<D>(device), is_there_ = true;
    return there_;
  }

 private:
  mutable Tensor<I, Cpu> host_;
  mutable Tensor<I, D> there_;
  mutable bool is_on_host_ = false, is_there_ = false;
};
template <class I>
class Placed<I, Cpu> {
 public:
  Placed() = default;
  explicit Placed(Tensor<I, Cpu> host, Cpu = {}) : host_(std::move(host)) {}
  [[nodiscard]] static bool is_on_host() { return true; }
  [[nodiscard]] const Shape& shape() const { return host_.shape(); }
  [[nodiscard]] const Tensor<I, Cpu>& host() const { return host_; }
  [[nodiscard]] const Tensor<I, Cpu>& there(Cpu) const { return host_; }

 private:
  Tensor<I, Cpu> host_;
};

/// Integers that were computed in 64 bits, wrapped to their type.
template <class E>
[[nodiscard]] Tensor<std::int64_t, E> wrapped(DataType type, const Tensor<std::int64_t, E>& x) {
  switch (type) {
    case DataType::uint8: return x.template as<std::uint8_t>().template as<std::int64_t>();
    case DataType::int8: return x.template as<std::int8_t>().template as<std::int64_t>();
    case DataType::uint16: return x.template as<std::uint16_t>().template as<std::int64_t>();
    case DataType::int16: return x.template as<std::int16_t>().template as<std::int64_t>();
    case DataType::int32: return x.template as<std::int32_t>().template as<std::int64_t>();
    case DataType::uint32: return x.template as<std::uint32_t>().template as<std::int64_t>();
    default: return x;
  }
}

/// A value. F is the handle of numbers: Tensor<T, D>, or Traced<T, D> where operations are recorded. Integers of every
/// type are held as int64, and `type` remembers their own.
template <class F>
class Value {
 public:
  using T = value_of<F>;
  using D = device_of<F>;

  Value() = default;
  Value(DataType type, F numbers) : type_(type), data_(std::move(numbers)) {}
  template <class E>
  Value(DataType type, const Tensor<std::int64_t, E>& integers)
      : type_(type), data_(Placed<std::int64_t, D>(integers)) {}
  template <class E>
  Value(DataType, const Tensor<bool, E>& bools) : type_(DataType::boolean), data_(Placed<bool, D>(bools)) {}
  template <class I>
  Value(DataType type, Placed<I, D> placed) : type_(type), data_(std::move(placed)) {}

  [[nodiscard]] bool defined() const { return data_.index() != 0; }
  [[nodiscard]] DataType type() const { return type_; }
  [[nodiscard]] const F* numbers() const { return std::get_if<F>(&data_); }
  [[nodiscard]] const Placed<std::int64_t, D>* integers() const { return std::get_if<Placed<std::int64_t, D>>(&data_); }
  [[nodiscard]] const Placed<bool, D>* bools() const { return std::get_if<Placed<bool, D>>(&data_); }
  [[nodiscard]] bool is_on_host() const {
    if (integers()) return integers()->is_on_host();
    return bools() && bools()->is_on_host();
  }
  [[nodiscard]] const Shape& shape() const {
    if (numbers()) return numbers()->shape();
    return integers() ? integers()->shape() : bools()->shape();
  }

 private:
  DataType type_ = DataType::undefined;
  std::variant<std::monostate, F, Placed<std::int64_t, D>, Placed<bool, D>> data_;
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
