// Sums by column of one group at a time, in numbers of 128 bits that stay in the cache: rows are mostly zeros, and the
// limbs of all groups and columns are far apart.
#pragma once
#include <vector>
#include "exact.h"

namespace {

class WideSums {
public:
    // Takes up to `terms` values for each column between two calls of `empty_into`.
    WideSums(Sums target, int64_t width, int64_t terms, int64_t groups)
        : target(target), least(1075 + 32 * target.low), sum(size_t(width)), touched(size_t(width) + 1),
          crowded(terms > 4 * width * groups) {
        int64_t bits = 1;
        while (terms >> bits) ++bits;
        // The sum stays within 127 bits, and what is above the lowest limbs within the int64 of the top one.
        int64_t room = 32 * (target.length - 1) + 62, low = (room < 127 ? room : 127) - 53 - bits;
        most = low < 63 ? low : 63;
        if (least < 1) most = -1;  // subnormal numbers are not usual
    }

    // Adds the values above 0 of a row of group g; false if one does not fit the limbs.
    bool add(int64_t g, const int32_t *column, const double *value, int64_t n) {
        bool good = true;
        for (int64_t k = 0; (k += crowded ? add_usual<true>(column + k, value + k, n - k)
                                          : add_usual<false>(column + k, value + k, n - k)) < n; ++k)
            if (value[k] > 0) {  // far from the others
                plain = false;
                good &= ::add(target, g * int64_t(sum.size()) + column[k], value[k]);
            }
        return good;
    }

    // Moves the sums to the limbs of group g.
    void empty_into(int64_t g) {
        for (int64_t k = 0, n = crowded ? int64_t(sum.size()) : used; k < n; ++k) {
            int64_t j = crowded ? k : touched[size_t(k)];
            Wide &s = sum[size_t(j)];
            if (s == 0) continue;
            int64_t *limb = target.limb + (g * int64_t(sum.size()) + j) * target.length;
            for (int64_t l = 0; l + 1 < target.length; ++l, s >>= 32) *limb++ += int64_t(uint64_t(s) & MASK32);
            *limb += int64_t(uint64_t(s));
            plain &= s >> 31 == 0;
            s = 0;
        }
        used = 0;
    }

    // Whether limbs that were all zero now are carried.
    bool carried() const { return plain; }

private:
    using Wide = unsigned __int128;

    // Adds values up to the first that is not above 0 or lies too far from the others; returns its place, or n. The
    // sign, too, is part of the field: of -x it is beyond that of any x. In a crowd all columns are looked through later.
    template <bool CROWD> int64_t add_usual(const int32_t *column, const double *value, int64_t n) {
        Wide *const sums = sum.data();
        int32_t *next = touched.data() + used;
        const uint64_t from = uint64_t(least), fits = uint64_t(most + 1);
        int64_t k = 0;
        for (; k < n; ++k) {
            uint64_t b = bits_of(value[k]), shift = (b >> 52) - from;
            if (shift >= fits) break;
            uint64_t m = (b & ((uint64_t(1) << 52) - 1)) | (uint64_t(1) << 52);
            Wide &s = sums[column[k]];
            if (!CROWD) {
                *next = column[k];
                next += s == 0;
            }
            s += Wide((m >> 1) >> (63 - shift)) << 64 | m << shift;
        }
        used = next - touched.data();
        return k;
    }

    Sums target;
    int64_t least, most;  // exponent fields from least to least + most are usual
    std::vector<Wide> sum;
    std::vector<int32_t> touched;  // the first `used` are the columns whose sum is not 0
    int64_t used = 0;
    bool crowded;  // whether most columns have a sum in each group
    bool plain = true;
};

}  // namespace
