"""Language models and embedders: their interfaces, litellm behind them, and scripted ones for tests."""
