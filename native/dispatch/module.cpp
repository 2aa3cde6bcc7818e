// bayeskit._core: the module, and the choice of the clone that fits this CPU.
#include "dispatch/bindings.h"

namespace bayeskit {

extern const Kernels kernels_base;
#ifdef HAVE_avx2
extern const Kernels kernels_avx2;
#endif
#ifdef HAVE_avx512
extern const Kernels kernels_avx512;
#endif

namespace {

#ifdef HAVE_avx512
// The widest registers, but for the kernel that measured slower with them: the bits are the same.
const Kernels &wide() {
    static const Kernels mixed = [] {
        Kernels k = kernels_avx512;
        k.gaussian_log_density = kernels_avx2.gaussian_log_density;
        return k;
    }();
    return mixed;
}
#endif

std::vector<const Kernels *> usable() {
    std::vector<const Kernels *> found = {&kernels_base};
#if defined(HAVE_avx2) || defined(HAVE_avx512)
    __builtin_cpu_init();
#endif
#ifdef HAVE_avx2
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (avx2) found.push_back(&kernels_avx2);
#endif
#ifdef HAVE_avx512
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        found.push_back(&wide());
#endif
    return found;
}

}  // namespace

const Kernels *kernels = usable().back();

}  // namespace bayeskit

NB_MODULE(_core, m) {
    using namespace bayeskit;
    m.doc() = "The numerical core of bayeskit: exact sums, counts and log densities on raw columns.";
    m.def(
        "clones",
        [] {
            std::vector<std::string> names;
            for (const Kernels *k : usable()) names.push_back(k->clone);
            return names;
        },
        "Names of the instruction sets this CPU can run; all give the same bits.");
    m.def("clone", [] { return std::string(kernels->clone); }, "Name of the instruction set in use.");
    m.def(
        "use_clone",
        [](const std::string &name) {
            for (const Kernels *k : usable())
                if (name == k->clone) {
                    kernels = k;
                    return;
                }
            refuse("no clone '" + name + "' on this CPU; see clones()");
        },
        "name"_a, "Uses another instruction set from now on (for tests).");
#define AS_PYTHON(type, rows)                                     \
    {                                                             \
        using Rows = type;                                        \
        nb::enum_<Rows::Row>(m, #type, nb::is_arithmetic()) rows; \
    }
#define AS_VALUE(name) .value(#name, Rows::name)
    BAYESKIT_ROWS(AS_PYTHON, AS_VALUE)
    m.attr("MOST_INPUTS") = MOST_INPUTS;
    for (Binding::Add add : Binding::all()) add(m);
}
