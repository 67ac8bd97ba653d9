"""The pages in a real browser, at the width of a phone and of a desk: no error, no request, nothing overlapping."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from typing import Any

import made_floors
import pytest
from made_reports import cheat, good, report, row, small

import falsify_adapters as fa
from falsify_adapters.report.html import to_html

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
WIDTHS = (390, 1280)
ATTACK = "<script>alert(1)</script>"

# Appended to a copy of the page: what the browser made of it, as JSON in the page around.
PROBE = """<script>
const boxes = [], thin = [];
for (const svg of document.querySelectorAll('svg')) {
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
    const [a, b] = [texts[i][1], texts[j][1]];
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 4) boxes.push([texts[i][0], texts[j][0]]);
  }
}
for (const link of document.querySelectorAll('a.note, summary')) {
  const box = link.getBoundingClientRect();
  if (box.width < 24 || box.height < 24) thin.push(link.textContent);
}
const labels = [...document.querySelectorAll('[role=region]')].map(region => region.getAttribute('aria-label'));
window.parent.document.getElementById(window.name).textContent = JSON.stringify({
  overlaps: boxes, thin: thin, wide: document.documentElement.scrollWidth, window: window.innerWidth,
  requests: performance.getEntriesByType('resource').length, scripts: document.scripts.length,
  headings: document.querySelectorAll('h1').length, empty: [...document.querySelectorAll('th')].filter(
    head => head.textContent.trim() === '').length, alike: labels.length - new Set(labels).size,
});
</script></body>"""


def made_pages() -> dict[str, str]:
    qrels = {f"q{i}": {f"d{i}": 1, f"e{i}": 2} for i in range(40)} | {ATTACK: {ATTACK: 1}}
    run = {
        q: {d: float(i) for i, d in enumerate([*docs, *(f"x{q}{j}" for j in range(20))])} for q, docs in qrels.items()
    }
    made = fa.gate(qrels, run, ["nDCG@10", "RR@10"], pool=5000, n_boot=100).to_dict(per_query=True)
    low = row("r", "AP", 0.02, [0.01, 0.012, 0.009, 0.021], ["fail"] * 4, half=0.004, tied_queries=2)
    noted = good(
        run="n", flags=[{"code": code, "message": code} for code in ("pool_observed", "ties", "null_toothless")]
    )
    return {
        "gate": to_html(made),
        "made": to_html(report(good(run=ATTACK), cheat(), small(), {**low, "tie_span": [0.015, 0.03]}, noted)),
        "floor": to_html(made_floors.report(made_floors.good(), made_floors.units_bug(), made_floors.small_pool())),
        "compare": to_html(fa.compare(qrels, [run, run], "nDCG@10", pool=5000, n_boot=100).data),
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the browser saw of each page at each width, and what it said. All at once: starting it takes seconds."""
    if BROWSER is None:
        pytest.skip("no chromium on this machine: the pages are not opened")
    folder = tmp_path_factory.mktemp("pages")
    frames = ""
    for name, page in made_pages().items():
        # In frames, because a window is no narrower than 500 pixels.
        inner = html.escape(page.replace("</body>", PROBE), quote=True)
        for width in WIDTHS:
            at = f"{name}-{width}"
            frames += f'<pre id="{at}"></pre>'
            frames += f'<iframe name="{at}" srcdoc="{inner}" style="width:{width}px;height:900px;border:0"></iframe>'
    path = folder / "page.html"
    path.write_text(f"<!DOCTYPE html><title>none</title><body style='margin:0'>{frames}</body>", encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,1000", "--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    found = dict(re.findall(r'<pre id="([\w-]+)">(.*?)</pre>', done.stdout))
    return {at: json.loads(html.unescape(text)) for at, text in found.items()}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["gate", "made", "floor", "compare"])
def test_a_page_in_the_browser(seen: dict[str, dict[str, Any]], name: str, width: int) -> None:
    found = seen[f"{name}-{width}"]
    assert found["overlaps"] == []
    assert found["wide"] <= found["window"] == width, "nothing sticks out"
    assert found["requests"] == 0
    assert found["scripts"] == 1, "the probe's own"
    assert found["headings"] == 1
    assert found["thin"] == [], "large enough for a finger"
    assert found["empty"] == 0, "every head of a table says something"
    assert found["alike"] == 0, "regions are told apart by their names"
