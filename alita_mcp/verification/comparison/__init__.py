"""Comparison of two JSON results, and the first difference between them."""
