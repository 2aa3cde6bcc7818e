// Level codes of columns of integers and of texts.
#include <algorithm>
#include <cstring>
#include <string>
#include "codes/texts.h"
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

// eight is 0.
struct Key {
    uint64_t first, last;
    int64_t length;

    uint64_t operator^(const Key &other) const {  // 0 where they are equal
        return (first ^ other.first) | (last ^ other.last) | uint64_t(length ^ other.length);
    }
};

// Of up to eight bytes, or of up to sixteen, where eight bytes from the text on may be read.
template <bool LONG> inline Key short_key(const char *text, int64_t length) {
    uint64_t last = LONG ? load_word(text + ENDS.back[length]) & ENDS.last[length] : 0;
    return {load_word(text) & ENDS.first[length], last, length};
}

inline Key key_of(const char *text, int64_t length, const char *end) {
    if (length <= 8) {
        if (end - text >= 8) return short_key<false>(text, length);
        char copy[8] = {};
        std::memcpy(copy, text, size_t(length));
        return short_key<false>(copy, length);
    }
    if (length <= 16) return short_key<true>(text, length);
    uint64_t hash = hash_seed.start ^ uint64_t(length);
    for (int64_t i = 0; i < length; i += 8)
        hash = folded(hash ^ load_word(text + (i + 8 <= length ? i : length - 8)), hash_seed.factor);
    return {hash, 0, length};
}

struct Slot {
    Key key;  // of length -1: nothing here
    int32_t code;
};

// Texts with codes; one that is new gets the next code, if there is one.
class Index {
    static constexpr int64_t FEW = 64, ROOM = 1 << 12;
    std::vector<Slot> slots;
    std::vector<const char *> texts;  // of the slots
    int64_t used = 0;
    int shift = 60;

    // Two odd factors that nobody foresees spread pairs of words over the slots, whichever they are.
    static size_t place(const Key &key, int shift) {
        return size_t(((key.first ^ uint64_t(key.length)) * hash_seed.factor + key.last * (hash_seed.start | 1)) >> shift);
    }

    // Whether the slot is the first where the key may be.
    bool put(const Slot &slot, const char *text) {
        size_t home = place(slot.key, shift), at = home;
        while (slots[at].key.length >= 0) at = (at + 1) & (slots.size() - 1);
        slots[at] = slot, texts[at] = text;
        return at == home;
    }

    // Room for so many keys; few get slots until each is the first where it may be.
    void place_all(const std::vector<Slot> &known, const std::vector<const char *> &their, int64_t keys) {
        for (shift = 60; (int64_t(1) << (64 - shift)) < 4 * keys;) --shift;
        for (direct = false;; --shift) {
            slots.assign(size_t(1) << (64 - shift), {{0, 0, -1}, -2});
            texts.resize(slots.size());
            bool first = true;
            for (size_t k = 0; k < known.size(); ++k)
                if (known[k].key.length >= 0) first &= put(known[k], their[k]);
            direct = first;
            if (direct || keys > FEW || int64_t(slots.size()) >= ROOM) return;
        }
    }

public:
    int32_t next;                    // the code of a new text, -2 if it gets none
    std::vector<std::string> added;  // new texts, in the order of their codes
    bool direct = false;             // whether each text that was known lies in the first slot where it may be

    Index(const char *bytes, const int64_t *start, const int32_t *code, int64_t keys, int32_t next) : next(next) {
        std::vector<Slot> known(static_cast<size_t>(keys));
        std::vector<const char *> their(known.size());
        for (int64_t k = 0; k < keys; ++k) {
            const char *text = bytes + start[k], *end = bytes + start[k + 1];
            known[size_t(k)] = {key_of(text, end - text, end), code[k]}, their[size_t(k)] = text;
        }
        place_all(known, their, used = keys);
    }

    // What a loop over texts looks at.
    struct View {
        const Slot *slots;
        const char *const *texts;
        size_t mask;
        int shift;
    };
    View view() const { return {slots.data(), texts.data(), slots.size() - 1, shift}; }

    // Whether all texts so far are of one byte.
    bool bytes() const {
        return used &&
               std::all_of(slots.begin(), slots.end(), [](const Slot &s) { return s.key.length < 0 || s.key.length == 1; });
    }

    // The code of a text, -2 if it is not there.
    static int32_t find(const View &v, const Key &key, const char *text) {
        for (size_t at = place(key, v.shift);; at = (at + 1) & v.mask) {
            const Slot &slot = v.slots[at];
            if (slot.key.length < 0) return -2;
            if (!(slot.key ^ key) && (key.length <= 16 || !std::memcmp(v.texts[at], text, size_t(key.length))))
                return slot.code;
        }
    }

    // Code of the only slot that is looked at; `wrong` is not 0 if a text of up to eight bytes, or of up to sixteen, is not
    // there.
    template <bool LONG> static int32_t first_place(const View &v, const Key &key, uint64_t &wrong) {
        const Slot &slot = v.slots[place(key, v.shift)];
        wrong = (slot.key.first ^ key.first) | uint64_t(slot.key.length ^ key.length) | (LONG ? slot.key.last ^ key.last : 0);
        return slot.code;
    }

