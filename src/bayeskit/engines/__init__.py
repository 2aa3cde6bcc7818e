"""How batches are fed to a statistic: each engine one file, found by walking this package."""
