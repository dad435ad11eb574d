"""Help in groups, flags by other names, and settings with where they come from."""

import pytest

from tests.cli import program


@pytest.fixture(scope="module")
def shown() -> str:
    result = program.run("train", "--dataset=mini", "--shot=1", "--help")
    assert result.returncode == 0
    return result.stdout


def test_flags_are_in_groups(shown):
    groups = [line for line in shown.splitlines() if line.isupper()]
    assert groups == [
        *("WHAT TO LEARN", "EPISODES", "LOSSES", "ENCODERS AND HEADS", "OPTIMIZER"),
        *("FILES", "EXPERT"),
    ]
    losses = shown.partition("\nLOSSES\n")[2].partition("\n\n")[0]
    assert "--walk_steps=3           Most steps of the walker" in losses
    assert max(map(len, shown.splitlines())) <= 80


def test_help_has_the_symbols_and_the_defaults_of_what_is_asked(shown):
    text = " ".join(shown.split())
    for symbol in ("lambda", "tau", "alpha", "N", "K"):
        assert f"({symbol} in the paper)" in text
    for default in (
        "--dataset=mini ",
        "--shot=1 ",
        "--walk_weight=0.5 ",
        "--learning_rate=0.00025 ",
    ):
        assert default in text
    assert "<" not in text.partition("WHAT TO LEARN")[2]  # absl's lists of choices


def test_all_choices_are_shown_of_lists_and_numbers_too(shown):
    text = " ".join(shown.split())
    for choices in ("One of glyphs,", "Any of crop, flip, color.", "One of 640, 512."):
        assert choices in text


def test_help_of_what_cannot_be_is_still_help():
    result = program.run("train", "--walk_weight=-1", "--lr=3", "--help")
    assert result.returncode == 0
    assert "--walk_weight " in result.stdout


def test_a_short_list_has_no_groups():
    text = program.run("export", "--help").stdout
    assert [line for line in text.splitlines() if line.isupper()] == ["FLAGS"]
    assert "\n  --workdir  " in text


def test_the_default_of_a_list():
    assert "\n  --adapt=none " in program.run("evaluate", "--help").stdout


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--tau=3", "--tau is called --walk_steps here"),
        ("--alpha=0.5", "--alpha is called --walk_decay here"),
        ("--lambda=1", "--lambda is called --walk_weight here"),
        ("--lr=1e-3", "--lr is called --learning_rate here"),
        ("--learning-rate=1", "--learning_rate is called --learning_rate here"),
        ("--n_way=5", "--n_way is called --way here"),
        ("--epochs=3", "counts episodes, not passes over the data; give --episodes=N"),
    ],
)
def test_names_of_other_places_are_answered_with_ours(flag, meant, tmp_path):
    program.assert_one_line(program.run("train", flag), 1, meant)
    path = tmp_path / "mine.flags"
    path.write_text(f"{flag}\n")
    result = program.run("train", f"--flagfile={path}")
    program.assert_one_line(result, 1, f"{path}:1: ", meant)


def test_an_episode_has_no_batch_size():
    result = program.run("train", "--batch_size=4")
    program.assert_one_line(result, 2, "--batch_size", "--method=classifier")


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("evaluate", [], "give one of --workdir=DIR and --model=MODEL, not both;"),
        ("predict", ["--output=x"], "give --model=MODEL, --query=IMAGES;"),
        ("distractors", [], "give --workdir=DIR;"),
    ],
)
def test_what_must_be_given(name, given, text):
    program.assert_one_line(program.run(name, *given), 1, text)


def test_a_config_with_a_network_of_keras_is_taken_back(tmp_path):
    asked = ["--dataset=mini", "--encoder=keras:VGG16", "--encoder_weights=none"]
    printed = program.run("train", *asked, "--print_config").stdout
    assert "--encoder=keras:VGG16" in printed
    assert "--channels" not in printed  # it has its own
    (tmp_path / "all.flags").write_text(printed)
    flags = [f"--flagfile={tmp_path / 'all.flags'}", "--print_config"]
    assert program.run("train", *flags).returncode == 0


def test_a_config_is_printed_with_where_it_comes_from(tmp_path):
    asked = ["--flagfile=omniglot/pn.flags", "--seed=3", "--nodeterministic"]
    printed = program.run("train", *asked, "--print_config").stdout
    blocks = [block.splitlines() for block in printed.strip().split("\n\n")]
    origins = {head: lines for head, *lines in blocks}
    assert origins["# the command line"] == ["--seed=3", "--nodeterministic"]
    [flagfile] = [lines for head, lines in origins.items() if "omniglot/pn" in head]
    assert {"--dataset=omniglot", "--method=pn"} <= {*flagfile}
    [paper] = [lines for head, lines in origins.items() if "Ren et al. 2018" in head]
    assert {"--way=5", "--train_way=5", "--beta_2=0.999"} <= {*paper}
    assert "# images: 28x28x1" in origins
    assert "walk_steps" not in printed  # nothing looks at it

    (tmp_path / "all.flags").write_text(printed)
    again = program.run(
        "train", f"--flagfile={tmp_path / 'all.flags'}", "--print_config"
    )
    assert again.returncode == 0, again.stderr

    def settings(text: str) -> list[str]:
        return sorted(line for line in text.splitlines() if line.startswith("--"))

    assert settings(again.stdout) == settings(printed)