    // A text that is not there gets the next code.
    int32_t add(const Key &key, const char *text) {
        if (int64_t(slots.size()) < 2 * ++used) place_all(std::vector<Slot>(slots), std::vector<const char *>(texts), used);
        put({key, next}, text);
        added.emplace_back(text, size_t(key.length));
        return next++;
    }
};

// The code of a text; one that is not there gets the next, if there is one.
inline int32_t code_of(Index &index, Index::View &view, const char *text, int64_t length, const char *end) {
    Key key = key_of(text, length, end);
    int32_t code = Index::find(view, key, text);
    if (code == -2 && index.next >= 0) {
        code = index.add(key, text);
        view = index.view();
    }
    return code;
}

// Codes of texts of one byte each, none missing; false if these are others, or one has no code.
template <typename Offset> bool byte_codes(Texts<Offset> t, const int32_t *byte, int64_t i, int32_t *out) {
    int64_t here = t.at(i), apart = 0;
    for (int64_t k = 1; k <= TILE; ++k) apart |= int64_t(uint64_t(t.at(i + k)) - uint64_t(here)) ^ k;
    if (apart || here < 0 || here > t.bytes - TILE) return false;
    int32_t least = 0;
    for (int64_t k = 0; k < TILE; ++k) least |= out[i + k] = byte[uint8_t(t.data[here + k])];
    return least >= 0;
}

// Codes of short texts, looked for in one slot each, without a branch; false if one is not there.
template <bool LONG, bool HOLES, class From>
bool slot_codes(From t, Validity valid, const Index::View &view, int64_t i, int32_t missing, int32_t *out) {
    uint64_t wrong = 0;
    for (int64_t k = i; k < i + TILE; ++k) {
        uint64_t differs;
        int32_t code = Index::first_place<LONG>(view, short_key<LONG>(t.text(k), t.length(k)), differs);
        uint64_t here = HOLES ? -uint64_t(!valid.missing(k)) : ~uint64_t(0);
        wrong |= differs & here, out[k] = HOLES && !here ? missing : code;
    }
    return !wrong;
}

// Tries that way tile by tile, and after each that was in vain waits longer.
struct Tiles {
    int64_t pause = 0, left = 0;

    template <class From>
    bool codes(From t, Validity valid, const Index &index, const Index::View &view, int64_t i, int32_t missing, int32_t *out) {
        if (!index.direct || left-- > 0) return false;
        uint64_t longest = t.longest(i);
        bool good = longest <= 8    ? valid.bits ? slot_codes<false, true>(t, valid, view, i, missing, out)
                                                 : slot_codes<false, false>(t, valid, view, i, missing, out)
                    : longest <= 16 ? valid.bits ? slot_codes<true, true>(t, valid, view, i, missing, out)
                                                 : slot_codes<true, false>(t, valid, view, i, missing, out)
                                    : false;
        left = pause = good ? 0 : std::min<int64_t>(2 * pause + 1, 63);
        return good;
    }
};

// False if an offset leaves the texts.
template <typename Offset>
bool look_up(Texts<Offset> t, Validity valid, Index &index, int64_t rows, int32_t missing, int32_t *out) {
    const char *end = t.data + t.bytes;
    Index::View view = index.view();
    bool bytes = !valid.bits && index.bytes();
    int32_t byte[256];
    for (int b = 0; bytes && b < 256; ++b) byte[b] = Index::find(view, {uint64_t(b), 0, 1}, nullptr);
    Tiles tiles;
    for (int64_t from = 0; from < rows; from += TILE) {
        int64_t to = std::min(from + TILE, rows), here = t.at(from);
        if (to == from + TILE &&
            ((bytes && byte_codes(t, byte, from, out)) || tiles.codes(t, valid, index, view, from, missing, out)))
            continue;
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

// The code of one text that is there; false if its view leaves its buffers.
inline bool view_code(const Views &t, int64_t i, Index &index, Index::View &view, int32_t &out) {
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
    out = code_of(index, view, text, word[0], end);
    return true;
}

// False if a view leaves its buffers.
bool look_up(Views t, Validity valid, Index &index, int64_t rows, int32_t missing, int32_t *out) {
    Index::View view = index.view();
    Tiles tiles;
    for (int64_t from = 0; from < rows; from += TILE) {
        int64_t to = std::min(from + TILE, rows);
        if (to == from + TILE && tiles.codes(t, valid, index, view, from, missing, out)) continue;
        for (int64_t i = from; i < to; ++i)
            if (valid.missing(i)) out[i] = missing;
            else if (!view_code(t, i, index, view, out[i])) return false;
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
            const int64_t *c = columns.data() + PlaceField::COUNT * j, width = c[F::WIDTH];
            const int32_t *known = table.data() + first.data()[j];
            PlaceTable t{known, uint64_t(first.data()[j + 1] - first.data()[j]), true};
            bool some = false;  // places have no code
            for (uint64_t d = 0; d < t.size; ++d) t.same &= known[d] == int32_t(d), some |= known[d] < -1;
            int32_t *to = out.data() + c[F::OUT_ROW] * rows;
            good = kernels->follow_places((const char *) c[F::PLACES], width, (const uint8_t *) c[F::VALID], c[F::FIRST_ROW],
                                          rows, t, to);
            bool met = some && good && std::any_of(to, to + rows, [](int32_t code) { return code < -1; });
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
