"""The mutation gate: would the examples notice a small mistake in the code?"""
