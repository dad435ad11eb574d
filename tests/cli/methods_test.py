"""Every method as a user runs it: trained, named in its results, reloaded."""

import json

import pytest

from prwn_tf import methods
from tests.children import child
from tests.cli import program
from tests.faults import harness

TERMS = {
    "walk": {"walker", "visit"},
    "vat": {"vat", "vat_query"},
    "entropy": {"entropy"},
    "association": {"association_walker", "association_visit"},
    "gan": {"gan_real", "gan_fake", "gan_generator"},
}


def trained(tmp_path, data_dir, **changes) -> dict:
    flags = program.quick(tmp_path, data_dir, **changes)
    result = program.run("train", *flags)
    assert result.returncode == 0, result.stderr
    return json.loads((tmp_path / "result.json").read_text())


@pytest.mark.parametrize(
    "method",
    [
        "soft_kmeans",
        "tpn",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                *("pn_vat", "metagan", "cluster_kmeans", "masked_kmeans"),
                "feat_walk",
            )
        ),
    ],
)
def test_reloaded_in_a_fresh_process_it_scores_the_same(tmp_path, data_dir, method):
    # Heads see no blocks, and tests/regularizers has VAT on both kinds.
    changes = {"method": method, "episodes": 4} | program.SIMPLE
    stored = trained(tmp_path, data_dir, **changes)
    assert stored["method"] == method
    for term in methods.METHODS[method].terms:
        assert TERMS[term] <= set(stored["losses"])
    result = program.run("evaluate", f"--workdir={tmp_path}", f"--data_dir={data_dir}")
    assert result.returncode == 0, result.stderr
    [row] = json.loads((tmp_path / "evaluation.json").read_text())
    assert row == stored["test"][0] | {"split": "test", "step": 4, "eval_seed": 0}
    own = methods.METHODS[method].uses_unlabeled
    assert row["semi_supervised"] == own
    assert ("semi-supervised: the head's own way" in result.stdout) == own
    assert ("inductive" in result.stdout) != own


@pytest.mark.slow  # TPN is reloaded above, tests/heads/graph_head_test.py has the rest
def test_graphs_name_the_rows_in_which_queries_answer_one_another(tmp_path, data_dir):
    flags = {"egnn_size": 8, "walk_weight": 1, "query": 2, "eval_episodes": 5}
    stored = trained(
        tmp_path, data_dir, method="egnn", episodes=4, **flags, **program.SIMPLE
    )
    assert {"edges", *TERMS["walk"]} <= set(stored["losses"])
    adaptations = [row["adapt"] for row in stored["test"]]
    assert adaptations == ["none", "transductive"]
    result = program.run(
        "evaluate",
        f"--workdir={tmp_path}",
        f"--data_dir={data_dir}",
        "--adapt=none,transductive",
        "--distractors=0,2",
    )
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "evaluation.json").read_text())
    assert rows[:2] == [
        row | {"split": "test", "step": 4, "eval_seed": 0} for row in stored["test"]
    ]
    assert [row["distractors"] for row in rows] == [0, 0, 2, 2]
    assert "transductive" in result.stdout


def test_terms_join_any_head_and_are_reported_by_name(tmp_path, data_dir):
    stored = trained(
        tmp_path,
        data_dir,
        method="masked_kmeans",
        regularizers="walk,vat",
        association_weight=0.5,
        episodes=4,
        **program.SIMPLE,
    )
    terms = ("walk", "vat", "association")
    names = set().union(*(TERMS[name] for name in terms))
    assert names <= set(stored["losses"])
    assert not TERMS["entropy"] & set(stored["losses"])
    total = sum(
        stored["losses"][name] for name in {*names, "classification", "weight_decay"}
    )
    assert stored["losses"]["loss"] == pytest.approx(total, rel=1e-4)
    config = json.loads((tmp_path / "config.json").read_text())
    assert [config[name]["weight"] for name in terms] == [1.0, 1.0, 0.5]


@pytest.mark.slow  # tests/cli/own_parts_test.py kills a run with dropout as well
def test_a_run_with_dropout_goes_on_to_the_same_bits(tmp_path, data_dir):
    """Of FEAT's head, which has an optimizer of its own, and of ResNet-12."""
    changes = {"method": "feat_semi", "encoder": "resnet12", "channels": 2}
    changes |= {"resnet12_ramp": 10, "episodes": 8} | program.PLAIN
    trained(tmp_path / "whole", data_dir, **changes)
    harness.as_if_killed(tmp_path / "whole", tmp_path / "killed", 4)
    trained(tmp_path / "killed", data_dir, **changes)
    weights = {harness.weights(tmp_path / name, 8) for name in ("whole", "killed")}
    assert len(weights) == 1


COMPARED = """
import sys
from absl import flags
from prwn_tf import train
from prwn_tf.cli import read
flags.FLAGS(["train", *sys.argv[1:]])
plain = train.without_walk(read.train_config())
print(plain.method, plain.terms, plain.train.unlabeled)
"""


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["--method=prwn"], "pn () 0"),
        (["--method=feat_walk"], "feat () 0"),
        (["--method=soft_kmeans", "--walk_weight=1"], "soft_kmeans () 8"),
        (["--method=pn_vat", "--walk_weight=1"], "pn_vat ('vat', 'entropy') 8"),
    ],
)
def test_without_the_walk_the_rest_of_a_method_stays(names, expected):
    found = child.run("-c", COMPARED, *names, check=True)
    assert found.stdout.strip() == expected
