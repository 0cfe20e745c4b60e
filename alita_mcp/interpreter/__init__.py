"""Code that runs once: a script or a step of a session in, its result, output, figures and files out."""
