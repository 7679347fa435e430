"""Caesar's cipher: each letter is moved by a key, with ord and chr between quanta."""

from quantascope.program import Registry, lift, when

registry = Registry()


@registry.quantum("DONE", output_cardinality=2)
def done(position, text):
    return position == len(text)


@registry.quantum("LETTER", output_cardinality=26)
def letter(text, position):
    return text[position]


@registry.quantum("KEY", output_cardinality=26)
def key(key):
    return key % 26


@registry.quantum("MOVED", output_cardinality=26)
def moved(code):
    return lift(chr, 97 + code % 26)


@registry.quantum("END", output_cardinality=1)
def end(done):
    return "."


@registry.entry(
    audit=[(text, key) for text in ("a", "hi", "zebra", "quick") for key in (0, 1, 3, 13, 25, 27)],
    vocabulary=[*"abcdefghijklmnopqrstuvwxyz", "."],
    end=".",
)
def predict(state):
    text, by = state.source
    finished = done(state.position, text)
    with when(finished, True) as over:
        if over:
            return end(finished)
    with when(finished, False) as writing:
        if writing:
            code = lift(ord, letter(text, state.position)) - 97
            return moved(code + key(by))
    return None


EDGES = {"DONE": "LETTER KEY END", "LETTER": "MOVED", "KEY": "MOVED"}
WRITES = {("hi", 3): "k l .", ("zebra", 1): "a f c s b ."}
