"""The gates that turn a draft into a report."""
