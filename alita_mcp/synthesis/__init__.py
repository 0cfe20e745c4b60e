"""The toolsmith: from a request to a published version."""
