"""Names for the array types used in signatures; axes are stated beside each field."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Code = NDArray[np.int32]
Bool = NDArray[np.bool_]
Array = NDArray[Any]
