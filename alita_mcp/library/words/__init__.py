"""Word search: stems, synonyms, term weights and documents."""
