"""Vector search: embeddings of tools kept beside the catalogue, and their calibration."""
