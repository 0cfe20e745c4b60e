"""Plans of the manager agent: read from the model's turns, and compared by what earlier runs learned."""
