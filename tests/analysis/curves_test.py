import dataclasses

from prwn_tf.analysis import curves
from prwn_tf.analysis.settings import Settings
from prwn_tf.config import EpisodeSpec
from prwn_tf.training.validation import Validation

SPEC = EpisodeSpec(way=2, shot=1, query=1)


def test_validations_of_the_runs_that_have_kept_them(make_subject):
    validations = [Validation(100, 0.5, 0.02, 600), Validation(200, 0.75, 0.01, 600)]
    kept = dataclasses.replace(make_subject("PRWN"), validations=validations)
    finding = curves.analyze([make_subject("PN"), kept], Settings(SPEC, SPEC))
    assert [row["step"] for row in finding.tables["training"]] == [100, 200]
    assert {row["run"] for row in finding.tables["training"]} == {"PRWN"}
    assert "PN" in finding.lines[0]
    assert "no validation.csv" in finding.lines[0]
    assert "75.00 ± 1.00 % on validation classes at step 200" in finding.lines[1]


def test_no_run_has_kept_them(make_subject, tmp_path):
    finding = curves.analyze([make_subject("PN")], Settings(SPEC, SPEC))
    assert not finding.figures
    finding.publish(tmp_path)
    assert (tmp_path / "training.json").exists()
