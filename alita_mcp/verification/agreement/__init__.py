"""Agreement of independently written candidates, judged by their pass matrix."""
