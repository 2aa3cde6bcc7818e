"""Bayesian networks: graph, tables, exact inference for whole batches, and the BIF format."""
