"""How English is spelled: graphemes, the sound that each has by rule, and the others that it often has.

Sounds are ARPAbet without stress. A rule knows the letters around a grapheme, not the stress: *c* is soft before
e, i and y, a vowel is long before a consonant and a final e, and a vowel without stress may be reduced.
"""

VOWEL_LETTERS = frozenset("aeiouy")
_LISTED = {
    "a": "AE EY AA AO EH", "e": "EH IY", "i": "IH AY IY Y", "o": "AA OW AO UW AH UH", "u": "AH UW Y+UW UH W",
    "y": "IY AY IH Y", "b": "B", "c": "K S CH SH", "d": "D JH T", "f": "F V", "g": "G JH ZH", "h": "HH",
    "j": "JH Y HH", "k": "K", "l": "L", "m": "M", "n": "N NG", "p": "P", "q": "K", "r": "R", "s": "S Z SH ZH",
    "t": "T CH SH D", "v": "V F", "w": "W V", "x": "K+S G+Z Z K+SH", "z": "Z S T+S",
    "bb": "B", "cc": "K K+S CH", "dd": "D", "ff": "F", "gg": "G JH", "kk": "K", "ll": "L", "mm": "M", "nn": "N",
    "pp": "P", "rr": "R", "ss": "S SH Z", "tt": "T", "zz": "Z T+S", "vv": "V",
    "ch": "CH K SH", "sh": "SH", "th": "TH DH T", "ph": "F", "gh": "G F", "ck": "K", "ng": "NG NG+G N+JH N+G",
    "kn": "N", "wr": "R", "wh": "W HH", "qu": "K+W K", "gn": "N G+N", "mb": "M M+B", "sc": "S+K S SH", "tch": "CH",
    "dg": "JH", "sch": "SH S+K", "ps": "P+S S", "rh": "R", "cz": "CH",
    "ti": "T+IH SH CH", "ci": "S+IH SH", "si": "S+IH ZH SH", "ssi": "S+IH SH", "sci": "S+AY SH", "ge": "JH+EH JH",
    "tu": "CH+UW T+UW CH+AH", "su": "S+AH ZH+UW SH+UW",
    "ai": "EY EH", "ay": "EY AY", "au": "AO AW OW", "aw": "AO", "ea": "IY EH EY IY+AH", "ee": "IY",
    "ei": "EY IY AY", "ey": "IY EY AY", "eu": "UW Y+UW OY", "ew": "UW Y+UW", "ie": "IY AY EH",
    "oa": "OW AO", "oe": "OW IY UW", "oi": "OY", "oy": "OY", "oo": "UW UH OW",
    "ou": "AW AH UW OW AO", "ow": "OW AW", "ue": "UW Y+UW",
    "ui": "UW IH", "igh": "AY", "eigh": "EY AY", "augh": "AO AE+F", "ough": "AO OW UW AH+F", "eau": "OW",
    "ae": "EY EH IY", "aa": "AA",
    "ar": "AA+R AO+R EH+R ER", "er": "ER EH+R IH+R", "ir": "ER IH+R AY+R", "or": "AO+R ER", "ur": "ER UH+R Y+UH+R",
    "ear": "IH+R ER EH+R AA+R", "air": "EH+R", "eer": "IH+R", "our": "AO+R AW+ER ER", "oar": "AO+R",
    "oor": "UH+R AO+R", "ier": "IY+ER IH+R", "yr": "ER IH+R", "le": "AH+L",
}  # fmt: skip
LISTED = {grapheme: tuple(tuple(one.split("+")) for one in sounds.split()) for grapheme, sounds in _LISTED.items()}
"""The sounds of each grapheme, each a group of phonemes; the first is that by rule, if nothing else decides."""
LONGEST_GRAPHEME = max(map(len, LISTED))
_LONG = {"a": ("EY",), "e": ("IY",), "i": ("AY",), "o": ("OW",), "u": ("UW",), "y": ("AY",)}
REDUCED = (("AH",), ("IH",))
"""What a vowel without stress may become."""
_HIATUS = frozenset({"ti", "ci", "si", "ssi", "sci"})


def is_vowel(letter: str) -> bool:
    """Whether a letter is a vowel in spelling; of nothing, no."""
    return letter != "" and letter in VOWEL_LETTERS


def by_rule(word: str, start: int, grapheme: str) -> tuple[str, ...]:
    """The sound that a grapheme has by rule at its place in a word.

    >>> [by_rule("cage", 0, "c"), by_rule("cage", 1, "a"), by_rule("cage", 2, "g"), by_rule("nation", 2, "ti")]
    [('K',), ('EY',), ('JH',), ('SH',)]
    """
    after = start + len(grapheme)
    following, rest = word[after : after + 1], word[after:]
    if grapheme in _LONG and len(rest) == 2 and rest[1] == "e" and not is_vowel(rest[0]):
        return _LONG[grapheme]
    if grapheme == "c" and following and following in "eiy":
        return ("S",)
    if grapheme == "g" and following and following in "eiy":
        return ("JH",)
    if grapheme == "sc" and following and following in "eiy":
        return ("S",)
    if grapheme == "y" and start == 0:
        return ("Y",)
    if grapheme == "y" and len(word) <= 3 and not rest:
        return ("AY",)
    if grapheme == "n" and following and following in "kq":
        return ("NG",)
    if grapheme in _HIATUS and is_vowel(following):
        return ("SH",)
    return LISTED[grapheme][0]


def is_silent_by_rule(word: str, place: int) -> bool:
    """Whether the letter is a final e after another letter than the first vowel, or its e in a final *es* or *ed*.

    >>> [is_silent_by_rule("cage", 3), is_silent_by_rule("the", 2), is_silent_by_rule("cages", 3)]
    [True, False, True]
    """
    before = any(is_vowel(letter) for letter in word[:place])
    return word[place] == "e" and before and word[place + 1 :] in ("", "s", "d")
