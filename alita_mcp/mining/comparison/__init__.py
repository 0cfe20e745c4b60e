"""How alike two programs are: their texts in, normal forms and groups of like ones out."""
