"""Sound: Arrow data whose buffers may be read without fear, whoever made them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa

from bayeskit.errors import BayeskitError, InputError

Data = TypeVar("Data", pa.Table, pa.RecordBatch)


def sound(data: Data, where: str) -> Data:
    """The data, once every offset, index and text in it has been found to be what it should be.

    Arrow believes its buffers: an offset beyond its buffer ends the process that follows it.
    """
    with damage_told(where):
        data.validate(full=True)
        check_names(data.schema)
    return data


def check_names(fields: Iterable[pa.Field]) -> None:
    """Read every name, also of nested fields: Arrow decodes a name when it is asked for, and one may be no text."""
    for f in fields:
        _ = f.name
        check_names(f.type.field(i) for i in range(f.type.num_fields))


@contextmanager
def damage_told(where: str) -> Iterator[None]:
    """Whatever Arrow says of data that it cannot read, as an error that names them.

    Arrow lets errors of Python through where names are no text or numbers too large.
    """
    try:
        yield
    except BayeskitError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError, MemoryError) as error:
        told = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{where}: it is damaged, or not what its name says ({told}); get it anew") from error
