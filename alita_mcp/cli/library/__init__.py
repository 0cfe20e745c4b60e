"""Commands over the library: find, call, make, review, approve and change tools."""
