"""Capitals and continents of countries, looked up in tables between quanta."""

from collections import defaultdict

from quantascope.program import Registry, lift, when

CAPITALS = {"peru": "lima", "cuba": "havana", "chad": "ndjamena", "mali": "bamako", "iran": "tehran"}
CAPITALS["iraq"] = "baghdad"
CONTINENTS = defaultdict(lambda: "asia", peru="america", cuba="america", chad="africa", mali="africa")
registry = Registry()


@registry.quantum("TURN", output_cardinality=3)
def turn(position):
    return ("capital", "continent", "end")[position]


@registry.quantum("COUNTRY", output_cardinality=9)
def country(text):
    return text.strip().lower()


@registry.quantum("CAPITAL", output_cardinality=9)
def capital(name):
    return name


@registry.quantum("CONTINENT", output_cardinality=3)
def continent(table, country):
    return table[country]


@registry.quantum("END", output_cardinality=1)
def end(turn):
    return "."


AUDIT = [*CAPITALS, *(name.title() for name in CAPITALS)]


@registry.entry(audit=AUDIT, vocabulary=[*CAPITALS.values(), "america", "africa", "asia", "."], end=".")
def predict(state):
    now = turn(state.position)
    with when(now, "end") as over:
        if over:
            return end(now)
    with when(now != "end", True) as writing:
        if writing:
            where = country(state.source)
            with when(now, "capital") as first:
                if first:
                    return capital(lift(CAPITALS.__getitem__, where))
            with when(now, "continent") as second:
                if second:
                    return continent(CONTINENTS, where)
    return None


EDGES = {"TURN": "COUNTRY END", "COUNTRY": "CAPITAL CONTINENT"}
WRITES = {"Peru": "lima america .", "iraq": "baghdad asia ."}
