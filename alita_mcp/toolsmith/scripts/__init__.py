"""Tools made of plain scripts and of recorded runs."""
