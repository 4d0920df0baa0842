"""How do programs and people come in over HTTP?"""
