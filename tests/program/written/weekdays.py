"""The day of the week of a date, and whether it is a weekend."""

import datetime
from enum import Enum

from quantascope.program import Registry, when

Day = Enum("Day", "MON TUE WED THU FRI SAT SUN")
registry = Registry()


@registry.quantum("PLACE", output_cardinality=3)
def place(position):
    return position


@registry.quantum("DAY", output_cardinality=7)
def day(date):
    return list(Day)[date.weekday()]


@registry.quantum("NAME", output_cardinality=7)
def name(day):
    return day.name.lower()


@registry.quantum("FREE", output_cardinality=2)
def free(day):
    return "weekend" if day in (Day.SAT, Day.SUN) else "weekday"


@registry.quantum("END", output_cardinality=1)
def end():
    return "."


AUDIT = [datetime.date(2024, 1, 1) + datetime.timedelta(days) for days in range(0, 800, 13)]


@registry.entry(audit=AUDIT, vocabulary=[*(day.name.lower() for day in Day), "weekend", "weekday", "."], end=".")
def predict(state):
    where = place(state.position)
    with when(where, 2) as over:
        if over:
            return end()
    with when(where != 2, True) as writing:
        if writing:
            today = day(state.source)
            with when(where, 0) as first:
                if first:
                    return name(today)
            with when(where, 1) as second:
                if second:
                    return free(today)
    return None


EDGES = {"PLACE": "DAY END", "DAY": "NAME FREE"}
WRITES = {datetime.date(2024, 2, 29): "thu weekday ."}
