// Nearest points by a k-d tree whose nodes halve the points: node i of level l has those from count i / 2^l up to the next. The
// distance to a node's box is summed as that to a point is, column by column, so rounding never puts the box beyond a point.
namespace bayeskit::search { namespace {

constexpr int64_t TREE_DEPTH = 48;

template <bool SQUARE> inline double power_of(double gap) { return SQUARE ? gap * gap : __builtin_fabs(gap); }
template <bool SQUARE> inline Real power_of_lanes(Real gap) { return SQUARE ? gap * gap : magnitude(gap); }

template <bool SQUARE> inline double box_distance(const double *x, const double *box, int64_t columns) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
        double low = box[j] - x[j], high = x[j] - box[columns + j], gap = low > high ? low : high;
        sum += power_of<SQUARE>(gap > 0 ? gap : 0.0);
    }
    return sum;
}

struct Nearest {
    double *distance;
    int64_t *point;
    int64_t most;

    inline void add(double d, int64_t p) {
        int64_t at = most - 1;
        for (; at > 0 && d < distance[at - 1]; --at) {
            distance[at] = distance[at - 1];
            point[at] = point[at - 1];
        }
        distance[at] = d;
        point[at] = p;
    }
    inline double worst() const { return distance[most - 1]; }
};

template <bool SQUARE> inline void search_leaf(const double *x, PointTree tree, int64_t from, int64_t to, Nearest found) {
    int64_t t = from;
    for (; t + LANES <= to; t += LANES) {
        Real sum = splat(0.0);
        for (int64_t j = 0; j < tree.columns; ++j)
            sum = sum + power_of_lanes<SQUARE>(splat(x[j]) - load(tree.number + j * tree.count + t));
        if (!any(less(sum, splat(found.worst())))) continue;
        for (int i = 0; i < LANES; ++i)
            if (lane(sum, i) < found.worst()) found.add(lane(sum, i), tree.order[t + i]);
    }
    for (; t < to; ++t) {
        double sum = 0;
        for (int64_t j = 0; j < tree.columns; ++j) sum += power_of<SQUARE>(x[j] - tree.number[j * tree.count + t]);
        if (sum < found.worst()) found.add(sum, tree.order[t]);
    }
}

template <bool SQUARE> inline void search_tree(const double *x, PointTree tree, Nearest found) {
    struct {
        int64_t node;
        double distance;
    } left[TREE_DEPTH];
    int64_t open = 0, leaves = int64_t(1) << tree.depth;
    left[open++] = {1, 0.0};
    while (open) {
        auto [node, distance] = left[--open];
        if (!(distance < found.worst())) continue;
        while (node < leaves) {
            double one = box_distance<SQUARE>(x, tree.box + 2 * node * 2 * tree.columns, tree.columns);
            double other = box_distance<SQUARE>(x, tree.box + (2 * node + 1) * 2 * tree.columns, tree.columns);
            bool first = one <= other;
            double near = first ? one : other, far = first ? other : one;
            node = 2 * node + !first;
            if (far < found.worst()) left[open++] = {node ^ 1, far};
            if (!(near < found.worst())) {
                node = 0;
                break;
            }
        }
        if (!node) continue;
        int64_t leaf = node - leaves;
        search_leaf<SQUARE>(x, tree, tree.count * leaf >> tree.depth, tree.count * (leaf + 1) >> tree.depth, found);
    }
}

void nearest_in_tree(const double *asked, int64_t rows, PointTree tree, bool square, int64_t most, double *distance,
                     int64_t *point) {
    for (int64_t i = 0; i < rows; ++i) {
        Nearest found = {distance + i * most, point + i * most, most};
        for (int64_t t = 0; t < most; ++t) {
            found.distance[t] = INFINITE;
            found.point[t] = -1;
        }
        (square ? search_tree<true> : search_tree<false>) (asked + i * tree.columns, tree, found);
    }
}

}}  // namespace bayeskit::search
