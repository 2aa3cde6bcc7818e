"""Schema, domain and the one way from Arrow or a matrix to a block of numbers."""
