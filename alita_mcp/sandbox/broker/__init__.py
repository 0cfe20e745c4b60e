"""What the host does for a call beyond computing: each door of `alita_tool`, answered under the version's grants."""
