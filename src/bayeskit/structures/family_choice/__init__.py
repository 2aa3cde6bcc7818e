"""The choice of a family for a column: what the core tells of its cells, densities fitted where it does not, trials."""
