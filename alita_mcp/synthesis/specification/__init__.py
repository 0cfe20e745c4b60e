"""What models write, as values, and what a specification assumes or is called besides."""
