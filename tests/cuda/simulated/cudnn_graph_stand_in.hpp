#pragma once
// Computes a graph of products, reductions and pointwise functions as the simulated cuDNN: operation by operation, in
// float64, rounding values to their types. Part of cudnn_stand_in.hpp.

#include <algorithm>
#include <cmath>

namespace simulated::dnn_detail {

/// A launch of a graph.
class GraphRun {
 public:
  /// Reads numbers given by value at once, as a launch does.
  GraphRun(const std::vector<Held>& operations, const std::vector<std::int64_t>& names,
           const std::vector<void*>& pointers)
      : operations_(operations) {
    for (std::size_t i = 0; i < names.size(); ++i) memory_[names[i]] = pointers[i];
    for (const Held& operation : operations)
      for (const auto& [name, attribute] : operation->attributes)
        for (const Held& held : attribute.held)
          if (held->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) check(*held);
  }

  void operator()() const {
    std::map<std::int64_t, Values> values;
    for (const Held& operation : operations_) {
      switch (operation->type) {
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: product(*operation, values); break;
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: pointwise(*operation, values); break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: fold(*operation, values); break;
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: reshape(*operation, values); break;
        default: stop("cuDNN: an operation of another kind in a graph");
      }
    }
  }

 private:
  using Index = std::vector<std::int64_t>;
  /// Elements by their places in memory.
  using Values = std::map<std::int64_t, double>;

