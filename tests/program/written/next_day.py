"""The day after a date, as day and month; dates are tuples, taken apart by one helper for pairs and triples."""

import calendar

from quantascope.program import Registry, lift, when

registry = Registry()


@registry.quantum("PART", output_cardinality=3)
def part(position):
    return position


@registry.quantum("LAST", output_cardinality=4)
def last_day(year, month):
    return calendar.monthrange(year, month)[1]


@registry.quantum("NEXT", output_cardinality=400)
def next_day(date, last):
    _, month, day = date
    return (month, day + 1) if day < last else (month % 12 + 1, 1)


@registry.quantum("DAY", output_cardinality=31)
def say_day(day):
    return str(day)


@registry.quantum("MONTH", output_cardinality=12)
def say_month(month):
    return str(month)


@registry.quantum("END", output_cardinality=1)
def end(part):
    return "."


def parts(date):
    return [lift(int, part) for part in date]


AUDIT = [(year, month, day) for year in (2023, 2024) for month in range(1, 13) for day in (1, 8, 14, 27, 28)]
AUDIT += [(2024, 2, 29), (2023, 12, 31), (2023, 4, 30)]


@registry.entry(audit=AUDIT, vocabulary=[*map(str, range(1, 32)), "."], end=".")
def predict(state):
    now = part(state.position)
    with when(now, 2) as over:
        if over:
            return end(now)
    with when(now != 2, True) as writing:
        if writing:
            year, month, _ = parts(state.source)
            tomorrow = next_day(state.source, last_day(year, month))
            month, day = parts(tomorrow)
            with when(now, 0) as first:
                if first:
                    return say_day(day)
            with when(now, 1) as second:
                if second:
                    return say_month(month)
    return None


EDGES = {"PART": "LAST END", "LAST": "NEXT", "NEXT": "DAY MONTH"}
WRITES = {(2024, 2, 28): "29 2 .", (2023, 12, 31): "1 1 ."}
