"""What happens: evaluation, decisions, the journal, and the executor that carries a fired decision out, once."""
