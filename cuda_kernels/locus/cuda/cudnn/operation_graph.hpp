#pragma once
// Builds graphs of operations, which engines of cuDNN compute in one launch.

#include <locus/core/shape.hpp>
#include <locus/cuda/cudnn/engines.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// A tensor of a graph: an operand in memory, a number given with the launch, or a value that is never stored.
struct GraphTensor {
  Descriptor descriptor;
  Shape extents;
  Strides strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

/// Names of the descriptor and of the attributes of a convolution's pass.
struct ConvolutionNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, windows, x, w, y;
};

/// Builds a graph, operation by operation. Operations compute in float. Each writes a value that is never stored, or
/// `into` an operand.
class OperationGraph {
 public:
  explicit OperationGraph(Calls& calls) : calls_(calls) {}

  /// An operand in memory: its name in the variant pack, and the alignment in bytes of its address.
  [[nodiscard]] GraphTensor operand(std::int64_t name, cudnnDataType_t type, const Shape& extents,
                                    const Strides& strides, std::int64_t alignment) {
    return tensor(name, type, extents, strides, alignment, Place::memory);
  }
  /// A float that a launch gives by its address on the host.
  [[nodiscard]] GraphTensor number(std::int64_t name) {
    return tensor(name, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, sizeof(float), Place::by_value);
  }
  /// A value that is never stored, row-major.
  [[nodiscard]] GraphTensor value(const Shape& extents, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return value(extents, row_major(extents), type);
  }
  [[nodiscard]] GraphTensor value(const Shape& extents, const Strides& strides, cudnnDataType_t type) {
    return tensor(next_name_++, type, extents, strides, 16, Place::never_stored);
  }

