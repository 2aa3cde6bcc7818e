"""The ``.bayes`` container, and models, networks and bundles as files."""
