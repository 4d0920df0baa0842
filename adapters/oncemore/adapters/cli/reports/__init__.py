"""In which forms do other people's programs take what `check` and `test` found? A module for each form.

Each has `of_findings`, what is wrong with rule files, and `of_tests`, how rule tests went; both give one text.
"""
