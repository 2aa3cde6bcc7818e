"""A process that saves, for the tests of saving: ``python saver.py loop|several|refused|order PATH NUMBER``."""

import itertools
import sys

import numpy as np

from bayeskit.model.codec import fingerprint
from bayeskit.storage import container


def model(number: int, size: int = 50_000) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """A model all of whose parts say its number."""
    return {"number": number, "size": size}, {
        "counts": np.full(size, number),
        "sums": np.full(size, number / 7),
    }


def expect(header, shapes):
    """The tensors of ``model``."""
    return {"counts": ("int64", (header["size"],)), "sums": ("float64", (header["size"],))}


if __name__ == "__main__":
    task, path, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if task == "loop":
        print("ready", flush=True)
        for turn in itertools.count(number):
            container.write(path, *model(turn))
    elif task == "several":
        for _ in range(25):
            container.write(path, *model(number))
    elif task == "refused":  # prints the errno of a save that must fail
        try:
            container.write(path, *model(number))
        except OSError as error:
            print(error.errno, error)
    elif task == "order":  # the same model with its names in another order
        header = {"b": [1, None, True], "a": {"y": 0.1, "x": "é\ud800"}}
        arrays = {"u": np.arange(3, dtype=np.uint8), "f": np.eye(2), "i": np.arange(4)}
        turned = list(set(header)), list(set(arrays))  # set order differs by PYTHONHASHSEED
        container.write(path, {k: header[k] for k in turned[0]}, {k: arrays[k] for k in turned[1]})
        print(fingerprint({k: header[k] for k in turned[0]}, {k: arrays[k] for k in turned[1]}))
