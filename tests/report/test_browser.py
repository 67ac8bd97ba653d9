"""The pages in a real browser, at the width of a phone and of a desk: no error, no request, nothing overlapping."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import made_floors
import pytest
from made_reports import cheat, good, report, small

import falsify_adapters as fa
from falsify_adapters.report.html import to_html

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
ATTACK = "<script>alert(1)</script>"

# Appended to a copy of the page: what the browser made of it, as JSON in the title.
PROBE = """<script>
const boxes = [];
for (const svg of document.querySelectorAll('svg')) {
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
    const [a, b] = [texts[i][1], texts[j][1]];
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 4) boxes.push([texts[i][0], texts[j][0]]);
  }
}
window.parent.document.title = 'PROBE' + JSON.stringify({
  overlaps: boxes, wide: document.documentElement.scrollWidth, window: window.innerWidth,
  requests: performance.getEntriesByType('resource').length, scripts: document.scripts.length,
  headings: document.querySelectorAll('h1').length,
});
</script></body>"""


def opened(page: str, width: int, folder: Path) -> tuple[dict[str, object], str]:
    if BROWSER is None:
        pytest.skip("no chromium on this machine")
    path = folder / "page.html"
    # In a frame, because a window is no narrower than 500 pixels.
    inner = html.escape(page.replace("</body>", PROBE), quote=True)
    frame = f'<iframe srcdoc="{inner}" style="width:{width}px;height:900px;border:0"></iframe>'
    path.write_text(f"<!DOCTYPE html><title>none</title><body style='margin:0'>{frame}</body>", encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,1000", "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    found = re.search(r"<title>PROBE(.*?)</title>", done.stdout)
    assert found is not None, done.stderr
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")), done.stderr


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    qrels = {f"q{i}": {f"d{i}": 1, f"e{i}": 2} for i in range(40)} | {ATTACK: {ATTACK: 1}}
    run = {
        q: {d: float(i) for i, d in enumerate([*docs, *(f"x{q}{j}" for j in range(20))])} for q, docs in qrels.items()
    }
    made = fa.gate(qrels, run, ["nDCG@10", "RR@10"], pool=5000, n_boot=100).to_dict(per_query=True)
    return {
        "gate": to_html(made),
        "made": to_html(report(good(run=ATTACK), cheat(), small())),
        "floor": to_html(made_floors.report(made_floors.good(), made_floors.units_bug(), made_floors.small_pool())),
        "compare": to_html(fa.compare(qrels, [run, run], "nDCG@10", pool=5000, n_boot=100).data),
    }


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["gate", "made", "floor", "compare"])
def test_a_page_in_the_browser(pages: dict[str, str], name: str, width: int, tmp_path: Path) -> None:
    found, said = opened(pages[name], width, tmp_path)
    assert found["overlaps"] == []
    assert found["wide"] <= found["window"], "nothing sticks out"  # type: ignore[operator]
    assert found["requests"] == 0
    assert found["scripts"] == 1, "the probe's own"
    assert found["headings"] == 1
    assert "CONSOLE" not in said
