"""Vector search: embeddings of tools kept beside the catalogue, and how far their distances can be trusted."""
