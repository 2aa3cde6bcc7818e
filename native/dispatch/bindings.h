// Array types of the bindings, and the checks they share.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>
#include "dispatch/kernels.h"
#include "vectors/compiler.h"

namespace bayeskit {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T, int N> using Array = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <typename T, int N> using Input = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <typename T, int N> using Output = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Anywhere = nb::ndarray<double, nb::ndim<2>, nb::device::cpu>;  // a matrix in any layout
using Spaced = nb::ndarray<double, nb::ndim<3>, nb::device::cpu>;    // the same of three axes
using Weights = std::optional<Input<double, 1>>;

constexpr double LOG_ROOT_2PI = 0.91893853320467274178;  // log(sqrt(2 pi))

// The clone in use: the one piece of global state.
extern const Kernels *kernels;

[[noreturn]] inline void refuse(const std::string &what) { throw nb::value_error(what.c_str()); }
inline void require(bool good, const char *what) {
    if (!good) refuse(what);
}

// Ascending, the same value any number of times in a row: what binary searches rely on.
template <typename T> inline bool ascends(const T *x, size_t n) {
    bool good = !n || x[0] == x[0];
    for (size_t i = 1; i < n; ++i) good &= x[i - 1] <= x[i];
    return good;
}

// Ascending and finite, one and the same value any number of times if `equal`.
inline void require_ascending(const double *x, size_t n, bool equal, const char *what) {
    bool good = true;
    for (size_t i = 0; i < n; ++i) good &= x[i] - x[i] == 0;
    for (size_t i = 1; i < n; ++i) good &= equal ? x[i - 1] <= x[i] : x[i - 1] < x[i];
    require(good, what);
}

inline void require_weights(const double *w, size_t n, const char *what) {
    bool good = true;
    for (size_t i = 0; i < n; ++i) good &= w[i] >= 0 && w[i] - w[i] == 0;
    require(good, what);
}

inline void check(Status s) {
    switch (s) {
    case Status::fine: return;
    case Status::group: refuse("a group is below -1 or not below the number of groups of the sums");
    case Status::code: refuse("a level code is below -2 or not below the size of its column");
    case Status::weight: refuse("a weight is negative or not finite");
    case Status::window: refuse("a value is infinite or does not fit the limbs; widen them (see limb_window)");
    case Status::infinite: refuse("a value is infinite");
    case Status::memory: throw std::bad_alloc();
    }
}

// Runs a kernel without Python's lock, and refuses what it says cannot be.
template <class Kernel> void run(Kernel kernel) {
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernel();
    }
    check(status);
}

// A NumPy array that owns its memory.
template <typename T, int N> struct Owned {
    T *data;
    Array<T, N> array;
    explicit Owned(std::initializer_list<size_t> shape) {
        size_t n = sizeof(T);
        for (size_t s : shape)
            if (__builtin_mul_overflow(n, s, &n)) throw std::bad_alloc();
        n /= sizeof(T);
        data = new T[n ? n : 1]();
        nb::capsule owner(data, [](void *p) noexcept { delete[] (T *) p; });
        array = Array<T, N>(data, shape, owner);
    }
};

inline Columns columns_of(const Input<uint64_t, 1> &address, const Input<int64_t, 1> &stride, int64_t rows) {
    require(address.shape(0) == stride.shape(0), "address and stride differ in length");
    require(rows >= 0, "rows is negative");
    return {address.data(), stride.data(), int64_t(address.shape(0)), rows};
}

inline Codes codes_of(const Input<int32_t, 2> &codes) {
    return {codes.data(), int64_t(codes.shape(0)), int64_t(codes.shape(1))};
}

inline Grid grid_of(Anywhere &m) { return {m.data(), m.stride(0), m.stride(1)}; }

inline const double *weights_of(const Weights &w, int64_t rows) {
    if (!w) return nullptr;
    require(int64_t(w->shape(0)) == rows, "weights differ in length from rows");
    return w->data();
}

template <typename S> Sums sums_of(S &limbs, int64_t low) {
    size_t last = limbs.ndim() - 1;
    require(limbs.shape(last) >= 1 && limbs.shape(last) <= 1024, "sums need 1 to 1024 limbs");
    require(low >= -1024 && low <= 1024, "low is not a limb position of a double");
    return {const_cast<int64_t *>(limbs.data()), int64_t(limbs.shape(last)), low};
}

// What a file adds to the module: each file of bindings makes one, and no list names them.
struct Binding {
    using Add = void (*)(nb::module_ &);
    explicit Binding(Add add) { all().push_back(add); }
    static std::vector<Add> &all() {
        static std::vector<Add> every;
        return every;
    }
};

}  // namespace bayeskit