  static std::int64_t name_of(const Record& tensor) { return tensor.value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID); }
  static cudnnDataType_t type_of(const Record& tensor) {
    return tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  }
  static bool is(const Record& tensor, int attribute) {
    return tensor.attributes.count(attribute) != 0 && tensor.value<char>(attribute) != 0;
  }
  void check(const Record& tensor) {
    if (is(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) return;
    const auto found = memory_.find(name_of(tensor));
    if (found == memory_.end() || !found->second) stop("cuDNN: an operand without memory");
    if (is(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
      numbers_[name_of(tensor)] = static_cast<double>(*static_cast<const float*>(found->second));
      return;
    }
    const auto alignment = static_cast<std::uintptr_t>(tensor.value<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
    if (reinterpret_cast<std::uintptr_t>(found->second) % alignment != 0)
      stop("cuDNN: an operand that is not aligned as it was said");
  }

  /// Calls f(index) for every index within extents.
  template <class F>
  static void for_each(const Index& extents, const F& f) {
    Index at(extents.size());
    while (true) {
      f(at);
      std::size_t d = extents.size();
      while (d-- > 0 && ++at[d] == extents[d]) at[d] = 0;
      if (d == static_cast<std::size_t>(-1)) return;
    }
  }
  static std::int64_t place(const Record& tensor, const Index& at) {
    const Index extents = Operands::extents(tensor), strides = Operands::strides(tensor);
    std::int64_t sum = 0;  // of a broadcast tensor the one element of a dimension
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (extents[d] != 1 && at[d] >= extents[d]) stop("cuDNN: operands of a graph that do not fit");
      sum += extents[d] == 1 ? 0 : at[d] * strides[d];
    }
    return sum;
  }
  [[nodiscard]] double read(const Record& tensor, const Index& at, const std::map<std::int64_t, Values>& values) const {
    const std::int64_t name = name_of(tensor), where = place(tensor, at);
    if (is(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) return numbers_.at(name);
    if (const auto found = values.find(name); found != values.end()) return found->second.at(where);
    if (is(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) stop("cuDNN: a value before it is computed");
    const void* const data = memory_.at(name);
    switch (type_of(tensor)) {
      case CUDNN_DATA_FLOAT: return number<float>(data, where);
      case CUDNN_DATA_HALF: return number<__half>(data, where);
      case CUDNN_DATA_BFLOAT16: return number<__nv_bfloat16>(data, where);
      default: stop("cuDNN: an operand of another type");
    }
  }
  void write(const Record& tensor, const Index& at, double value, std::map<std::int64_t, Values>& values) const {
    const std::int64_t where = place(tensor, at);
    const auto narrow = static_cast<float>(value);
    const bool is_virtual = is(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    void* const data = is_virtual ? nullptr : memory_.at(name_of(tensor));
    const auto rounded = [&](auto element) {
      if (data) static_cast<decltype(element)*>(data)[where] = element;
      return static_cast<double>(static_cast<float>(element));
    };
    switch (type_of(tensor)) {
      case CUDNN_DATA_FLOAT: value = rounded(narrow); break;
      case CUDNN_DATA_HALF: value = rounded(static_cast<__half>(narrow)); break;
      case CUDNN_DATA_BFLOAT16: value = rounded(static_cast<__nv_bfloat16>(narrow)); break;
      default: break;  // indices and truth values
    }
    values[name_of(tensor)][where] = value;
  }

  void product(const Record& operation, std::map<std::int64_t, Values>& values) const {
    const Record &a = operation.record(CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                 &b = operation.record(CUDNN_ATTR_OPERATION_MATMUL_BDESC),
                 &c = operation.record(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    const std::int64_t depth = Operands::extents(a).back();
    if (Operands::extents(b)[Operands::extents(b).size() - 2] != depth) stop("cuDNN: factors that do not fit");
    for_each(Operands::extents(c), [&](const Index& at) {
      Index left = at, right = at;
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        left.back() = k, right[right.size() - 2] = k;
        sum += read(a, left, values) * read(b, right, values);
      }
      write(c, at, sum, values);
    });
  }
  void pointwise(const Record& operation, std::map<std::int64_t, Values>& values) const {
    const Record& function = operation.record(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const auto mode = function.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    const Record& y = operation.record(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    for_each(Operands::extents(y), [&](const Index& at) {
      const auto input = [&](int name) { return read(operation.record(name), at, values); };
      const auto x = [&] { return input(CUDNN_ATTR_OPERATION_POINTWISE_XDESC); };
      const auto b = [&] { return input(CUDNN_ATTR_OPERATION_POINTWISE_BDESC); };
      const auto result = [&] {
        switch (mode) {
          case CUDNN_POINTWISE_ADD: return x() + b();
          case CUDNN_POINTWISE_SUB: return x() - b();
          case CUDNN_POINTWISE_MUL: return x() * b();
          case CUDNN_POINTWISE_DIV: return x() / b();
          case CUDNN_POINTWISE_EXP: return std::exp(x());
          case CUDNN_POINTWISE_LOG: return std::log(x());
          case CUDNN_POINTWISE_CMP_GE: return x() >= b() ? 1. : 0.;
          case CUDNN_POINTWISE_GEN_INDEX:
            return static_cast<double>(
                at[static_cast<std::size_t>(function.value<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS))]);
          case CUDNN_POINTWISE_BINARY_SELECT: return input(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != 0 ? x() : b();
          default: stop("cuDNN: another pointwise function");
        }
      };
      write(y, at, result(), values);
    });
  }
  void fold(const Record& operation, std::map<std::int64_t, Values>& values) const {
    const Record &x = operation.record(CUDNN_ATTR_OPERATION_REDUCTION_XDESC),
                 &y = operation.record(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    const bool is_largest = operation.record(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                                .value<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_MAX;
    const Index kept = Operands::extents(y);
    std::map<Index, double> results;
    for_each(Operands::extents(x), [&](const Index& at) {
      Index to = at;
      for (std::size_t d = 0; d < to.size(); ++d)
        if (kept[d] == 1) to[d] = 0;
      const double value = read(x, at, values);
      const auto [found, is_new] = results.emplace(to, value);
      if (!is_new) found->second = is_largest ? std::max(found->second, value) : found->second + value;
    });
    for (const auto& [at, value] : results) write(y, at, value, values);
  }
  /// The same places in memory under other extents and strides.
  void reshape(const Record& operation, std::map<std::int64_t, Values>& values) const {
    const Record &x = operation.record(CUDNN_ATTR_OPERATION_RESHAPE_XDESC),
                 &y = operation.record(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    Values elements;
    for_each(Operands::extents(x), [&](const Index& at) { elements[place(x, at)] = read(x, at, values); });
    for_each(Operands::extents(y), [&](const Index& at) { write(y, at, elements.at(place(y, at)), values); });
  }

  std::vector<Held> operations_;
  std::map<std::int64_t, void*> memory_;
  std::map<std::int64_t, double> numbers_;
};

}  // namespace simulated::dnn_detail
