"""What a policy means: facts, rule files, expressions, checking, testing and compiling. Pure, no clock, no database."""
