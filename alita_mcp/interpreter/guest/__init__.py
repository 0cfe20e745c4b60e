"""What runs inside a sandbox when code runs once; sent along as text, never imported by the server."""
