"""Why this posterior: terms of evidence that add up."""
