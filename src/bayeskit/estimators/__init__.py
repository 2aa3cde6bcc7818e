"""The doors: thin adapters to scikit-learn's contract."""
