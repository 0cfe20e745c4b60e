"""Language models: one seam, litellm behind it, and a scripted one for tests."""
