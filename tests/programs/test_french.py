"""The French program against num2words."""

from num2words import num2words

from quantascope.programs import french


def words(number: int) -> tuple[str, ...]:
    return tuple(num2words(number, lang="fr").replace("-", " ").split())


def test_names_join_as_num2words_joins_them(rng):
    """A name is that of its thousands and that of the rest, so all 999,999 follow from 1,998."""
    numbers = rng.integers(1000, french.LARGEST + 1, 1000).tolist()
    for number in numbers:
        high, low = number - number % 1000, number % 1000
        assert words(number) == words(high) + (words(low) if low else ())


def test_every_name_is_that_of_num2words(compiled, rng):
    """Every thousand, every rest alone and after `mille`, and some rests after every length of a thousand."""
    high = {number: words(number) for number in range(1000, 1_000_000, 1000)}
    low = {0: (), **{number: words(number) for number in range(1, 1000)}}
    after = {len(name): number for number, name in high.items()}
    drawn = (number + rest for number in after.values() for rest in rng.integers(1, 1000, 200).tolist())
    numbers = [*high, *range(1, 1000), *range(1001, 2000), *drawn]
    written = compiled("french").trace(numbers).written()
    for number, name in zip(numbers, written, strict=True):
        assert name == (*high.get(number - number % 1000, ()), *low[number % 1000], "EOS")


def test_the_graph_has_a_structure_of_its_own(compiled):
    graph = compiled("french").to_json()
    assert (len(graph["quanta"]), len(graph["edges"]), graph["levels"]) == (21, 23, 10)


def test_panels_are_disjoint_and_training_holds_every_word():
    training, development, evaluation = map(french.task.panel, ("training", "development", "evaluation"))
    assert (len(training), len(development)) == (300, 1024)
    assert len({*training, *development, *evaluation}) == len(training) + len(development) + len(evaluation)
    assert {word for number in training for word in french.name(number)} == set(french.LEXICON)
    assert set(french.task.panel("vigesimal")) < set(evaluation)


def test_the_task_asks_for_what_the_program_writes(compiled):
    numbers = french.task.panel("development")
    trace, events = compiled("french").trace(numbers), french.task.events(numbers)
    assert [french.task.token[trace.tokens[row]] for row in trace.row.tolist()] == events.target.tolist()


def test_smaller_training_sets_are_within_the_larger_and_hold_the_reserved_forms():
    small, middle, whole = (set(french.task.panel(f"training_{count}")) for count in (100, 200, 300))
    assert set(french.RESERVED) < small < middle < whole == set(french.task.panel("training"))
    assert (len(small), len(middle)) == (100, 200)
