// Counts of many pairs of columns.
namespace {

Status pairs(Codes codes, const int32_t *groups, int64_t n_groups, Tables t, Sums s) {
    return count(codes, groups, nullptr, n_groups, t, s);
}

}  // namespace
