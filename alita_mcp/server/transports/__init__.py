"""Transports: stdio and Streamable HTTP, from the first byte to a clean shutdown."""
