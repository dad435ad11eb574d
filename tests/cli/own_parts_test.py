"""Parts in a user's own file: trained by flag, killed, resumed, evaluated, refused."""

import json
import pathlib
import shutil

import pytest

from prwn_tf import own
from prwn_tf.cli import define
from tests.children import child
from tests.cli import program
from tests.faults import harness

OWN = pathlib.Path(__file__).parents[1] / "own"
HEAD, RIVAL, SMALL = (
    f"tests.own.my_parts:{name}" for name in ("NoisyHead", "Rival", "SmallEncoder")
)
WRONG = "tests.own.wrong_parts"
PARTS = {"head": HEAD, "regularizers": f"walk,vat,{RIVAL}", "rival_weight": 0.7}
PARTS |= program.PLAIN
TWO_STEPS = {"episodes": 2} | program.SIMPLE


def ended(*arguments, code=0, **how):
    """Runs a program to an end of that code."""
    result = child.run(*arguments, **how)
    assert result.returncode == code, result.stderr
    return result


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, data_dir) -> pathlib.Path:
    """A run with a head that has dropout and a loss, and a term that is a player."""
    workdir = tmp_path_factory.mktemp("own") / "unbroken"
    result = program.run("train", *program.quick(workdir, data_dir, **PARTS))
    assert result.returncode == 0, result.stderr
    return workdir


def test_every_part_is_recorded_and_learns(unbroken):
    config = json.loads((unbroken / "config.json").read_text())
    assert config["head"] == HEAD
    assert config["own"][RIVAL]["settings"] == {"weight": 0.7}
    assert config["own"][HEAD]["settings"] == {"dropout": 0.3, "spread": 0.1}
    losses = json.loads((unbroken / "result.json").read_text())["losses"]
    names = {"classification", "spread", "walker", "visit", "vat"}
    names |= {"rival", "rival_generator"}
    assert names <= losses.keys()
    first, last = (harness.tensors(unbroken, step) for step in (4, 12))
    moved = {name for name in first if (first[name] != last[name]).any()}
    assert any("head/log_scale" in name for name in moved)
    assert any(name.startswith("player_0/") for name in moved)
    assert any(name.startswith("others/") for name in moved)  # the state of the dropout


def test_a_killed_run_ends_with_the_same_bits(unbroken, tmp_path, data_dir):
    """Dropout's state and the player's optimizer are among the bits; see above.

    VAT draws noise, which the number of an episode decides.
    """
    flags = program.quick(tmp_path / "killed", data_dir, **PARTS)
    killed = ["-m", "tests.faults.interfered", "8:SIGKILL", "train"]
    ended(*killed, *flags, code=-9)
    ended("-m", "prwn_tf.train", *flags)
    weights = (harness.weights(path, 12) for path in (unbroken, tmp_path / "killed"))
    assert len(set(weights)) == 1


def test_it_is_evaluated_and_looked_into(unbroken, data_dir, tmp_path):
    data = f"--data_dir={data_dir}"
    place = [f"--workdir={unbroken}", f"--output={tmp_path}"]
    result = ended("-m", "prwn_tf.evaluate", *place, data, "--eval_episodes=50")
    [row] = json.loads((tmp_path / "evaluation.json").read_text())
    [expected] = json.loads((unbroken / "result.json").read_text())["test"]
    assert row == expected | {"split": "test", "step": 12, "eval_seed": 0}
    assert "inductive" in result.stdout
    flags = [*place, data, "--eval_episodes=5", "--what=landing"]
    ended("-m", "prwn_tf.analyze", *flags)
    assert (tmp_path / "landing.json").exists()


def test_adaptations_that_a_head_has_not_are_refused(unbroken, data_dir):
    flags = [f"--workdir={unbroken}", f"--data_dir={data_dir}", "--adapt=none,refine"]
    result = program.run("evaluate", *flags)
    program.assert_one_line(result, 2, "NoisyHead", "refine", "it has none")


def test_what_is_more_than_prototypes_is_not_exported(unbroken, tmp_path):
    flags = [f"--workdir={unbroken}", f"--output={tmp_path / 'exported'}"]
    result = program.run("export", *flags)
    program.assert_one_line(result, 2, "NoisyHead", "prototypes")
    assert not (tmp_path / "exported").exists()


