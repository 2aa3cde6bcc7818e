// Messages of a Bayesian network for many rows at once: a compiled elimination, rows innermost.
// Sums run over states, or rows, in order and never over lanes, so every clone gives the same bits.
#include "vectors/random.h"

namespace bayeskit::networks { namespace {

struct Input {
    bool rows;  // a message with a value for every row, or a constant table
    const double *data;
    int64_t offset, step;  // cells: where it begins, and from one state of the eliminated variable to the next
    const int64_t *stride;
};

struct Step {
    int64_t out, dims, states, variable;
    bool scaled;
    int64_t cells;
    const int64_t *size, *axis;
    int64_t constants, messages;
    Input constant[MOST_INPUTS], message[MOST_INPUTS];
};

inline Step step_of(const int64_t *w, const double *tables, const double *arena) {
    Step s;
    s.out = w[2], s.dims = w[3], s.states = w[4], s.variable = w[5], s.scaled = w[6] != 0;
    int64_t inputs = w[7];
    s.size = w + 8, s.axis = s.size + s.dims;
    s.cells = 1, s.constants = s.messages = 0;
    for (int64_t d = 0; d < s.dims; ++d) s.cells *= s.size[d];
    const int64_t *at = s.axis + s.dims;
    for (int64_t j = 0; j < inputs; ++j, at += 3 + s.dims) {
        Input in = {at[0] != 0, at[0] ? arena : tables, at[1], at[2], at + 3};
        if (in.rows) s.message[s.messages++] = in;
        else s.constant[s.constants++] = in;
    }
    return s;
}

// Where each input stands for the present states of the variables that stay; moves on like the digits of a number.
struct Odometer {
    int64_t digit[MOST_DIMS], constant[MOST_INPUTS], message[MOST_INPUTS];
    explicit Odometer(const Step &s) {
        for (int64_t d = 0; d < s.dims; ++d) digit[d] = 0;
        for (int64_t j = 0; j < s.constants; ++j) constant[j] = s.constant[j].offset;
        for (int64_t j = 0; j < s.messages; ++j) message[j] = s.message[j].offset;
    }
    void advance(const Step &s) {
        for (int64_t d = s.dims - 1; d >= 0; --d) {
            bool carry = ++digit[d] == s.size[d];
            int64_t by = carry ? 1 - s.size[d] : 1;
            for (int64_t j = 0; j < s.constants; ++j) constant[j] += by * s.constant[j].stride[d];
            for (int64_t j = 0; j < s.messages; ++j) message[j] += by * s.message[j].stride[d];
            if (!carry) return;
            digit[d] = 0;
        }
    }
};

inline double constant_at(const Step &s, const Odometer &o, int64_t k) {
    double c = 1;
    for (int64_t j = 0; j < s.constants; ++j) c *= s.constant[j].data[o.constant[j] + k * s.constant[j].step];
    return c;
}

// The product of M messages and a constant, summed over the states of a variable (or their largest).
template <int R, int M, bool LARGEST> inline void combine(const Step &s, double *arena) {
    Odometer o(s);
    for (int64_t cell = 0; cell < s.cells; ++cell, o.advance(s)) {
        double total[R];
        for (int r = 0; r < R; ++r) total[r] = 0;
        for (int64_t k = 0; k < s.states; ++k) {
            double c = constant_at(s, o, k);
            if (c == 0) continue;
            const double *m[M ? M : 1];
            for (int j = 0; j < M; ++j) m[j] = arena + (o.message[j] + k * s.message[j].step) * R;
            for (int r = 0; r < R; ++r) {
                double v = c;
                for (int j = 0; j < M; ++j) v *= m[j][r];
                if (LARGEST) total[r] = v > total[r] ? v : total[r];
                else total[r] += v;
            }
        }
        double *out = arena + (s.out + cell) * R;
        for (int r = 0; r < R; ++r) out[r] = total[r];
    }
}

template <int R, bool LARGEST> inline void combine_many(const Step &s, double *arena) {
    Odometer o(s);
    for (int64_t cell = 0; cell < s.cells; ++cell, o.advance(s)) {
        double *out = arena + (s.out + cell) * R;
        for (int r = 0; r < R; ++r) out[r] = 0;
        for (int64_t k = 0; k < s.states; ++k) {
            double c = constant_at(s, o, k), v[R];
            if (c == 0) continue;
            for (int r = 0; r < R; ++r) v[r] = c;
            for (int64_t j = 0; j < s.messages; ++j) {
                const double *m = arena + (o.message[j] + k * s.message[j].step) * R;
                for (int r = 0; r < R; ++r) v[r] *= m[r];
            }
            for (int r = 0; r < R; ++r) out[r] = LARGEST ? (v[r] > out[r] ? v[r] : out[r]) : out[r] + v[r];
        }
    }
}

// Divides by a power of two that brings the largest entry of each row near one; the factor goes behind the message.
template <int R> inline void rescale(const Step &s, double *arena, double *exponent) {
    double *out = arena + s.out * R, *factor = out + s.cells * R, top[R];
    for (int r = 0; r < R; ++r) top[r] = 0;
    for (int64_t cell = 0; cell < s.cells; ++cell)
        for (int r = 0; r < R; ++r) top[r] = out[cell * R + r] > top[r] ? out[cell * R + r] : top[r];
    for (int r = 0; r < R; ++r) {
        uint64_t bits;
        __builtin_memcpy(&bits, top + r, 8);
        int64_t e = top[r] > 0 ? int64_t(bits >> 52) - 1022 : 0;
        if (e < -1000) e = -1000;
        uint64_t power = uint64_t(1023 - e) << 52;
        __builtin_memcpy(factor + r, &power, 8);
        exponent[r] += double(e);
    }
    for (int64_t cell = 0; cell < s.cells; ++cell)
        for (int r = 0; r < R; ++r) out[cell * R + r] *= factor[r];
}

struct Span {
    int64_t first, rows;
    double *arena, *exponent;
};

// The likelihood of each state: 1 for the observed one, or for all; times what the caller gives.
template <int R> inline bool indicate(const int64_t *w, const Evidence &e, const Span &t) {
    int64_t size = w[4];
    double *out = t.arena + w[2] * R;
    const int32_t *code = w[3] < 0 ? nullptr : e.codes.data + w[3] * e.codes.rows + t.first;
    const double *given = w[5] < 0 ? nullptr : e.likelihood + w[5] * e.codes.rows + t.first;
    int32_t mine[R];
    for (int r = 0; r < R; ++r) {
        mine[r] = code && r < t.rows ? code[r] : -1;
        if (mine[r] < -1 || mine[r] >= size) return false;
    }
    for (int64_t k = 0; k < size; ++k)
        for (int r = 0; r < R; ++r) out[k * R + r] = mine[r] < 0 || mine[r] == k ? 1.0 : 0.0;
    if (given)
        for (int64_t k = 0; k < size; ++k)
            for (int64_t r = 0; r < t.rows; ++r) out[k * R + r] *= given[k * e.codes.rows + r];
    return true;
}

// Where the observed states of each row lead in a table.
template <int R> inline bool bases(const int64_t *w, const Evidence &e, const Span &t, int64_t *base) {
    int64_t known = w[5];
    const int64_t *column = w + 6, *stride = column + known, *size = stride + known;
    for (int r = 0; r < R; ++r) base[r] = w[3];
    for (int64_t h = 0; h < known; ++h) {
        const int32_t *code = e.codes.data + column[h] * e.codes.rows + t.first;
        for (int64_t r = 0; r < t.rows; ++r) {
            if (code[r] < 0 || code[r] >= size[h]) return false;
            base[r] += stride[h] * code[r];
        }
    }
    return true;
}

// For every cell of what stays open, its place behind the base.
template <typename Visit> inline void each_open(const int64_t *w, Visit visit) {
    int64_t known = w[5], dims = w[4];
    const int64_t *size = w + 6 + 3 * known, *stride = size + dims;
    int64_t digit[MOST_DIMS], place = 0, cells = 1;
    for (int64_t d = 0; d < dims; ++d) digit[d] = 0, cells *= size[d];
    for (int64_t cell = 0; cell < cells; ++cell) {
        visit(cell, place);
        for (int64_t d = dims - 1; d >= 0; --d) {
            place += stride[d];
            if (++digit[d] < size[d]) break;
            place -= stride[d] * size[d], digit[d] = 0;
        }
    }
}

template <int R> inline bool gather(const int64_t *w, const Evidence &e, const double *tables, const Span &t) {
    int64_t base[R];
    if (!bases<R>(w, e, t, base)) return false;
    double *out = t.arena + w[2] * R;
    each_open(w, [&](int64_t cell, int64_t place) {
        for (int r = 0; r < R; ++r) out[cell * R + r] = tables[base[r] + place];
    });
    return true;
}

template <int R, bool LARGEST> inline bool forward(const Program &p, const Evidence &e, const Span &t) {
    for (int r = 0; r < R; ++r) t.exponent[r] = 0;
    for (const int64_t *w = p.words, *end = w + p.length; w < end; w += w[0]) {
        if (w[1] == OpKind::INDICATE) {
            if (!indicate<R>(w, e, t)) return false;
        } else if (w[1] == OpKind::GATHER) {
            if (!gather<R>(w, e, p.tables, t)) return false;
        } else {
            Step s = step_of(w, p.tables, t.arena);
            switch (s.messages) {
            case 0: combine<R, 0, LARGEST>(s, t.arena); break;
            case 1: combine<R, 1, LARGEST>(s, t.arena); break;
            case 2: combine<R, 2, LARGEST>(s, t.arena); break;
            case 3: combine<R, 3, LARGEST>(s, t.arena); break;
            case 4: combine<R, 4, LARGEST>(s, t.arena); break;
            default: combine_many<R, LARGEST>(s, t.arena);
            }
            if (s.scaled) rescale<R>(s, t.arena, t.exponent);
        }
    }
    return true;
}

// What a change of every message does to the logarithm of the result, from the last step to the first; the parts of
// the tables are multiplied by their entries, which makes them expected counts.
template <int R> inline void backward(const Program &p, const Evidence &e, const Span &t, double *slope, double *counts) {
    const int64_t *begin = p.words;
    for (int64_t i = p.ops - 1; i >= 0; --i) {
        const int64_t *w = begin + p.start[i];
        if (w[1] == OpKind::INDICATE) continue;
        if (w[1] == OpKind::GATHER) {
            int64_t base[R];
            bases<R>(w, e, t, base);
            const double *value = t.arena + w[2] * R, *adjoint = slope + w[2] * R;
            each_open(w, [&](int64_t cell, int64_t place) {
                for (int64_t r = 0; r < t.rows; ++r) counts[base[r] + place] += value[cell * R + r] * adjoint[cell * R + r];
            });
            continue;
        }
        Step s = step_of(w, p.tables, t.arena);
        Odometer o(s);
        for (int64_t cell = 0; cell < s.cells; ++cell, o.advance(s)) {
            double from[R];
            const double *adjoint = slope + (s.out + cell) * R, *factor = t.arena + (s.out + s.cells) * R;
            for (int r = 0; r < R; ++r) from[r] = s.scaled ? adjoint[r] * factor[r] : adjoint[r];
            for (int64_t k = 0; k < s.states; ++k) {
                double c = constant_at(s, o, k), before[R], after[R];
                if (c == 0) continue;
                for (int r = 0; r < R; ++r) before[r] = c * from[r];
                // adjoints of message j: all messages before it from the left, all after it from the right
                for (int64_t j = 0; j < s.messages; ++j) {
                    for (int r = 0; r < R; ++r) after[r] = before[r];
                    for (int64_t l = j + 1; l < s.messages; ++l) {
                        const double *m = t.arena + (o.message[l] + k * s.message[l].step) * R;
                        for (int r = 0; r < R; ++r) after[r] *= m[r];
                    }
                    int64_t at = (o.message[j] + k * s.message[j].step) * R;
                    for (int r = 0; r < R; ++r) slope[at + r] += after[r], before[r] *= t.arena[at + r];
                }
                double belief = 0;
                for (int64_t r = 0; r < t.rows; ++r) belief += before[r];
                for (int64_t j = 0; j < s.constants; ++j) counts[o.constant[j] + k * s.constant[j].step] += belief;
            }
        }
    }
}

inline double uniform(uint64_t seed, uint64_t row, uint64_t variable) {
    return from_0_to_1(scatter(scatter(seed + row * GOLDEN + (variable + 1) * 0xd1342543de82ef95u)));
}

// States of the eliminated variables, last first: the most probable, or drawn in proportion.
template <int R, bool LARGEST>
inline bool trace(const Program &p, const Span &t, uint64_t seed, int64_t rows, int32_t *chosen) {
    for (int64_t i = p.ops - 1; i >= 0; --i) {
        const int64_t *w = p.words + p.start[i];
        if (w[1] != OpKind::STEP || w[5] < 0) continue;
        Step s = step_of(w, p.tables, t.arena);
        for (int64_t r = 0; r < t.rows; ++r) {
            int64_t row = t.first + r;
            Odometer o(s);
            for (int64_t d = 0; d < s.dims; ++d) {
                int64_t code = chosen[s.axis[d] * rows + row];
                if (code < 0 || code >= s.size[d]) return false;
                for (int64_t j = 0; j < s.constants; ++j) o.constant[j] += code * s.constant[j].stride[d];
                for (int64_t j = 0; j < s.messages; ++j) o.message[j] += code * s.message[j].stride[d];
            }
            auto value = [&](int64_t k) {
                double v = constant_at(s, o, k);
                for (int64_t j = 0; j < s.messages; ++j) v *= t.arena[(o.message[j] + k * s.message[j].step) * R + r];
                return v;
            };
            int64_t best = 0;
            if (LARGEST) {
                for (int64_t k = 1; k < s.states; ++k)
                    if (value(k) > value(best)) best = k;
            } else {
                double total = 0;
                for (int64_t k = 0; k < s.states; ++k) total += value(k);
                double left = uniform(seed, uint64_t(row), uint64_t(s.variable)) * total;
                for (int64_t k = 0; k < s.states; ++k) {
                    double v = value(k);
                    if (v > 0) best = k;
                    if (left < v) break;
                    left -= v;
                }
            }
            chosen[s.variable * rows + row] = int32_t(best);
        }
    }
    return true;
}

template <int R> inline Status propagate_tiles(const Program &p, const Evidence &e, const Request &a) {
    Scratch room(p.cells * R * 8), scale(R * 8), slopes(a.counts ? p.cells * R * 8 : 0);
    if (!room.data || !scale.data || !slopes.data) return Status::memory;
    double *arena = room.as<double>(), *exponent = scale.as<double>(), *slope = slopes.as<double>();
    int64_t rows = e.codes.rows;
    for (int64_t first = 0; first < rows; first += R) {
        Span t = {first, least(R, rows - first), arena, exponent};
        bool fine = a.largest ? forward<R, true>(p, e, t) : forward<R, false>(p, e, t);
        if (!fine) return Status::code;
        for (int64_t k = 0; k < a.states; ++k)
            for (int64_t r = 0; r < t.rows; ++r) a.out[k * rows + first + r] = arena[(p.result + k) * R + r];
        for (int64_t r = 0; r < t.rows; ++r) a.exponent[first + r] = exponent[r];
        if (a.chosen) {
            fine = a.largest ? trace<R, true>(p, t, a.seed, rows, a.chosen) : trace<R, false>(p, t, a.seed, rows, a.chosen);
            if (!fine) return Status::code;
        }
        if (a.counts) {
            for (int64_t c = 0; c < p.cells * R; ++c) slope[c] = 0;
            for (int64_t r = 0; r < t.rows; ++r) {
                double total = arena[p.result * R + r];
                slope[p.result * R + r] = total > 0 ? (a.weights ? a.weights[first + r] : 1.0) / total : 0.0;
            }
            backward<R>(p, e, t, slope, a.counts);
            for (int64_t c = 0; c < a.beliefs; ++c)
                for (int64_t r = 0; r < t.rows; ++r)
                    a.belief[c * rows + first + r] = arena[(a.belief_from + c) * R + r] * slope[(a.belief_from + c) * R + r];
        }
    }
    return Status::fine;
}

Status propagate(Program p, Evidence e, Request a) {
    if (a.tile == 1) return propagate_tiles<1>(p, e, a);
    if (a.tile == 8) return propagate_tiles<8>(p, e, a);
    return propagate_tiles<32>(p, e, a);
}

}}  // namespace bayeskit::networks
