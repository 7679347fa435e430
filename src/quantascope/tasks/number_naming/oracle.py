"""English names of the numbers 1 to 999,999, as words: no "zero", no "and", no hyphens."""

from quantascope.runs.errors import InvalidConfig

LARGEST = 999_999
UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def number_name(number: int) -> tuple[str, ...]:
    """The words of a number's name.

    >>> number_name(42_017)
    ('forty', 'two', 'thousand', 'seventeen')
    """
    if not 1 <= number <= LARGEST:
        raise InvalidConfig(f"{number} has no name here; give a number from 1 to {LARGEST:,}")
    high, low = divmod(number, 1000)
    return (*_chunk(high), "thousand", *_chunk(low)) if high else _chunk(low)


def _chunk(chunk: int) -> tuple[str, ...]:
    hundreds, tail = divmod(chunk, 100)
    words = (UNITS[hundreds - 1], "hundred") if hundreds else ()
    if 10 <= tail < 20:
        return (*words, TEENS[tail - 10])
    tens, units = divmod(tail, 10)
    if tens:
        words = (*words, TENS[tens - 2])
    return (*words, UNITS[units - 1]) if units else words
