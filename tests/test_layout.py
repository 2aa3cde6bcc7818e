"""Where the boxes and arcs of a graph are put."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.networks.drawing import Drawing
from bayeskit.networks.graph import Graph
from bayeskit.plots.network import Layout

SIZES = st.tuples(st.floats(0.5, 4.0), st.floats(0.3, 2.0))


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 9))
    pairs = [(f"n{i}", f"n{j}") for i in range(n) for j in range(i + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=14)) if pairs else []
    return Graph.of(edges, [f"n{i}" for i in range(n)]), {f"n{i}": draw(SIZES) for i in range(n)}


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_boxes_do_not_touch_and_arcs_go_down_from_box_to_box(drawn):
    graph, boxes = drawn
    found = Layout.of(Drawing(graph).layers, graph.edges, boxes, 0.3, 0.5)
    for a in boxes:
        for b in boxes:
            apart = np.abs(np.subtract(found.middle[a], found.middle[b])) - (np.array(boxes[a]) + boxes[b]) / 2
            assert a == b or apart.max() >= 0.3 - 1e-9
    for (parent, child), points in found.routes.items():
        (x, y), (wide, tall) = found.middle[parent], boxes[parent]
        assert points[0, 1] == pytest.approx(y + tall / 2)
        assert abs(points[0, 0] - x) <= wide / 2
        assert points[-1, 1] == pytest.approx(found.middle[child][1] - boxes[child][1] / 2)
        assert (np.diff(points[::3, 1]) >= -1e-9).all()
    edges = np.array([[x + s * w / 2 for s in (-1, 1)] for (x, _), (w, _) in
                      ((found.middle[n], boxes[n]) for n in boxes)])  # fmt: skip
    assert edges.min() >= -1e-9
    assert edges.max() <= found.size[0] + 1e-9


def test_a_long_arc_passes_beside_the_boxes_between():
    graph = Graph.of([("a", "b"), ("b", "c"), ("a", "c")])
    boxes = dict.fromkeys("abc", (2.0, 1.0))
    found = Layout.of(Drawing(graph).layers, graph.edges, boxes, 0.3, 0.5)
    x, y = found.middle["b"]
    route = found.routes["a", "c"]
    beside = route[(route[:, 1] > y - 0.5) & (route[:, 1] < y + 0.5)]
    assert len(beside) > 0
    assert (np.abs(beside[:, 0] - x) > 1.0).all()


def test_a_table_of_a_node_is_shown_as_given():
    table = {("yes", "yes"): {"on": 0.9, "off": 0.1}, ("yes", "no"): {"on": 0.4, "off": 0.6},
             ("no", "yes"): {"on": 0.3, "off": 0.7}, ("no", "no"): {"on": 0.05, "off": 0.95}}  # fmt: skip
    half = {"yes": 0.5, "no": 0.5}
    net = bk.Network([("a", "c"), ("b", "c")], {"a": half, "b": half, "c": table})
    for shown in (net.plot_table("c"), net.plot().tables["c"]):
        frame = shown.frame().to_pydict()
        lines = zip(frame["a"], frame["b"], frame["c"], frame["probability"], strict=True)
        assert {(a, b, c): p for a, b, c, p in lines} == {
            (*k, s): p for k, row in table.items() for s, p in row.items()
        }


def test_many_nodes_leave_their_tables_out_unless_asked():
    tables = {f"n{i}": {"x": 0.5, "y": 0.5} for i in range(14)}
    net = bk.Network([], tables, nodes=list(tables))
    assert net.plot().tables == {}
    assert len(net.plot(tables=True).tables) == 14
