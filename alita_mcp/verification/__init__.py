"""Verification gates, which turn a draft into a report."""
