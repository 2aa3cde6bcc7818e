// Exact totals of stored values by group and column. One group at a time is added up, in sums that stay in the cache, and
// only columns that have anything are given back: most have not.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include "exact/limbs.h"
#include "sparse/rows.h"

namespace bayeskit::sparse { namespace {

// Which columns may have a sum, sixteen at a time: a byte is written for each value, nothing is read.
class Marks {
public:
    explicit Marks(int64_t width) : width(width), mark(size_t(width >> 4) + 1), list(size_t(width) + 1) {}
    inline void see(int32_t column) { mark[size_t(column) >> 4] = 1; }

    // The columns with a sum, in order; the marks are taken away.
    template <class Cells> int64_t found(const Cells &cells) {
        int64_t n = 0;
        for (size_t b = 0; b < mark.size(); ++b) {
            if (!mark[b]) continue;
            mark[b] = 0;
            int64_t end = std::min(width, int64_t(b + 1) << 4);
            for (int64_t j = int64_t(b) << 4; j < end; ++j) {
                list[size_t(n)] = int32_t(j);
                n += cells.any(j);
            }
        }
        return n;
    }
    uint8_t *bytes() { return mark.data(); }
    const int32_t *columns() const { return list.data(); }

private:
    int64_t width;
    std::vector<uint8_t> mark;
    std::vector<int32_t> list;
};

// Whole numbers times whole weights.
class WholeSums {
public:
    static constexpr double MOST = 0x1p53;  // the largest product: whole numbers up to it are exact
    WholeSums(int64_t width, Sums like, bool presence) : sum(size_t(width)), place(-like.low), presence(presence) {}
    bool add(const int32_t *column, const double *value, int64_t n, double mass, Marks &marks) {
        int64_t by = int64_t(mass), *const to = sum.data();
        bool good = mass <= MOST;
        if (by == 1 && !presence)  // the usual case, without a product; no value is above the highest, which was checked
            for (int64_t k = 0; k < n; ++k) {
                to[column[k]] = wrapped(to[column[k]], value[k] > 0 ? int64_t(value[k]) : 0);
                marks.see(column[k]);
            }
        else
            for (int64_t k = 0; good && k < n; ++k) {
                double product = counted(value[k], presence) * mass;
                good &= product <= MOST;
                to[column[k]] = wrapped(to[column[k]], product <= MOST ? int64_t(product) : 0);
                marks.see(column[k]);
            }
        return good;
    }
    bool any(int64_t j) const { return sum[size_t(j)] != 0; }
    bool move(int64_t j, Sums to) {
        to.limb[place] = sum[size_t(j)];
        sum[size_t(j)] = 0;
        return true;
    }

private:
    std::vector<int64_t> sum;
    int64_t place;  // of the limb of 2^0
    bool presence;
};

// Doubles not too far apart: each is cut at 2^-cut, and what is above and what is below are added up as doubles. Both stay
// multiples of their unit below 2^53 of them, so nothing is rounded; what has gathered below moves up in time.
class PairSums {
public:
    // Up to `rows` values between lowest and highest for each column.
    PairSums(int64_t width, int64_t rows, double lowest, double highest) {
        int64_t bits = 3, least = std::max(-1022, std::ilogb(lowest)), most = std::ilogb(highest);
        while (rows >> bits) ++bits;
        cut = 51 - most - bits;
        unit = least - 52;
        int64_t room = least + 2 + cut;  // 2^room values of half a 2^-cut are 2^53 units
        span = room < 0 ? 0 : room > 40 ? rows : (int64_t(1) << room) - 1;
        if (span < std::min<int64_t>(rows, 1000) || 52 - cut > 1000 || cut > 1000 || unit < -1000) return;
        good = true;
        left = span;
        big = std::ldexp(1.5, int(52 - cut));
        up = std::ldexp(1.0, int(cut));
        down = std::ldexp(1.0, int(-unit));
        sum.resize(size_t(width));
    }
    bool fits() const { return good; }
    bool add(const int32_t *column, const double *value, int64_t n, double, Marks &marks) {
        kernels->add_high_low(column, value, n, big, reinterpret_cast<double *>(sum.data()), marks.bytes());
        if (--left == 0) carry_up();
        return true;
    }
    bool any(int64_t j) const {
        const Pair &s = sum[size_t(j)];
        return (s.above != 0) | (s.below != 0);
    }
    bool move(int64_t j, Sums to) {
        Pair &s = sum[size_t(j)];
        constexpr double MOST = 0x1p62;
        if (!(std::fabs(s.above * up) < MOST && std::fabs(s.below * down) < MOST)) return false;  // above what was said
        bool inside = bayeskit::add(to, 0, int64_t(s.above * up), -cut);
        inside &= bayeskit::add(to, 0, int64_t(s.below * down), unit);
        carry_cell(to.limb, to.length);
        s = {0, 0};
        return inside;
    }

private:
    struct Pair {
        double above, below;
    };
    void carry_up() {
        for (Pair &s : sum) {
            double up = (s.below + big) - big;
            s = {s.above + up, s.below - up};
        }
        left = span;
    }

