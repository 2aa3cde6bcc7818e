"""Where a picture goes: the file named on the command line, or a window."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt


def show(figure: Any) -> None:
    """Write the figure to the first argument (a .png, .pdf or .svg file), else show it."""
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=150)
        print(sys.argv[1])
    else:
        plt.show()
