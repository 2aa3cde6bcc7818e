// Level codes of columns of integers and of texts.
#include <algorithm>
#include <cstring>
#include <string>
#include "dispatch/bindings.h"
#include "dispatch/hash_seed.h"

namespace bayeskit::codes { namespace {

int64_t integer_codes(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int64_t, 1> base,
                      Input<int64_t, 1> start, Input<int32_t, 1> table, Output<int32_t, 2> out) {
    Columns c = columns_of(address, stride, rows);
    require(int64_t(base.shape(0)) == c.count && int64_t(start.shape(0)) == c.count + 1, "one base per column");
    require(int64_t(out.shape(0)) == c.count && int64_t(out.shape(1)) == rows, "out must be (columns, rows)");
    const int64_t *s = start.data();
    require(s[0] >= 0 && s[c.count] <= int64_t(table.shape(0)), "start leaves the table");
    for (int64_t j = 0; j < c.count; ++j) require(s[j] <= s[j + 1], "start must not decrease");
    int64_t unseen;
    {
        nb::gil_scoped_release free;
        unseen = kernels->integer_codes(c, base.data(), s, table.data(), out.data());
    }
    if (unseen < 0) throw std::bad_alloc();
    return unseen;
}

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
};

// Texts in Arrow's views of 16 bytes: a length, then up to 12 bytes of text, or a prefix, a buffer and a place in it.
struct Views {
    const char *view;
    const int64_t *buffers;  // address and length of each
    int64_t count;
};

// Up to eight bytes are their own word; a longer text has a hash, and is compared as a whole.
inline uint64_t word_of(const char *text, int64_t length, const char *end) {
    uint64_t word = 0;
    if (length <= 8) {
        if (end - text >= 8) {
            std::memcpy(&word, text, 8);
            return length == 8 ? word : word & ((uint64_t(1) << (8 * length)) - 1);
        }
        for (int64_t i = 0; i < length; ++i) word |= uint64_t(uint8_t(text[i])) << (8 * i);
        return word;
    }
    uint64_t hash = hash_seed.start ^ uint64_t(length);
    for (int64_t i = 0; i < length; i += 8) {
        uint64_t part;
        std::memcpy(&part, text + (i + 8 <= length ? i : length - 8), 8);
        hash = folded(hash ^ part, hash_seed.factor);
    }
    return hash;
}

struct Slot {
    uint64_t word;
    int64_t length;  // -1: nothing here
    const char *text;
    int32_t code;
};

// Texts with codes; one that is new gets the next code, if there is one.
class Index {
    std::vector<Slot> slots;
    int64_t used = 0;
    int shift = 60;

    static size_t place(uint64_t word, int64_t length, int shift) {
        return size_t(folded(word ^ hash_seed.start ^ uint64_t(length), hash_seed.factor) >> shift);
    }

    void put(const Slot &slot) {
        size_t at = place(slot.word, slot.length, shift);
        while (slots[at].length >= 0) at = (at + 1) & (slots.size() - 1);
        slots[at] = slot;
    }

    void make_room(int64_t keys) {
        if (!slots.empty() && int64_t(slots.size()) >= 2 * keys) return;
        std::vector<Slot> old = std::move(slots);
        for (shift = 60; (int64_t(1) << (64 - shift)) < 4 * keys;) --shift;
        slots.assign(size_t(1) << (64 - shift), {0, -1, nullptr, -2});
        for (const Slot &slot : old)
            if (slot.length >= 0) put(slot);
    }

public:
    int32_t next;                    // the code of a new text, -2 if it gets none
    std::vector<std::string> added;  // new texts, in the order of their codes

    Index(const char *bytes, const int64_t *start, const int32_t *code, int64_t keys, int32_t next) : next(next) {
        make_room(used = keys);
        for (int64_t k = 0; k < keys; ++k) {
            const char *text = bytes + start[k];
            int64_t length = start[k + 1] - start[k];
            put({word_of(text, length, text + length), length, text, code[k]});
        }
    }

    // What a loop over texts looks at.
    struct View {
        const Slot *slots;
        size_t mask;
        int shift;
    };
    View view() const { return {slots.data(), slots.size() - 1, shift}; }

