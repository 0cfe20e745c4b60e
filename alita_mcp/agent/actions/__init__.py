"""What a run can do: its tools, the steps they make, the values, files and pages that these may use."""
