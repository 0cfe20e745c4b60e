"""Scripts and recorded runs made into tools."""