    // Whether all texts so far are of one byte.
    bool bytes() const {
        return used && std::all_of(slots.begin(), slots.end(), [](const Slot &s) { return s.length < 0 || s.length == 1; });
    }

    // The code of a text, -2 if it is not there.
    static int32_t find(const View &v, uint64_t word, const char *text, int64_t length) {
        for (size_t at = place(word, length, v.shift);; at = (at + 1) & v.mask) {
            const Slot &slot = v.slots[at];
            if (slot.length < 0) return -2;
            if (slot.word == word && slot.length == length && (length <= 8 || !std::memcmp(slot.text, text, size_t(length))))
                return slot.code;
        }
    }

    // A text that is not there gets the next code.
    int32_t add(uint64_t word, const char *text, int64_t length) {
        make_room(++used);
        put({word, length, text, next});
        added.emplace_back(text, size_t(length));
        return next++;
    }
};

constexpr int64_t TILE = 64;

// The code of a text; one that is not there gets the next, if there is one.
inline int32_t code_of(Index &index, Index::View &view, const char *text, int64_t length, const char *end) {
    uint64_t word = word_of(text, length, end);
    int32_t code = Index::find(view, word, text, length);
    if (code == -2 && index.next >= 0) {
        code = index.add(word, text, length);
        view = index.view();
    }
    return code;
}

// Codes of texts of one byte each, without holes; false if these are others, or one has no code.
template <typename Offset> bool byte_codes(Texts<Offset> t, const int32_t *byte, int64_t i, int32_t *out) {
    int64_t here = t.at(i), apart = 0;
    for (int64_t k = 1; k <= TILE; ++k) apart |= int64_t(uint64_t(t.at(i + k)) - uint64_t(here)) ^ k;
    if (apart || here < 0 || here > t.bytes - TILE) return false;
    int32_t least = 0;
    for (int64_t k = 0; k < TILE; ++k) least |= out[i + k] = byte[uint8_t(t.data[here + k])];
    return least >= 0;
}

// False if an offset leaves the texts.
template <typename Offset>
bool look_up(Texts<Offset> t, Validity valid, Index &index, int64_t rows, int32_t missing, int32_t *out) {
    const char *end = t.data + t.bytes;
    Index::View view = index.view();
    bool bytes = !valid.bits && index.bytes();
    int32_t byte[256];
    for (int b = 0; bytes && b < 256; ++b) byte[b] = Index::find(view, uint64_t(b), nullptr, 1);
    for (int64_t from = 0; from < rows; from += TILE) {
        int64_t to = std::min(from + TILE, rows), here = t.at(from);
        if (bytes && to == from + TILE && byte_codes(t, byte, from, out)) continue;
        for (int64_t i = from; i < to; ++i) {
            int64_t next = t.at(i + 1), length = int64_t(uint64_t(next) - uint64_t(here));
            if (valid.missing(i)) {
                out[i] = missing;
            } else if ((here | next | length) < 0 || next > t.bytes) {
                return false;
            } else {
                out[i] = code_of(index, view, t.data + here, length, end);
            }
            here = next;
        }
    }
    return true;
}

// False if a view leaves its buffers.
bool look_up(Views t, Validity valid, Index &index, int64_t rows, int32_t missing, int32_t *out) {
    Index::View view = index.view();
    for (int64_t i = 0; i < rows; ++i) {
        if (valid.missing(i)) {
            out[i] = missing;
            continue;
        }
        int32_t word[4];  // length, prefix, buffer, place
        const char *text = t.view + 16 * i, *end = text + 16;
        std::memcpy(word, text, 16);
        text += 4;
        if (word[0] > 12) {
            if (word[2] < 0 || word[2] >= t.count || word[3] < 0) return false;
            const int64_t *buffer = t.buffers + 2 * word[2];
            if (int64_t(word[3]) + word[0] > buffer[1]) return false;
            text = (const char *) buffer[0] + word[3];
            end = (const char *) buffer[0] + buffer[1];
        } else if (word[0] < 0) {
            return false;
        }
        out[i] = code_of(index, view, text, word[0], end);
    }
    return true;
}

std::vector<std::vector<std::string>> text_codes(Input<int64_t, 2> columns, int64_t rows, nb::bytes known,
                                                 Input<int64_t, 1> start, Input<int32_t, 1> code, Input<int64_t, 1> first,
                                                 Output<int32_t, 2> out) {
    using F = TextField;
    size_t count = columns.shape(0);
    require(columns.shape(1) == TextField::COUNT, "columns must be (columns, fields of TextField)");
    require(first.shape(0) == count + 1 && start.shape(0) == code.shape(0) + 1, "one entry more of first and start");
    require(rows >= 0 && rows < int64_t(1) << 31 && int64_t(out.shape(1)) == rows, "out must be (columns, rows)");
    int64_t keys = int64_t(code.shape(0));
    for (int64_t k = 0; k < keys; ++k) require(start.data()[k] <= start.data()[k + 1], "start must not decrease");
    require(start.data()[0] >= 0 && start.data()[keys] <= int64_t(known.size()), "start leaves the texts");
    for (size_t j = 0; j < count; ++j) {
        const int64_t *c = columns.data() + TextField::COUNT * j;
        require(c[F::OFFSET_WIDTH] == 4 || c[F::OFFSET_WIDTH] == 8 || c[F::OFFSET_WIDTH] == 16,
                "offsets are of 4 or 8 bytes, views of 16");
        require(c[F::DATA_LENGTH] >= 0 && c[F::FIRST_ROW] >= 0 && c[F::MISSING_CODE] >= INT32_MIN &&
                    c[F::MISSING_CODE] <= INT32_MAX,
                "bytes, from or missing out of range");
        require(c[F::NEXT_CODE] >= -2 && c[F::NEXT_CODE] < (int64_t(1) << 31) - rows, "more codes than there are");
        require(c[F::OUT_ROW] >= 0 && c[F::OUT_ROW] < int64_t(out.shape(0)), "out has no such row");
        require(first.data()[j] >= 0 && first.data()[j] <= first.data()[j + 1] && first.data()[j + 1] <= keys,
                "first must not decrease");
    }
    std::vector<std::vector<std::string>> found(count);
    bool good = true;
    {
        nb::gil_scoped_release free;
        for (size_t j = 0; j < count && good; ++j) {
            const int64_t *c = columns.data() + TextField::COUNT * j, from = first.data()[j];
            Index index((const char *) known.data(), start.data() + from, code.data() + from, first.data()[j + 1] - from,
                        int32_t(c[F::NEXT_CODE]));
            int32_t *to = out.data() + c[F::OUT_ROW] * rows, missing = int32_t(c[F::MISSING_CODE]);
            const char *offset = (const char *) c[F::OFFSETS], *data = (const char *) c[F::DATA];
            Validity valid{(const uint8_t *) c[F::VALID], c[F::FIRST_ROW]};
            int64_t length = c[F::DATA_LENGTH];
            switch (c[F::OFFSET_WIDTH]) {
            case 4: good = look_up<int32_t>({offset, data, length}, valid, index, rows, missing, to); break;
            case 8: good = look_up<int64_t>({offset, data, length}, valid, index, rows, missing, to); break;
            default: good = look_up({offset, (const int64_t *) data, length}, valid, index, rows, missing, to);
            }
            found[j] = std::move(index.added);
        }
    }
    require(good, "an offset leaves the texts");
    return found;
}

// A table from places in a dictionary to codes, and whether each place is its own code, or some place has none (-2).
struct Places {
    const int32_t *code;
    uint64_t size;
    bool same = true, unseen = false;

