"""Writing by models: tests blind to code, candidates blind to tests, rounds of repair and the selection among them."""
