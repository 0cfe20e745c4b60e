"""Classification of failed drafts, and what may be disclosed of a failure."""
