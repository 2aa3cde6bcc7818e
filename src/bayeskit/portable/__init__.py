"""Portable programs: a fitted model as a short list of steps that a page, SQL and other targets compute with."""
