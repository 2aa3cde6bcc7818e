"""Displays: frames of numbers as pictures; matplotlib is imported when one is drawn."""
