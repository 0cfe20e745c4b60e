"""Calibration: tasks with known truth, a model that works on them, and counts of what it got right."""
