"""Structured replies: JSON and tool calls read from what a model wrote."""
