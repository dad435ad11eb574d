"""The page of a prediction in a browser: alive, without a complaint, and read back."""

import html
import json
import re
import shutil
import subprocess

import pytest

from prwn_tf.data import label_table
from tests.serving.pages import Reader

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def browse(path, tmp_path) -> tuple[str, str]:
    """The page as Chromium has it once its script has run, and what it complained of.

    A profile of its own, so that it meets no other Chromium.
    """
    result = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    return result.stdout, "\n".join(said)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_browser_has_nothing_to_complain_of(shown, tmp_path):
    dom, said = browse(shown, tmp_path)
    assert said == ""
    assert dom.count("<figure") == shown.read_text(encoding="utf-8").count("<figure")


DRIVER = """<script>
const names = () => [...document.querySelectorAll("#unlabeled .grid")[0].children]
  .filter((card) => getComputedStyle(card).display !== "none")
  .map((card) => card.dataset.name);
const log = {before: names()};
for (const order of ["name", "certain", "doubtful", "given"]) {
  sort.value = order;
  sort.dispatchEvent(new Event("change"));
  log[order] = names();
}
// A wrong label, a new class with a name like a formula, and none of them.
const rows = [...document.querySelectorAll(".row")];
for (const [row, right] of [[0, "cat"], [1, '=ne,w  "class"'], [2, ""]]) {
  rows[row].querySelector(".thumb").click();
  log.large = large.open && picture.src;
  const known = right !== '=ne,w  "class"';
  const field = document.getElementById(known ? "right" : "fresh");
  field.value = right;
  field.dispatchEvent(new Event("change"));
}
rows[1].querySelector(".thumb").click();
log.chosen = document.getElementById("right").value;
rows[2].querySelector(".thumb").click();
log.corrected = rows.slice(0, 3).map((row) => row.dataset.name);
log.stepped = [document.getElementById("which").textContent];
document.getElementById("previous").click();
log.stepped.push(document.getElementById("which").textContent);
large.close();
log.table = table();
unsaved = false;
find.value = " CAT/0 ";
find.dispatchEvent(new Event("input"));
log.found = names();
log.count = count.textContent;
log.wide = document.documentElement.scrollWidth > window.innerWidth;
document.title = JSON.stringify(log);
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_sorting_finding_and_correcting_in_a_browser(shown, tmp_path):
    # The page forbids foreign scripts, so the driver needs a page that does not.
    text = re.sub("<meta http-equiv.*?>", "", shown.read_text(encoding="utf-8"))
    (tmp_path / "driven.html").write_text(
        text.replace("</html>", f"{DRIVER}</html>"), encoding="utf-8"
    )
    dom, said = browse(tmp_path / "driven.html", tmp_path)
    assert said == ""
    log = json.loads(html.unescape(re.search("<title>(.*?)</title>", dom).group(1)))
    figures = Reader(text).of("figure")
    sure = {
        card["data-name"]: (float(card["data-right"]), float(card["data-margin"]))
        for card in figures
    }
    assert log["name"] == sorted(log["before"])
    assert log["certain"] == sorted(log["before"], key=sure.get)[::-1]
    assert log["doubtful"] == log["certain"][::-1]
    assert log["given"] == log["before"]
    assert log["found"] == [name for name in log["before"] if name.startswith("cat/0")]
    assert not log["wide"]
    assert log["chosen"] == '=ne,w  "class"'  # with both of its blanks
    images = {  # a query has a row, and perhaps a card beside it
        each.get("data-row", each["data-name"]): each["data-name"]
        for each in Reader(text).of("li") + figures
        if each
    }
    found = sum("cat/0" in name for name in images.values())
    assert log["count"] == f"{found} of {len(images)}"
    assert log["large"].startswith("file:///")
    assert log["stepped"] == log["corrected"][2:0:-1]
    # The table is what `predict --support_table` and `prepare --labels` read.
    (tmp_path / "corrected.csv").write_text(log["table"], encoding="utf-8")
    labels = label_table.read(tmp_path / "corrected.csv", "--labels")
    listed = {each["data-name"]: each for each in Reader(text).of("li") if each}
    expected = {
        name: each["data-label"]
        for name, each in listed.items()
        if "data-row" in each and "data-novel" not in each
    }
    first, second, third = log["corrected"]
    expected |= {first: "cat", second: '=ne,w  "class"'}
    expected.pop(third, None)
    assert labels == expected
    assert log["table"].count(",you") == 3
