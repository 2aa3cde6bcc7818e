"""Cut the golden files of the present format again: ``python tests/golden/make.py``.

They must load for ever after; so this is run only before a format is released, or into the directory of a new one.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import ASKED, CASES, table  # noqa: E402

from bayeskit.estimators.network import Network  # noqa: E402
from bayeskit.estimators.wrapper import core  # noqa: E402
from bayeskit.storage import container  # noqa: E402


def asked(model: Any) -> dict[str, Any]:
    """Rows a model never saw, and what it says of them."""
    data = table(500, ASKED)
    if isinstance(model, Network):
        node = model.nodes[-1]
        return {"node": node, "digest": model.digest, "proba": list(model.query(node).values())}
    known = core(model).model_.schema.names if core(model).model_.schema.named else None
    rows = [[data["y"][i], data["hits"][i]] for i in range(ASKED)] if known is None else {n: data[n] for n in known}
    return {
        "rows": rows,
        "digest": core(model).model_.digest,
        "classes": model.classes_.tolist(),
        "proba": _proba(model, rows),
    }


def _proba(model: Any, rows: Any) -> list[list[float]]:
    found: list[list[float]] = model.predict_proba(rows).tolist()
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    folder = HERE / f"format{container.FORMAT}"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.bayes"):
        old.unlink()
    expected = {}
    for name, make in CASES.items():
        model = make()
        model.save(folder / f"{name}.bayes")
        expected[name] = asked(model)
    lines = [f"{json.dumps(name)}: {json.dumps(told)}" for name, told in sorted(expected.items())]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
