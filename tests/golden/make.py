"""Cut golden files of the present format: ``python tests/golden/make.py`` those that are not there yet.

``python tests/golden/make.py again`` cuts all of them. They must load for ever after; so that is done only before a
format is released, or into the directory of a new one.
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
        node = model.network_.coded[-1]
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


def main(again: bool) -> None:
    warnings.simplefilter("ignore")
    folder = HERE / f"format{container.FORMAT}"
    folder.mkdir(exist_ok=True)
    known = folder / "expected.json"
    expected = {} if again or not known.exists() else json.loads(known.read_text())
    for old in folder.glob("*.bayes"):
        if old.stem not in expected:
            old.unlink()
    for name, make in CASES.items():
        if name not in expected:
            model = make()
            model.save(folder / f"{name}.bayes")
            expected[name] = asked(model)
            print(f"{folder.name}/{name}.bayes")
    lines = [f"{json.dumps(name)}: {json.dumps(told)}" for name, told in sorted(expected.items())]
    known.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["again"]):
        sys.exit(__doc__)
    main(bool(sys.argv[1:]))
