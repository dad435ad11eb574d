"""Which characters of Omniglot belong to which split, as published.

The table is facts about the data set, in the smallest form that can be read.
"""

# Omniglot, split by Vinyals et al. (2016): the characters that each split takes from
# an alphabet. Two splits that share an alphabet take from it in this order: training
# has the first 41 characters of Gurmukhi, and the test has the other four.
OMNIGLOT = {
    "train": {
        "Alphabet_of_the_Magi": 20,
        "Angelic": 20,
        "Anglo-Saxon_Futhorc": 29,
        "Arcadian": 26,
        "Asomtavruli_(Georgian)": 40,
        "Atemayar_Qelisayer": 26,
        "Atlantean": 26,
        "Aurek-Besh": 26,
        "Avesta": 26,
        "Balinese": 24,
        "Blackfoot_(Canadian_Aboriginal_Syllabics)": 14,
        "Braille": 26,
        "Burmese_(Myanmar)": 34,
        "Cyrillic": 33,
        "Futurama": 26,
        "Ge_ez": 26,
        "Glagolitic": 45,
        "Grantha": 43,
        "Greek": 24,
        "Gujarati": 48,
        "Gurmukhi": 41,
        "Inuktitut_(Canadian_Aboriginal_Syllabics)": 16,
        "Japanese_(hiragana)": 52,
        "Japanese_(katakana)": 47,
        "Korean": 40,
        "Latin": 26,
        "Malay_(Jawi_-_Arabic)": 40,
        "N_Ko": 33,
        "Ojibwe_(Canadian_Aboriginal_Syllabics)": 14,
        "Sanskrit": 42,
        "Syriac_(Estrangelo)": 23,
        "Tagalog": 17,
        "Tifinagh": 55,
    },
    "val": {
        "Armenian": 41,
        "Bengali": 46,
        "Early_Aramaic": 22,
        "Hebrew": 22,
        "Mkhedruli_(Georgian)": 41,
    },
    "test": {
        "Gurmukhi": 4,
        "Kannada": 41,
        "Keble": 26,
        "Malayalam": 47,
        "Manipuri": 40,
        "Mongolian": 30,
        "Old_Church_Slavonic_(Cyrillic)": 45,
        "Oriya": 46,
        "Sylheti": 28,
        "Syriac_(Serto)": 23,
        "Tengwar": 25,
        "Tibetan": 42,
        "ULOG": 26,
    },
}


def omniglot_characters(
    alphabets: dict[str, dict[str, int]] = OMNIGLOT,
) -> dict[str, list[str]]:
    """Returns the `Alphabet/characterNN` of each split, in order.

    Example:
        >>> omniglot_characters()["test"][0]
        'Gurmukhi/character42'
    """
    taken: dict[str, int] = {}
    characters: dict[str, list[str]] = {}
    for split, counts in alphabets.items():
        characters[split] = []
        for alphabet, count in counts.items():
            first = taken.get(alphabet, 0) + 1
            taken[alphabet] = first + count - 1
            characters[split] += [
                f"{alphabet}/character{number:02d}"
                for number in range(first, first + count)
            ]
    return characters