def test_an_encoder_of_ones_own(tmp_path, data_dir):
    flags = program.quick(tmp_path / "w", data_dir, encoder=SMALL, small_size=5)
    result = program.run("train", *flags)
    assert result.returncode == 0, result.stderr
    exported = [f"--workdir={tmp_path / 'w'}", f"--output={tmp_path / 'exported'}"]
    result = program.run("export", *exported)
    assert result.returncode == 0, result.stderr
    assert "become 5 numbers" in result.stdout


@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        (["--rival_weight=10"], 2, "rival_weight must be in [0, 9], got 10"),
        (["--noisy_dropout=1"], 1, "unknown flag --noisy_dropout"),
        (["--head=tests.own.my_parts:Nobody"], 2, "has no class 'Nobody', but"),
        (["--head=nowhere:Head"], 2, "there is no module 'nowhere' here"),
        (["--encoder=conv5"], 2, "encoder must be one of conv4, mlp, "),
    ],
)
def test_mistakes_are_one_line(flags, code, text, tmp_path, data_dir):
    given = program.quick(tmp_path / "w", data_dir, regularizers=RIVAL)
    result = program.run("train", *given, *flags)
    assert result.returncode == code, result.stderr
    assert text in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        (["--head=" + RIVAL], ("--head=", "extends Head of prwn_tf.heads.base")),
        (["--method=pn", "--head=" + RIVAL], ("extends Head of prwn_tf.heads.base",)),
        (["--encoder=" + HEAD], ("--encoder=", "extends Encoder of")),
        (["--regularizers=walk," + HEAD], ("--regularizers=", "extends Regularizer")),
        ([f"--regularizers=walk,{WRONG}:Weightless"], ("Weightless has no weight",)),
        ([f"--regularizers=walk,{WRONG}:Unweighed"], ("Unweighed has no weight",)),
        (
            [f"--regularizers=walk,{WRONG}:Undecorated"],
            ("Undecorated.Config must be a dataclass", "frozen=True"),
        ),
    ],
)
def test_a_part_of_another_kind_is_not_left_out_in_silence(
    flags, texts, tmp_path, data_dir
):
    result = program.run("train", *program.quick(tmp_path / "w", data_dir), *flags)
    program.assert_one_line(result, 2, *texts)


@pytest.mark.parametrize("name", ["encoders.base:Encoder", "heads.base:Head"])
def test_settings_may_be_left_out(name):
    assert own.own_part(f"prwn_tf.{name}").settings is None


def test_ctrl_c_while_a_part_is_loaded_says_nothing(monkeypatch, capfd):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(define, "own_part", interrupted)
    with pytest.raises(SystemExit) as end:
        define.own_parts([SMALL])
    assert end.value.code == 130
    assert capfd.readouterr().err == ""


def test_a_setting_whose_flag_is_taken(tmp_path, data_dir):
    code = (OWN / "my_parts.py").read_text()
    (tmp_path / "theirs.py").write_text(
        code.replace('"noisy"', '"walk"').replace("spread:", "steps:")
    )
    flags = program.quick(tmp_path / "w", data_dir, head="theirs:NoisyHead")
    result = child.run("-m", "prwn_tf.train", *flags, cwd=tmp_path)
    program.assert_one_line(result, 2, "--walk_steps, a setting of theirs:NoisyHead")


def test_its_settings_are_told_by_help():
    result = program.run("train", f"--regularizers={RIVAL}", "--help")
    assert "--rival_weight=" in result.stdout
    text = " ".join(result.stdout.split())
    assert "Weight of telling the rival's points apart." in text


def test_a_module_that_changed_or_is_gone(tmp_path, data_dir):
    folder = tmp_path / "mine"
    folder.mkdir()
    module = folder / "theirs.py"
    shutil.copyfile(OWN / "my_parts.py", module)
    flags = program.quick(
        tmp_path / "w", data_dir, head="theirs:NoisyHead", **TWO_STEPS
    )
    ended("-m", "prwn_tf.train", *flags, cwd=folder)
    module.write_text(module.read_text() + "# another\n")
    for name in ("train", "evaluate"):
        given = flags if name == "train" else flags[:2]
        result = child.run("-m", f"prwn_tf.{name}", *given, cwd=folder)
        program.assert_one_line(result, 2, "theirs:NoisyHead has changed since")
    module.unlink()
    result = child.run("-m", "prwn_tf.evaluate", *flags[:2], cwd=folder)
    program.assert_one_line(result, 2, "there is no module 'theirs' here")
