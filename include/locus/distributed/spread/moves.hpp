#pragma once
// What moves between the ranks of an axis, on plain tensors. `dim` is the dimension along which each rank has a part.

#include <locus/distributed/communicator/communicator.hpp>
#include <locus/ops/operation.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// (ranks, ...) -> (...), the parts joined along dim.
template <class T, class D>
[[nodiscard]] Tensor<T, D> joined(const Tensor<T, D>& parts, int dim) {
  Shape shape = parts.shape();
  const std::int64_t ranks = shape[0];
  shape.erase(0);
  shape[dim] *= ranks;
  if (dim == 0) return parts.reshape(shape);
  Axes order;
  for (int i = 1; i <= dim; ++i) order.push_back(i);
  order.push_back(0);
  for (int i = dim + 1; i < parts.rank(); ++i) order.push_back(i);
  return parts.permute(order).reshape(shape);
}
/// The extent of a rank's part of x. throws ShapeError
template <class T, class D>
[[nodiscard]] std::int64_t part_extent(const char* what, const Communicator<D>& comm, const Tensor<T, D>& x, int dim) {
  if (x.size(dim) % comm.size() != 0)
    fail<ShapeError>({what, ": dimension ", dim, " of shape ", x.shape(), " does not divide into equal parts for ",
                      comm.size(), " ranks; pad it, or use a size that ", comm.size(), " divides"});
  return x.size(dim) / comm.size();
}
/// (...) -> (ranks, ...): parts along dim, each dense. throws ShapeError
template <class T, class D>
[[nodiscard]] Tensor<T, D> as_parts(const char* what, const Communicator<D>& comm, const Tensor<T, D>& x, int dim) {
  Shape shape = x.shape();
  shape[dim] = part_extent(what, comm, x, dim);
  shape.insert(dim, comm.size());
  if (dim == 0) return x.reshape(shape);
  Axes order;
  order.push_back(dim);
  for (int i = 0; i <= x.rank(); ++i)
    if (i != dim) order.push_back(i);
  return x.reshape(shape).permute(order).contiguous();
}
/// The number of a dimension that may count from the end. throws ShapeError, with the name of the call
template <class T, class D>
[[nodiscard]] int dimension(const char* what, const Tensor<T, D>& x, int dim) {
  if (x.rank() == 0)
    fail<ShapeError>({what, ": dimension ", dim, " of shape (); a scalar has none, say x.unsqueeze(0) first"});
  const int result = dim < 0 ? dim + x.rank() : dim;
  if (result < 0 || result >= x.rank())
    fail<ShapeError>(
        {what, ": dimension ", dim, " of shape ", x.shape(), "; expected ", -x.rank(), " to ", x.rank() - 1});
  return result;
}

struct Unmoved {
  template <class T, class D> Tensor<T, D> operator()(const Communicator<D>&, const Tensor<T, D>& x) const { return x; }
};
struct SumOfRanks {
  template <class T, class D>
  Tensor<T, D> operator()(const Communicator<D>& comm, const Tensor<T, D>& x) const {
    return comm.all_reduced(x);
  }
};
struct Gather {
  int dim;
  template <class T, class D>
  Tensor<T, D> operator()(const Communicator<D>& comm, const Tensor<T, D>& x) const {
    const int at = dimension("all_gather", x, dim);
    return joined(comm.all_gather(x), at);
  }
};
struct ReduceScatter {
  int dim;
  template <class T, class D>
  Tensor<T, D> operator()(const Communicator<D>& comm, const Tensor<T, D>& x) const {
    return comm.reduce_scatter(as_parts("reduce_scatter", comm, x, dimension("reduce_scatter", x, dim)));
  }
};
struct TakePart {
  int dim;
  template <class T, class D>
  Tensor<T, D> operator()(const Communicator<D>& comm, const Tensor<T, D>& x) const {
    const int at = dimension("part", x, dim);
    const std::int64_t extent = part_extent("part", comm, x, at);
    return x.slice(at, comm.rank() * extent, (comm.rank() + 1) * extent);
  }
};
/// Zeros, but for this rank's part.
struct Surround {
  int dim;
  template <class T, class D>
  Tensor<T, D> operator()(const Communicator<D>& comm, const Tensor<T, D>& x) const {
    Shape shape = x.shape();
    shape[dimension("part", x, dim)] *= comm.size();
    const Tensor<T, D> whole = zeros<T>(shape, x.device());
    (void)TakePart{dim}(comm, whole).copy_(x);
    return whole;
  }
};
struct Exchange {
  int split, join;
  template <class T, class D>
  Tensor<T, D> operator()(const Communicator<D>& comm, const Tensor<T, D>& x) const {
    const int from = dimension("all_to_all", x, split), to = dimension("all_to_all", x, join);
    return joined(comm.all_to_all(as_parts("all_to_all", comm, x, from)), to);
  }
};
/// x on rank 0, zeros on the others: the ranks' sum is x.
struct OnRankZero {
  template <class T, class D>
  Tensor<T, D> operator()(const Communicator<D>& comm, const Tensor<T, D>& x) const {
    return comm.rank() == 0 ? x : zeros<T>(x.shape(), x.device());
  }
};

/// A move, and the move of its gradient.
template <class D, class There, class Back>
struct Moved {
  static constexpr const char* name = "collective";
  Communicator<D> comm;
  There there;
  Back back;

  template <class T> auto forward(const Tensor<T, D>& x) const { return Forwarded{there(comm, x), Tuple<>()}; }
  template <class T>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    if (dx) dx.give(back(comm, g));
  }
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