    std::vector<Pair> sum;
    int64_t cut, unit, span, left = 0;  // rows until what is below must move up
    double big = 0, up = 0, down = 0;
    bool good = false;
};

// Doubles of any size, with any weights.
class LimbSums {
public:
    LimbSums(int64_t width, Sums like, bool presence)
        : limb(size_t(width * like.length)), sums{limb.data(), like.length, like.low}, presence(presence) {}
    bool add(const int32_t *column, const double *value, int64_t n, double mass, Marks &marks) {
        bool inside = true;
        for (int64_t k = 0; k < n; ++k) {
            double x = counted(value[k], presence);
            if (!(x > 0)) continue;
            inside &= mass == 1 ? bayeskit::add(sums, column[k], x) : add_product(sums, column[k], x, mass, false);
            marks.see(column[k]);
        }
        return inside;
    }
    bool any(int64_t j) const {
        int64_t found = 0;
        for (int64_t l = 0; l < sums.length; ++l) found |= limb[size_t(j * sums.length + l)];
        return found != 0;
    }
    bool move(int64_t j, Sums to) {
        int64_t *from = sums.limb + j * sums.length;
        std::copy(from, from + sums.length, to.limb);
        std::fill(from, from + sums.length, 0);
        carry_cell(to.limb, to.length);
        return true;
    }

private:
    std::vector<int64_t> limb;
    Sums sums;
    bool presence;
};

// An array that grows, and is given away at its end.
template <typename T> struct Growing {
    T *data = nullptr;
    int64_t size = 0, room = 0;
    Growing() = default;
    Growing(const Growing &) = delete;
    Growing &operator=(const Growing &) = delete;
    ~Growing() { std::free(data); }
    T *more(int64_t n) {
        if (size + n > room) {
            room = std::max<int64_t>(size + n, 2 * room);
            void *moved = std::realloc(data, size_t(std::max<int64_t>(room, 1)) * sizeof(T));
            if (!moved) throw std::bad_alloc();
            data = static_cast<T *>(moved);
        }
        size += n;
        return data + size - n;
    }
    T *release() {
        more(0);
        T *given = data;
        data = nullptr;
        return given;
    }
};

template <typename T, int N> Array<T, N> given(Growing<T> &from, std::initializer_list<size_t> shape) {
    T *data = from.release();
    nb::capsule owner(data, [](void *p) noexcept { std::free(p); });
    return Array<T, N>(data, shape, owner);
}

// Rows of each group, one group after the other; those of none, or of no weight, are left out.
struct ByGroup {
    std::vector<int64_t> begin, row;
    ByGroup(const int32_t *groups, const double *w, int64_t rows, int64_t count) : begin(size_t(count) + 1), row(size_t(rows)) {
        auto used = [&](int64_t i) { return groups[i] >= 0 && (!w || w[i] > 0); };
        for (int64_t i = 0; i < rows; ++i)
            if (used(i)) ++begin[size_t(groups[i]) + 1];
        for (size_t g = 0; g < size_t(count); ++g) begin[g + 1] += begin[g];
        std::vector<int64_t> next(begin.begin(), begin.end() - 1);
        for (int64_t i = 0; i < rows; ++i)
            if (used(i)) row[size_t(next[size_t(groups[i])]++)] = i;
    }
    int64_t most() const {
        int64_t n = 0;
        for (size_t g = 0; g + 1 < begin.size(); ++g) n = std::max(n, begin[g + 1] - begin[g]);
        return n;
    }
};

struct Gathered {
    Growing<int32_t> column;
    Growing<int64_t> limb;
    std::vector<int64_t> start{0};
};

template <class Cells>
bool gather_by(Cells &&cells, const Rows &r, const ByGroup &by, const double *w, int64_t width, Sums like, Gathered &out) {
    constexpr int64_t AHEAD = 3;
    Marks marks(width);
    bool good = true;
    for (size_t g = 0; g + 1 < by.begin.size(); ++g) {
        for (int64_t at = by.begin[g]; at < by.begin[g + 1]; ++at) {
            int64_t i = by.row[size_t(at)];
            if (at + AHEAD < by.begin[g + 1]) {  // rows of a group lie anywhere
                int64_t soon = by.row[size_t(at + AHEAD)];
                for (int64_t k = r.start[soon]; k < r.start[soon + 1]; k += 8) __builtin_prefetch(r.value + k);
                for (int64_t k = r.start[soon]; k < r.start[soon + 1]; k += 16) __builtin_prefetch(r.column + k);
            }
            good &= cells.add(r.column + r.start[i], r.value + r.start[i], r.start[i + 1] - r.start[i], w ? w[i] : 1.0, marks);
        }
        int64_t n = marks.found(cells);
        std::copy(marks.columns(), marks.columns() + n, out.column.more(n));
        int64_t *limb = out.limb.more(n * like.length);
        std::fill(limb, limb + n * like.length, 0);
        for (int64_t k = 0; k < n; ++k, limb += like.length)
            good &= cells.move(marks.columns()[k], {limb, like.length, like.low});
        out.start.push_back(out.column.size);
    }
    return good;
}

// Columns and sums (cells, limbs) of each group, from starts (groups + 1) on. Lowest and highest are of the values above 0.
std::tuple<Array<int64_t, 1>, Array<int32_t, 1>, Array<int64_t, 2>>
sparse_sums(Starts indptr, Places indices, Numbers values, Input<int32_t, 1> groups, Weights weights, int64_t n_groups,
            int64_t width, bool presence, bool integer, int64_t low, int64_t high, double lowest, double highest) {
    require(n_groups >= 0 && width >= 0, "the number of groups, or the width, is negative");
    require(low >= -1024 && high <= 1024 && low < high && high - low <= 1024, "this is no window of limbs");
    Rows r = rows_of(indptr, indices, values, width);
    require(int64_t(groups.shape(0)) == r.count, "groups differ in length from rows");
    const double *w = weights_of(weights, r.count);
    require(!integer || (low <= 0 && high > 0), "the limbs do not reach 2^0");
    require(!integer || presence || !(highest > WholeSums::MOST), "the highest value is no whole number of a double");
    Sums like = {nullptr, high - low, low};
    bool good = true;
    Gathered out;
    {
        nb::gil_scoped_release free;
        for (int64_t i = 0; i < r.count; ++i) good &= groups.data()[i] >= -1 && groups.data()[i] < n_groups;
        if (good) {
            ByGroup by(groups.data(), w, r.count, n_groups);
            bool plain = !integer && !w && !presence && lowest > 0 && highest < HUGE_VAL && lowest <= highest;
            PairSums pairs(plain ? width : 0, by.most(), plain ? lowest : 1, plain ? highest : 1);
            if (integer) good = gather_by(WholeSums(width, like, presence), r, by, w, width, like, out);
            else if (plain && pairs.fits()) good = gather_by(pairs, r, by, w, width, like, out);
            else good = gather_by(LimbSums(width, like, presence), r, by, w, width, like, out);
        }
    }
    require(good, "a group lies outside the sums, or a value does not fit the limbs; widen them (see limb_window)");
    Owned<int64_t, 1> start({out.start.size()});
    std::copy(out.start.begin(), out.start.end(), start.data);
    size_t n = size_t(out.column.size);
    return {start.array, given<int32_t, 1>(out.column, {n}), given<int64_t, 2>(out.limb, {n, size_t(like.length)})};
}

const Binding binding([](nb::module_ &m) {
    m.def("sparse_sums", &sparse_sums, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
          "groups"_a.noconvert(), "weights"_a.noconvert().none(), "n_groups"_a, "width"_a, "presence"_a, "integer"_a, "low"_a,
          "high"_a, "lowest"_a, "highest"_a,
          "Exact sums of w x (or of w where x > 0) of the stored values by group and column, where they are not 0: starts "
          "of the groups, columns in order, limbs from low to high.");
});

}}  // namespace bayeskit::sparse
