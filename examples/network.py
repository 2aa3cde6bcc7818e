"""A belief network with what follows from an observation (C4).

python examples/network.py network.png
"""

from output import show

import bayeskit as bk

net = bk.Network(
    [("family history", "lung cancer"), ("smoker", "lung cancer"), ("lung cancer", "x-ray")],
    {
        "family history": {"yes": 0.1, "no": 0.9},
        "smoker": {"yes": 0.3, "no": 0.7},
        "lung cancer": {
            ("yes", "yes"): {"yes": 0.8, "no": 0.2},
            ("yes", "no"): {"yes": 0.5, "no": 0.5},
            ("no", "yes"): {"yes": 0.7, "no": 0.3},
            ("no", "no"): {"yes": 0.1, "no": 0.9},
        },
        "x-ray": {"yes": {"positive": 0.9, "negative": 0.1}, "no": {"positive": 0.2, "negative": 0.8}},
    },
)
show(net.plot({"x-ray": "positive"}).figure_)
