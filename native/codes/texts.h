// Texts where Arrow keeps them: one after the other, or by views of 16 bytes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace bayeskit::codes { namespace {

constexpr int64_t TILE = 64;

// The bit from + i of `bits` says whether value i is there; without bits all are.
struct Validity {
    const uint8_t *bits;
    int64_t from;

    bool missing(int64_t i) const { return bits && !(bits[(from + i) >> 3] >> ((from + i) & 7) & 1); }
};

// Texts one after the other in Arrow's layout: text i is data[offset[i] .. offset[i + 1]).
template <typename Offset> struct Texts {
    const char *offset, *data;
    int64_t bytes;

    int64_t at(int64_t i) const {
        Offset v;
        std::memcpy(&v, offset + int64_t(sizeof v) * i, sizeof v);
        return v;
    }
    const char *text(int64_t i) const { return data + at(i); }
    int64_t length(int64_t i) const { return at(i + 1) - at(i); }

    // At most so long are the texts of a tile, if they lie where they should and eight bytes may be read of each.
    uint64_t longest(int64_t i) const {
        uint64_t most = 0;
        for (int64_t k = i; k < i + TILE; ++k) most = std::max(most, uint64_t(at(k + 1)) - uint64_t(at(k)));
        return at(i) >= 0 && at(i + TILE) <= bytes && at(i + TILE - 1) <= bytes - 8 ? most : ~uint64_t(0);
    }
};

// Texts in Arrow's views of 16 bytes: a length, then up to 12 bytes of text, or a prefix, a buffer and a place in it.
struct Views {
    const char *view;
    const int64_t *buffers;  // address and length of each
    int64_t count;

    const char *text(int64_t i) const { return view + 16 * i + 4; }
    int64_t length(int64_t i) const {
        int32_t v;
        std::memcpy(&v, view + 16 * i, sizeof v);
        return v;
    }

    // At most so long are the texts of a tile, if they lie within their views.
    uint64_t longest(int64_t i) const {
        uint64_t most = 0;
        for (int64_t k = i; k < i + TILE; ++k) most = std::max(most, uint64_t(length(k)));
        return most <= 12 ? most : ~uint64_t(0);
    }
};

// Of a text of up to sixteen bytes: what counts of its first eight bytes and of its last, and how far these lie behind.
struct Ends {
    uint64_t first[17] = {}, last[17] = {};
    int64_t back[17] = {};

    constexpr Ends() {
        for (int n = 1; n <= 16; ++n) {
            first[n] = n < 8 ? (uint64_t(1) << (8 * n)) - 1 : ~uint64_t(0);
            last[n] = n > 8 ? ~uint64_t(0) : 0;
            back[n] = n > 8 ? n - 8 : 0;
        }
    }
};
constexpr Ends ENDS;

inline uint64_t load_word(const char *from) {
    uint64_t word;
    std::memcpy(&word, from, 8);
    return word;
}

// A text as words: its first eight bytes, and its last if there are more; of more than sixteen a hash. `last` of up to

}}  // namespace bayeskit::codes
