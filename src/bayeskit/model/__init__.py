"""A model as an immutable value: prior, posterior, digest, and the way from a table to it."""
