"""Sandboxes made of another one, or of answers written beforehand."""
