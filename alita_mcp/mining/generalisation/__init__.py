"""Several runs of like programs in, the one typed function that does what they did out."""
