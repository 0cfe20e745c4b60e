"""The agents as MCP clients see them: `solve_task`, `research_web`, and runs of tasks as resources."""
