"""Comparison of programs by normal forms, and groups of like ones."""
