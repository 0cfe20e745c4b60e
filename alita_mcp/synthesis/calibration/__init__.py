"""Calibration of a model: tasks whose right results are known, and counts of what it got right."""
