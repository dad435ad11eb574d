import itertools

from prwn_tf.analysis.styles import METHODS, OTHERS, styles, title


def test_a_method_looks_the_same_in_every_figure():
    assert styles(["PRWN", "PN"])["PN"] == styles(["mine", "PN", "PN_all"])["PN"]


def test_methods_differ_in_colour_and_in_more_than_colour():
    for one, other in itertools.combinations(METHODS.values(), 2):
        assert one.color != other.color
        assert one.marker != other.marker


def test_runs_of_other_names_take_looks_that_are_free():
    looks = styles(["a", "PN", "b"])
    assert len(set(looks.values())) == 3
    many = [f"run {index}" for index in range(2 * len(OTHERS))]
    assert set(styles(many).values()) == set(OTHERS)


def test_names_have_subscripts():
    assert title("PN_20way") == r"PN$_{\mathrm{20way}}$"
    assert title("PN") == "PN"
    assert title("PRWN (my_run)") == "PRWN (my_run)"
    assert title("5$") == r"5\$"  # no mathematics of the user's
