"""Results of tool calls: texts, structured content, cuts and errors."""
