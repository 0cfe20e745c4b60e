"""Words for search: stems, synonyms and term weights."""
