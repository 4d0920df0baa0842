"""The files of the corpus are there to be refused: pytest, which runs rule tests too, leaves them to the test here."""

collect_ignore_glob = ["files/*"]
