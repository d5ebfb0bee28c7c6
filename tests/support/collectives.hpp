#pragma once
// Compares every collective of a communicator with serial float64 references. Independent of the test framework, since
// processes that mpirun starts and threads use it: errors are thrown.

#include <locus/distributed/distributed.hpp>
#include <locus/tensor/copy.hpp>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace locus_test {
using namespace locus;

/// Element i of rank r: exact in T, and the same everywhere.
template <class T>
[[nodiscard]] T element_of_rank(int rank, std::int64_t i) {
  auto bits = static_cast<std::uint32_t>(rank * 7919 + 13) * 2654435761u + static_cast<std::uint32_t>(i) * 2246822519u;
  bits ^= bits >> 15;
  bits *= 0x85ebca6bu;
  bits ^= bits >> 13;
  if constexpr (std::is_same_v<T, bool>) return bits % 4 != 0;
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int32_t>(bits % 201) - 100);
  else return static_cast<T>(static_cast<float>(static_cast<std::int32_t>(bits % 4001) - 2000) / 512.0f);
}

/// Result of an op in float64 (integers: in int64), and its tolerance.
struct Expected {
  double value, tolerance;
};
template <class T, class Op>
[[nodiscard]] Expected expected(int ranks, std::int64_t i, Op) {
  using namespace dist;
  if constexpr (std::is_integral_v<T>) {
    std::int64_t sum = static_cast<std::int64_t>(element_of_rank<T>(0, i));
    for (int rank = 1; rank < ranks; ++rank) {
      const auto x = static_cast<std::int64_t>(element_of_rank<T>(rank, i));
      if constexpr (std::is_same_v<Op, op::Sum>) sum += x;
      else if constexpr (std::is_same_v<Op, op::Prod>) sum *= x;
      else if constexpr (std::is_same_v<Op, op::Min>) sum = x < sum ? x : sum;
      else sum = x > sum ? x : sum;
    }
    return {static_cast<double>(static_cast<T>(sum)), 0};
  } else {
    double sum = static_cast<double>(static_cast<compute_t<T>>(element_of_rank<T>(0, i))), size = std::fabs(sum);
    for (int rank = 1; rank < ranks; ++rank) {
      const double x = static_cast<double>(static_cast<compute_t<T>>(element_of_rank<T>(rank, i)));
      if constexpr (std::is_same_v<Op, op::Prod>) sum *= x, size = std::fabs(sum);
      else if constexpr (std::is_same_v<Op, op::Min>) sum = x < sum ? x : sum;
      else if constexpr (std::is_same_v<Op, op::Max>) sum = x > sum ? x : sum;
      else sum += x, size += std::fabs(x);
    }
    if (std::is_same_v<Op, op::Mean>) sum /= ranks;
    if (std::is_same_v<Op, op::Min> || std::is_same_v<Op, op::Max>) return {sum, 0};
    const double in_register = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
    const double stored = std::is_same_v<T, half> ? 0x1p-11 : std::is_same_v<T, bfloat16> ? 0x1p-8 : in_register;
    const bool overflows = std::is_same_v<T, half> && std::fabs(sum) > 65504;
    return {overflows ? std::copysign(HUGE_VAL, sum) : sum,
            1.001 * std::fabs(sum) * stored + ranks * size * in_register + (std::is_same_v<T, half> ? 0x1p-25 : 0)};
  }
}

[[noreturn]] inline void wrong(const std::string& what) { throw std::runtime_error(what); }

/// Throws unless element i is expected(i).
template <class T, class D, class F>
void require_elements(const std::string& what, const Tensor<T, D>& x, const F& expected_at) {
  const Tensor<T, Cpu> host = x.contiguous().template to<Cpu>();
  for (std::int64_t i = 0; i < host.elements(); ++i) {
    const auto got = static_cast<double>(static_cast<compute_t<T>>(host.data()[i]));
    const Expected wanted = expected_at(i);
    if (!(std::fabs(got - wanted.value) <= wanted.tolerance || got == wanted.value))
      wrong(join(what, " of ", dtype_name<T>(), " ", x.shape(), ": element ", i, " is ", got, ", expected ",
                 wanted.value, " +- ", wanted.tolerance));
  }
}
/// Throws unless x is bitwise equal on all ranks.
template <class T, class D>
void require_same_bits(const std::string& what, const dist::Communicator<D>& comm, const Tensor<T, D>& x) {
  const Tensor<T, Cpu> mine = x.contiguous().template to<Cpu>();
  const Tensor<T, D> first = x.clone();
  comm.broadcast(first, 0);
  const Tensor<T, Cpu> theirs = first.template to<Cpu>();
  if (std::memcmp(mine.data(), theirs.data(), static_cast<std::size_t>(mine.elements()) * sizeof(T)) != 0)
    wrong(join(what, " of ", dtype_name<T>(), " ", x.shape(), ": rank ", comm.rank(), " has other bits than rank 0"));
}

