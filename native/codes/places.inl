// Places in a dictionary to level codes.
namespace bayeskit::codes { namespace {

constexpr int64_t TILE = 256;

// n places of a tile that begins with row `first`; false if one leaves the table, as a negative one does without its sign.
template <typename Place>
inline bool tile_codes(const char *places, const uint8_t *valid, int64_t first, int64_t n, PlaceTable t, int32_t *out) {
    Place place[TILE], highest = 0;
    __builtin_memcpy(place, places, sizeof(Place) * size_t(n));
    int64_t missing = 0;
    if (valid)
        for (int64_t i = 0; i < n; ++i)
            if (!(valid[(first + i) >> 3] >> ((first + i) & 7) & 1)) place[i] = 0, ++missing;
    for (int64_t i = 0; i < n; ++i) highest = place[i] > highest ? place[i] : highest;
    if (missing == n) {
        for (int64_t i = 0; i < n; ++i) out[i] = -1;
        return true;
    }
    if (uint64_t(highest) >= t.size) return false;
    if (t.same)
        for (int64_t i = 0; i < n; ++i) out[i] = int32_t(place[i]);
    else
        for (int64_t i = 0; i < n; ++i) out[i] = t.code[place[i]];
    if (missing)
        for (int64_t i = 0; i < n; ++i)
            if (!(valid[(first + i) >> 3] >> ((first + i) & 7) & 1)) out[i] = -1;
    return true;
}

template <typename Place>
bool follow(const char *places, const uint8_t *valid, int64_t first, int64_t rows, PlaceTable t, int32_t *out) {
    constexpr int64_t WIDTH = int64_t(sizeof(Place));
    bool good = true;
    int64_t from = 0;
    for (; good && from + TILE <= rows; from += TILE)
        good = tile_codes<Place>(places + WIDTH * from, valid, first + from, TILE, t, out + from);
    return good && tile_codes<Place>(places + WIDTH * from, valid, first + from, rows - from, t, out + from);
}

bool follow_places(const char *places, int64_t width, const uint8_t *valid, int64_t first, int64_t rows, PlaceTable t,
                   int32_t *out) {
    switch (width) {
    case 1: return follow<uint8_t>(places, valid, first, rows, t, out);
    case 2: return follow<uint16_t>(places, valid, first, rows, t, out);
    case 4: return follow<uint32_t>(places, valid, first, rows, t, out);
    default: return follow<uint64_t>(places, valid, first, rows, t, out);
    }
}

}}  // namespace bayeskit::codes