  /// a b over the last two dimensions.
  GraphTensor product(const GraphTensor& a, const GraphTensor& b, const GraphTensor& into) {
    const Descriptor matmul(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    calls_.set(matmul, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    calls_.finalize(matmul, "cudnnBackendFinalize (a product)");
    const Descriptor& it = operations_.emplace_back(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    calls_.set(it, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_MATMUL_CDESC, into.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_MATMUL_DESC, matmul);
    calls_.finalize(it, "cudnnBackendFinalize (a product in a graph)");
    return into;
  }
  /// A pass of a convolution over `windows`; it writes the operand that its names make the result, or adds to it.
  void convolution(const ConvolutionNames& names, const Descriptor& windows, const GraphTensor& x, const GraphTensor& w,
                   const GraphTensor& y, bool accumulate) {
    const Descriptor& it = operations_.emplace_back(names.type);
    calls_.set(it, names.alpha, 1.f);
    calls_.set(it, names.beta, accumulate ? 1.f : 0.f);
    calls_.set(it, names.windows, windows);
    calls_.set(it, names.x, x.descriptor);
    calls_.set(it, names.w, w.descriptor);
    calls_.set(it, names.y, y.descriptor);
    calls_.finalize(it, "cudnnBackendFinalize (a pass of a convolution)");
  }
  /// The sum of each channel of x, and of its squares.
  void channel_sums(const GraphTensor& x, const GraphTensor& sums, const GraphTensor& squares) {
    const Descriptor& it = operations_.emplace_back(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    calls_.set(it, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM);
    calls_.set(it, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
    calls_.set(it, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, x.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sums.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, squares.descriptor);
    calls_.finalize(it, "cudnnBackendFinalize (sums of channels)");
  }
  GraphTensor pointwise(cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor& into) {
    return pointwise(mode, {&x, nullptr, nullptr}, into, CUDNN_DATA_FLOAT);
  }
  GraphTensor pointwise(cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor& b,
                        const GraphTensor& into) {
    return pointwise(mode, {&x, &b, nullptr}, into,
                     into.type == CUDNN_DATA_BOOLEAN ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
  }
  /// The elements of x where `chosen` is true, otherwise of b.
  GraphTensor select(const GraphTensor& x, const GraphTensor& b, const GraphTensor& chosen, const GraphTensor& into) {
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, {&x, &b, &chosen}, into, CUDNN_DATA_FLOAT);
  }
  /// The index of each element of x along a dimension.
  GraphTensor indices(const GraphTensor& x, std::int64_t dimension) {
    return pointwise(CUDNN_POINTWISE_GEN_INDEX, {&x, nullptr, nullptr}, value(x.extents, CUDNN_DATA_INT32),
                     CUDNN_DATA_INT32, dimension);
  }
  /// Folds the dimensions of extent 1 of `into`.
  GraphTensor fold(cudnnReduceTensorOp_t op, const GraphTensor& x, const GraphTensor& into) {
    const Descriptor reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    calls_.set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR, op);
    calls_.set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    calls_.finalize(reduction, "cudnnBackendFinalize (a reduction)");
    const Descriptor& it = operations_.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    calls_.set(it, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, into.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
    calls_.finalize(it, "cudnnBackendFinalize (a reduction in a graph)");
    return into;
  }
  /// The elements of x with other extents and strides.
  GraphTensor reshape(const GraphTensor& x, const GraphTensor& into) {
    const Descriptor& it = operations_.emplace_back(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    calls_.set(it, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, into.descriptor);
    calls_.finalize(it, "cudnnBackendFinalize (a reshape in a graph)");
    return into;
  }

  /// The graph; this object must live while cuDNN is queried about it.
  [[nodiscard]] Descriptor finish(const Machine& machine) {
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (machine.handle) calls_.set(graph, graph_handle, machine.handle);
    calls_.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_.data(), static_cast<std::int64_t>(operations_.size()));
    calls_.finalize(graph, "cudnnBackendFinalize (a graph)");
    return graph;
  }

 private:
  enum class Place { memory, by_value, never_stored };

  GraphTensor tensor(std::int64_t name, cudnnDataType_t type, const Shape& extents, const Strides& strides,
                     std::int64_t alignment, Place place) {
    GraphTensor it{Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR), extents, strides, type};
    calls_.set(it.descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    calls_.set(it.descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, extents.begin(), extents.rank());
    calls_.set(it.descriptor, CUDNN_ATTR_TENSOR_STRIDES, strides.begin(), extents.rank());
    calls_.set(it.descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, name);
    calls_.set(it.descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
    if (place == Place::never_stored) calls_.set(it.descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    if (place == Place::by_value) calls_.set(it.descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
    calls_.finalize(it.descriptor, "cudnnBackendFinalize (a tensor of a graph)");
    tensors_.push_back(it.descriptor);
    return it;
  }
  struct Inputs {
    const GraphTensor *x, *b, *t;
  };
  GraphTensor pointwise(cudnnPointwiseMode_t mode, const Inputs& inputs, const GraphTensor& into,
                        cudnnDataType_t precision, std::int64_t axis = -1) {
    const Descriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    calls_.set(function, CUDNN_ATTR_POINTWISE_MODE, mode);
    calls_.set(function, CUDNN_ATTR_POINTWISE_MATH_PREC, precision);
    if (axis >= 0) calls_.set(function, CUDNN_ATTR_POINTWISE_AXIS, axis);
    calls_.finalize(function, "cudnnBackendFinalize (a pointwise function)");
    const Descriptor& it = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    calls_.set(it, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
    calls_.set(it, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, inputs.x->descriptor);
    if (inputs.b) calls_.set(it, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, inputs.b->descriptor);
    if (inputs.t) calls_.set(it, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, inputs.t->descriptor);
    calls_.set(it, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, into.descriptor);
    calls_.finalize(it, "cudnnBackendFinalize (a pointwise function in a graph)");
    return into;
  }

  Calls& calls_;
  std::vector<Descriptor> tensors_, operations_;
  std::int64_t next_name_ = std::int64_t{1} << 32;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