template <class T, class D>
[[nodiscard]] Tensor<T, D> of_rank(int rank, const Shape& shape, D device) {
  Tensor<T, Cpu> host(shape);
  for (std::int64_t i = 0; i < host.elements(); ++i) host.data()[i] = element_of_rank<T>(rank, i);
  return host.template to<D>(device);
}

/// A strided view, filled with the rank's elements in the view's row-major order.
template <class T, class D>
[[nodiscard]] Tensor<T, D> strided(int rank, std::int64_t rows, std::int64_t cols, D device) {
  const Tensor<T, D> view = Tensor<T, D>({cols, 2 * rows}, device).slice(1, 0, 2 * rows, 2).transpose();
  view.copy_(of_rank<T, D>(rank, {rows, cols}, device));
  return view;
}

/// The reductions.
template <class T, class D, class Op>
void check_reductions(const dist::Communicator<D>& comm, std::int64_t count, Op op) {
  const int n = comm.size(), me = comm.rank();
  const auto summed = [&](std::int64_t i) { return expected<T>(n, i, op); };
  const auto x = of_rank<T, D>(me, {count}, comm.device());
  const std::string name = join(Op::name, " among ", n);

  const Tensor<T, D> y = comm.all_reduced(x, op);
  require_elements("all_reduced " + name, y, summed);
  require_same_bits("all_reduced " + name, comm, y);
  require_elements("all_reduced's source, " + name, x, [&](std::int64_t i) {
    return Expected{static_cast<double>(static_cast<compute_t<T>>(element_of_rank<T>(me, i))), 0};
  });
  const Tensor<T, D> in_place = x.clone();
  comm.all_reduce(in_place, op);
  require_elements("all_reduce " + name, in_place, summed);
  require_same_bits("all_reduce " + name, comm, in_place);
  const Tensor<T, D> again = std::move(comm.all_reduce_async(x.clone(), op)).wait();
  require_elements("all_reduce_async " + name, again, summed);

  const int root = n - 1;
  const Tensor<T, D> at_root = x.clone();
  comm.reduce(at_root, root, op);
  require_elements("reduce " + name, at_root, [&](std::int64_t i) {
    return me == root ? summed(i)
                      : Expected{static_cast<double>(static_cast<compute_t<T>>(element_of_rank<T>(me, i))), 0};
  });
  const auto rows = of_rank<T, D>(me, {n, count}, comm.device());
  require_elements("reduce_scatter " + name, comm.reduce_scatter(rows, op),
                   [&](std::int64_t i) { return summed(me * count + i); });
  if (count > 2000) return;  // small strided views suffice
  const auto view = strided<T, D>(me, 3, count / 3, comm.device());
  comm.all_reduce(view, op);
  require_elements("strided all_reduce " + name, view, summed);
  require_elements("strided all_reduced " + name, comm.all_reduced(strided<T, D>(me, 3, count / 3, comm.device()), op),
                   summed);
}

/// The collectives that only move elements.
template <class T, class D>
void check_moves(const dist::Communicator<D>& comm, std::int64_t count) {
  const int n = comm.size(), me = comm.rank();
  const auto of = [](int rank, std::int64_t i) {
    return Expected{static_cast<double>(static_cast<compute_t<T>>(element_of_rank<T>(rank, i))), 0};
  };
  const auto mine = of_rank<T, D>(me, {count}, comm.device());
  for (const int root : {0, n - 1}) {
    const Tensor<T, D> x = mine.clone();
    comm.broadcast(x, root);
    require_elements("broadcast", x, [&](std::int64_t i) { return of(root, i); });
    const Tensor<T, D> view = strided<T, D>(me, 3, count / 3 % 1000, comm.device());
    comm.broadcast(view, root);
    require_elements("strided broadcast", view, [&](std::int64_t i) { return of(root, i); });
  }
  const Tensor<T, D> all = comm.all_gather(mine);
  if (!(all.shape() == Shape{n, count})) wrong(join("all_gather gives ", all.shape()));
  for (int rank = 0; rank < n; ++rank)
    require_elements("all_gather", all.select(0, rank), [&](std::int64_t i) { return of(rank, i); });
  const Tensor<T, D> exchanged = comm.all_to_all(of_rank<T, D>(me, {n, count}, comm.device()));
  for (int rank = 0; rank < n; ++rank)
    require_elements("all_to_all", exchanged.select(0, rank), [&](std::int64_t i) { return of(rank, me * count + i); });

  const int next = (me + 1) % n, before = (me + n - 1) % n;
  comm.send(mine, next, 1);
  comm.send(of_rank<T, D>(me + n, {count}, comm.device()), next, 2);
  const Tensor<T, D> first = mine.clone(), second = mine.clone();
  comm.recv(second, before, 2);
  std::move(comm.recv_async(first, before, 1)).wait();
  require_elements("recv", first, [&](std::int64_t i) { return of(before, i); });
  require_elements("recv", second, [&](std::int64_t i) { return of(before + n, i); });
  comm.barrier();
  std::move(comm.barrier_async()).wait();
}

