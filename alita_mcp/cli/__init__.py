"""Commands for people: result on stdout, everything else on stderr."""
