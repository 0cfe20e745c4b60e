"""Commands over the library: making, finding, running, approving and keeping tools."""