    Places(const int32_t *code, int64_t size) : code(code), size(uint64_t(size)) {
        for (int64_t d = 0; d < size; ++d) same &= code[d] == d, unseen |= code[d] < -1;
    }
};

// Codes of the places in a dictionary, -1 for what is missing. False if a place leaves the table, as a negative one does
// without its sign. `met` says whether a place without a code was.
template <typename Place>
bool follow(const char *places, Validity valid, int64_t rows, const Places &table, int32_t *out, bool &met) {
    for (int64_t from = 0; from < rows; from += TILE) {
        Place place[TILE];
        int64_t n = std::min(TILE, rows - from);
        std::memcpy(place, places + int64_t(sizeof(Place)) * from, sizeof(Place) * size_t(n));
        int64_t missing = 0;
        if (valid.bits)
            for (int64_t i = 0; i < n; ++i)
                if (valid.missing(from + i)) place[i] = 0, ++missing;
        Place most = 0;
        for (int64_t i = 0; i < n; ++i) most = std::max(most, place[i]);
        int32_t *to = out + from;
        if (missing == n) {
            std::fill(to, to + n, -1);
            continue;
        }
        if (uint64_t(most) >= table.size) return false;
        if (table.same)
            for (int64_t i = 0; i < n; ++i) to[i] = int32_t(place[i]);
        else
            for (int64_t i = 0; i < n; ++i) to[i] = table.code[place[i]];
        if (missing)
            for (int64_t i = 0; i < n; ++i)
                if (valid.missing(from + i)) to[i] = -1;
        if (table.unseen)
            for (int64_t i = 0; i < n; ++i) met |= to[i] < -1;
    }
    return true;
}

std::vector<bool> dictionary_codes(Input<int64_t, 2> columns, int64_t rows, Input<int32_t, 1> table, Input<int64_t, 1> first,
                                   Output<int32_t, 2> out) {
    using F = PlaceField;
    size_t count = columns.shape(0);
    require(columns.shape(1) == PlaceField::COUNT, "columns must be (columns, fields of PlaceField)");
    require(first.shape(0) == count + 1, "one entry more of first");
    require(rows >= 0 && int64_t(out.shape(1)) == rows, "out must be (columns, rows)");
    for (size_t j = 0; j < count; ++j) {
        const int64_t *c = columns.data() + PlaceField::COUNT * j, width = c[F::WIDTH];
        require(width == 1 || width == 2 || width == 4 || width == 8, "places are of 1, 2, 4 or 8 bytes");
        require(c[F::FIRST_ROW] >= 0, "from out of range");
        require(c[F::OUT_ROW] >= 0 && c[F::OUT_ROW] < int64_t(out.shape(0)), "out has no such row");
        require(first.data()[j] >= 0 && first.data()[j] <= first.data()[j + 1] &&
                    first.data()[j + 1] <= int64_t(table.shape(0)),
                "first must not decrease");
    }
    std::vector<bool> unseen(count);
    bool good = true;
    {
        nb::gil_scoped_release free;
        for (size_t j = 0; j < count && good; ++j) {
            const int64_t *c = columns.data() + PlaceField::COUNT * j;
            const char *places = (const char *) c[F::PLACES];
            Validity valid{(const uint8_t *) c[F::VALID], c[F::FIRST_ROW]};
            Places known(table.data() + first.data()[j], first.data()[j + 1] - first.data()[j]);
            int32_t *to = out.data() + c[F::OUT_ROW] * rows;
            bool met = false;
            switch (c[F::WIDTH]) {
            case 1: good = follow<uint8_t>(places, valid, rows, known, to, met); break;
            case 2: good = follow<uint16_t>(places, valid, rows, known, to, met); break;
            case 4: good = follow<uint32_t>(places, valid, rows, known, to, met); break;
            default: good = follow<uint64_t>(places, valid, rows, known, to, met);
            }
            unseen[j] = met;
        }
    }
    require(good, "a place leaves the dictionary");
    return unseen;
}

const Binding binding([](nb::module_ &m) {
    m.def("dictionary_codes", &dictionary_codes, "columns"_a.noconvert(), "rows"_a, "table"_a.noconvert(),
          "first"_a.noconvert(), "out"_a.noconvert(),
          "Level codes of columns of places in dictionaries, each described by the fields of PlaceField, whose codes are "
          "table[first[j] .. first[j + 1]); returns for each column whether a code of -2 was met.");
    m.def("integer_codes", &integer_codes, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "base"_a.noconvert(),
          "start"_a.noconvert(), "table"_a.noconvert(), "out"_a.noconvert(),
          "Level codes of integer columns through tables; returns how many were never seen (-2).");
    m.def("text_codes", &text_codes, "columns"_a.noconvert(), "rows"_a, "known"_a, "start"_a.noconvert(), "code"_a.noconvert(),
          "first"_a.noconvert(), "out"_a.noconvert(),
          "Level codes of columns of texts, each described by the fields of TextField; its known texts are first[j] .. first[j "
          "+ 1). A new one is -2, or gets the next code; returns those that "
          "did, by column.");
});

}}  // namespace bayeskit::codes
