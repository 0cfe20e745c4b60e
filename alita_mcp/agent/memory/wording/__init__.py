"""What a task's words say: its values and parameters, how alike two tasks are, what one gives for the other's."""
