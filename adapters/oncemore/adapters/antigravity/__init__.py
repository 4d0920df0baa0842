"""How is Antigravity run and read? Through its desktop language server, or through the harness of its SDK."""
