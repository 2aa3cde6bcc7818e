"""Start: what ``import bayeskit`` costs over the bare interpreter."""

from __future__ import annotations

import subprocess
import sys

from duel import seconds


def main() -> None:
    def run(code: str) -> float:
        return min(seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True)) for _ in range(5))

    bare, ours = run("pass"), run("import bayeskit")
    print(f"import bayeskit: {ours - bare:.3f} s over the interpreter's {bare:.3f} s (goal 0.3)")


if __name__ == "__main__":
    main()
