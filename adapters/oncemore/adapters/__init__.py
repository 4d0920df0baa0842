"""The outside: runtimes, sources, grants, and the faces by which people come in."""
