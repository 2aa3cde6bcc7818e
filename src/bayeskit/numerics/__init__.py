"""Special functions, cut points, information, distances, neighbour search and log-linear weights."""
