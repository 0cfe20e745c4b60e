"""What host and sandbox send each other: frames over two pipes, JSON read strictly."""
