"""Morse code sign by sign; letters are looked up in a dictionary with a default."""

from quantascope.program import Registry, lift

MORSE = {"e": ".", "t": "-", "a": ".-", "n": "-.", "s": "...", "o": "---", "r": ".-.", "k": "-.-"}
registry = Registry()


@registry.quantum("LETTER", output_cardinality=30)
def letter(text):
    return text.lower()


@registry.quantum("SIGN", output_cardinality=3)
def sign(code, position):
    return (code + "/")[position]


@registry.quantum("SAID", output_cardinality=3)
def said(sign):
    return {".": "dit", "-": "dah", "/": "end"}[sign]


@registry.entry(audit=[*MORSE, "x", "E", "S"], vocabulary=["dit", "dah", "end"], end="end")
def predict(state):
    code = lift(MORSE.get, letter(state.source), "..-..")
    return said(sign(code, state.position))


EDGES = {"LETTER": "SIGN", "SIGN": "SAID"}
WRITES = {"r": "dit dah dit end", "T": "dah end"}