template <class T, class D>
void check_type(const dist::Communicator<D>& comm, std::int64_t count) {
  check_reductions<T>(comm, count, dist::sum);
  check_reductions<T>(comm, count, dist::prod);
  check_reductions<T>(comm, count, dist::min);
  check_reductions<T>(comm, count, dist::max);
  if constexpr (FloatingDType<T>) check_reductions<T>(comm, count, dist::mean);
  check_moves<T>(comm, count);
}
template <class D>
void check_every_type(const dist::Communicator<D>& comm, std::int64_t count) {
  check_type<float>(comm, count);
  check_type<double>(comm, count);
  check_type<half>(comm, count);
  check_type<bfloat16>(comm, count);
  check_type<std::int32_t>(comm, count);
  check_type<std::int64_t>(comm, count);
  check_type<std::uint8_t>(comm, count);
  check_type<bool>(comm, count);
}

/// Several collectives in flight, completed out of order.
template <class D>
void check_order_of_handles(const dist::Communicator<D>& comm) {
  auto first = comm.all_reduce_async(Tensor<float, D>({1000}, comm.device()).fill_(1));
  auto second = comm.all_gather_async(Tensor<float, D>({10}, comm.device()).fill_(static_cast<float>(comm.rank())));
  auto third = comm.all_reduced_async(Tensor<float, D>({7}, comm.device()).fill_(2), dist::prod);
  Tensor<float, D> now({5}, comm.device());
  now.fill_(3);
  comm.all_reduce(now, dist::max);  // ordered after the collectives in flight
  const auto is = [](double value) { return [value](std::int64_t) { return Expected{value, 0}; }; };
  require_elements("in between", now, is(3));
  require_elements("third", std::move(third).ordered(), is(std::pow(2, comm.size())));
  require_elements("first", std::move(first).wait(), is(comm.size()));
  require_elements("second", std::move(second).ordered().select(0, comm.size() - 1), is(comm.size() - 1));
  (void)comm.all_reduce_async(now);  // destroying the handle waits
}

/// Rows of two ranks and columns in reverse order: numbers, collectives of each group, and of all beside them.
template <class D>
void check_groups(const dist::Communicator<D>& comm) {
  const int n = comm.size(), me = comm.rank(), of_row = me / 2 * 2 + 1 < n ? 2 : 1, of_column = (n + 1 - me % 2) / 2;
  const auto row = comm.split(me / 2), column = comm.split(me % 2, -me);
  const auto require = [](const char* what, int got, int wanted) {
    if (got != wanted) wrong(join(what, " is ", got, ", expected ", wanted));
  };
  require("the size of a row", row.size(), of_row);
  require("the rank in a row", row.rank(), me % 2);
  require("the size of a column", column.size(), of_column);
  require("the rank in a column", column.rank(), of_column - 1 - me / 2);
  for (const auto* const group : {&row, &column}) {
    check_reductions<float>(*group, 1001, dist::sum);
    check_moves<float>(*group, 100);
    check_order_of_handles(*group);
  }
  const auto is = [](double value) { return [value](std::int64_t) { return Expected{value, 0}; }; };
  const auto number = [&](double value) {
    return Tensor<float, D>({3}, comm.device()).fill_(static_cast<float>(value));
  };
  auto in_row = row.all_reduced_async(number(me)), in_column = column.all_reduced_async(number(1)),
       in_all = comm.all_reduced_async(number(2));
  require_elements("of all, in flight", std::move(in_all).ordered(), is(2 * n));
  require_elements("of a column, in flight", std::move(in_column).ordered(), is(of_column));
  require_elements("of a row, in flight", std::move(in_row).ordered(), is(of_row * (me / 2 * 2) + of_row - 1));
  const auto places = column.all_gather(number(me));
  for (int i = 0; i < of_column; ++i)
    require_elements("ranks of a column", places.select(0, i), is(me % 2 + 2 * (of_column - 1 - i)));
  const auto ordered = comm.with_sums(dist::Sums::in_rank_order).split(0).split(me);
  require("the size of a group within a group", ordered.size(), 1);
  if (ordered.sums() != dist::Sums::in_rank_order) wrong("a group forgot how sums are made");
  check_reductions<float>(comm, 100, dist::sum);
}

}  // namespace locus_test
