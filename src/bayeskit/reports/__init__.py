"""Reports: an evaluation as one page that a colleague can open."""
