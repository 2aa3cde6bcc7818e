"""The protocol of log-densities, what parametric, tabular and count densities share, and leave-one-out."""
