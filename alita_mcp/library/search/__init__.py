"""Search: a query in, tools by calibrated relevance out."""
