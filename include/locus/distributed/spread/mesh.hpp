#pragma once
// Mesh<D, A...>: ranks in a grid with an axis for each of A...

#include <locus/core/std/pack.hpp>
#include <locus/distributed/spread/generator.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/distributed/spread/same.hpp>

#include <array>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// Whether states S... name the axis A.
template <class A, class... S>
inline constexpr bool names = (std::is_same_v<A, typename S::axis> || ...);

template <class L, class... S>
struct Listed : std::type_identity<L> {};
template <class L, class F, class... R>
struct Listed<L, F, R...> : Listed<with_t<L, typename F::axis, F::spread>, R...> {};

/// throws ArgumentError unless a grid has a place for each of so many ranks
template <std::size_t axes>
void require_grid(const std::array<int, axes>& extents, int ranks) {
  std::int64_t places = 1;
  std::string text;
  for (const int extent : extents) {
    if (extent < 1) fail<ArgumentError>({"mesh: an extent of ", extent, "; expected 1 or more along each axis"});
    places *= extent;
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  }
  if (places != ranks)
    fail<ArgumentError>({"mesh: ", text, " has ", places, " places for ", ranks,
                         " ranks; expected extents whose product is the number of ranks"});
}
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// One rank of a grid. Ranks are numbered along the last axis first: of 2 x 4, rank 5 has the places 1 and 1.
///
///     struct Grid;
///     struct Data : Along<Grid> {};
///     struct Model : Along<Grid> {};
///     const dist::Mesh<Cpu, Data, Model> mesh(comm, {2, 4});   // on all eight ranks
///     const auto x = mesh.label<Varying<Data>, Invariant<Model>>(batch);
template <class D, class... A>
class Mesh {
 public:
  using device_type = D;

  /// A communicator for each axis, by Communicator::split, whose errors name the axis: by its static member `name`, as
  /// in struct Data : Along<Grid> { static constexpr const char* name = "Data"; }, or by its number. All ranks call it
  /// with the same extents. throws
  /// ArgumentError unless their product is the number of ranks; errors of split()
  Mesh(const Communicator<D>& all, const std::array<int, sizeof...(A)>& extents)
      : all_(all), axes_(axes_of(all, extents, std::make_index_sequence<sizeof...(A)>())) {}

  [[nodiscard]] const Communicator<D>& communicator() const { return all_; }
  /// The ranks along an axis, this one among them.
  template <class B>
    requires(std::is_same_v<A, B> || ...)
  [[nodiscard]] const Ranks<B, D>& along() const {
    return get<number_of<B>>(axes_);
  }

  /// x, spread as S... say, which name each axis of the mesh: a claim. Nothing is sent, unless Options::debug or
  /// LOCUS_DIST_DEBUG=1 asks for checks: then it is a collective that compares values with Invariant and Replicated on
  /// all ranks, and throws ArgumentError on all of them where it is not.
  template <class... S, class X>
    requires(locus::detail::On<X, D> && sizeof...(S) == sizeof...(A) && (detail::names<A, S...> && ...))
  [[nodiscard]] auto label(X x) const {
    (require_as_said<S>(x), ...);
    return detail::labelled<typename detail::Listed<detail::States<>, S...>::type>(std::move(x));
  }
  /// x of rank 0 on all ranks, in place: Invariant along all axes.
  template <class X>
    requires(locus::detail::On<X, D> && !locus::detail::is_expr<X>)
  [[nodiscard]] auto same(const X& x) const {
    if constexpr (X::role == Role::plain) all_.broadcast(x);
    else all_.broadcast(x.value());
    return detail::labelled<detail::States<>>(X(x));
  }
  /// A generator whose numbers are alike along the axes that S... call Invariant or Replicated, and differ along those
  /// that they call Varying. All ranks pass the same seed.
  ///
  ///     auto numbers = mesh.generator<Varying<Data>, Invariant<Model>>(1);
  ///     h = dropout(h, 0.1, numbers);
  template <class... S>
    requires(sizeof...(S) == sizeof...(A) && (detail::names<A, S...> && ...) && ((S::spread != Spread::partial) && ...))
  [[nodiscard]] auto generator(std::uint64_t seed) const {
    const auto vary = [&]<class B>(std::type_identity<B>) {
      constexpr int axes = sizeof...(A), number = static_cast<int>(number_of<B>);
      if (detail::along<B>(detail::States<S...>()) == Spread::varying)
        seed = locus::detail::seed_of_rank(seed, along<B>().rank() * axes + number);
    };
    (vary(std::type_identity<A>()), ...);
    return typename detail::GeneratorOf<D, typename detail::Listed<detail::States<>, S...>::type>::type(seed);
  }
  /// The parameter w as a layer uses it on x: replicated() along the axes along which x is not Invariant. Plain where x
  /// is.
  template <class X, class P> [[nodiscard]] auto seen_by(const X& x, const P& w) const { return seen<A...>(x, w); }
#include <locus/refuse/distributed/spread/mesh_class.inc>

 private:
  template <class S, class X>
  void require_as_said(const X& x) const {
    if constexpr (S::spread == Spread::invariant || S::spread == Spread::replicated) {
      const auto& value = x.eval();
      detail::require_same(along<typename S::axis>(), value.value(), "mesh.label<...>(x): x");
    }
  }
  template <class B>
  static constexpr std::size_t number_of = [] {
    std::size_t i = 0, found = 0;
    ((std::is_same_v<A, B> ? void(found = i++) : void(++i)), ...);
    return found;
  }();
  template <std::size_t... i>
  [[nodiscard]] static Tuple<Ranks<A, D>...> axes_of(const Communicator<D>& all,
                                                     const std::array<int, sizeof...(A)>& extents,
                                                     std::index_sequence<i...>) {
    detail::require_grid(extents, all.size());
    return Tuple<Ranks<A, D>...>{
        Ranks<A, D>(all.split(line_of(all.rank(), extents, i), 0, "along " + name_of_axis<A>(i)))...};
  }
  /// In errors: the static member `name` of the axis, if it has one; else "axis 0", by its number.
  template <class B>
  [[nodiscard]] static std::string name_of_axis(std::size_t number) {
    if constexpr (requires { std::string(B::name); }) return B::name;
    else return join("axis ", number);
  }
  /// The number of the line along an axis that a rank belongs to.
  [[nodiscard]] static int line_of(int rank, const std::array<int, sizeof...(A)>& extents, std::size_t axis) {
    int inner = 1;
    for (std::size_t i = axis + 1; i < extents.size(); ++i) inner *= extents[i];
    return rank / (inner * extents[axis]) * inner + rank % inner;
  }
  template <class B, class... R, class X, class P>
  [[nodiscard]] auto seen(const X& x, const P& w) const {
    if constexpr (detail::along_of<B, X> != Spread::invariant && detail::SpreadAs<P, B, Spread::invariant>) {
      const auto replicated = [&] {
        if constexpr (detail::has_role<X>(Role::traced)) return along<B>().replicated(w);
        else return detail::labelled<detail::with_t<detail::states_of<P>, B, Spread::replicated>>(w.local().value());
      };
      return rest<R...>(x, replicated());
    } else {
      return rest<R...>(x, w);
    }
  }
  template <class... R, class X, class P>
  [[nodiscard]] auto rest(const X& x, const P& w) const {
    if constexpr (sizeof...(R) == 0) return w;
    else return seen<R...>(x, w);
  }

  Communicator<D> all_;
  Tuple<Ranks<A, D>...> axes_;
};
LOCUS_REFUSALS_END

}}}  // namespace locus::LOCUS_ABI::dist
