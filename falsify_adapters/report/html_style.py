"""The page's look. Colour is never the only sign; no font or image is fetched."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1b1d20; --soft: #565b62; --rule: #d5d8dc; --panel: #f5f6f7;
  --zone: #b4bac2; --score: #0b57a4; --pass: #00735c; --fail: #b3381a; --open: #7a5a00; --null: #d0021b; }
@media (prefers-color-scheme: dark) { :root { --bg: #15171a; --fg: #e7e9eb; --soft: #a8aeb5; --rule: #3b4047;
  --panel: #1e2125; --zone: #565d66; --score: #7ab8ff; --pass: #4cc9a4; --fail: #ff8f6e; --open: #e6bd45;
  --null: #ff6470; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 66rem; background: var(--bg); color: var(--fg);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.25rem 0 .25rem; }
p, ul { margin: .4rem 0; }
ul { padding-left: 1.3rem; }
a { color: var(--score); }
:focus-visible { outline: 3px solid var(--score); outline-offset: 2px; }
section { margin: 2rem 0 0; padding: 1.25rem 0 0; border-top: 1px solid var(--rule); }
.soft { color: var(--soft); }
.verdict { font-weight: 700; white-space: nowrap; }
h1 .verdict, h2 .verdict { border: 2px solid; border-radius: .3em; padding: 0 .35em; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .open { color: var(--open); }
.toothless { color: var(--soft); }
.steps { background: var(--panel); border-left: 4px solid var(--score); padding: .5rem .9rem; margin: .75rem 0; }
.steps p:first-child { font-weight: 600; margin-top: 0; } .steps :last-child { margin-bottom: 0; }
figure { margin: 1rem 0; max-width: 46rem; break-inside: avoid; }
figcaption, .legend { color: var(--soft); font-size: .9rem; }
svg { display: block; overflow: visible; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--rule); }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 600; }
td.n, th.n { text-align: right; white-space: nowrap; }
.long, .names tbody th { overflow-wrap: anywhere; min-width: 9rem; }
code { font: .92em ui-monospace, monospace; }
text { fill: var(--fg); font: 13px system-ui, sans-serif; paint-order: stroke; stroke: var(--bg); stroke-width: 4px;
  stroke-linejoin: round; font-variant-numeric: tabular-nums; }
text.mark-name { stroke-width: 7px; }
text.name, text.found, text.score { font-weight: 600; }
text.tick, text.floor, text.ceiling { fill: var(--soft); }
text.score { fill: var(--score); } text.found.pass { fill: var(--pass); } text.found.fail { fill: var(--fail); }
text.found.open { fill: var(--open); } text.found.toothless { fill: var(--soft); }
.axis { stroke: var(--soft); }
.mark { stroke-width: 2; } .mark.score { stroke: var(--score); }
.mark.floor, .mark.ceiling { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 2 4; }
.zone { fill: var(--zone); }
.gap { stroke-width: 2; } .gap.pass { fill: var(--pass); stroke: var(--pass); }
.gap.fail { fill: var(--bg); stroke: var(--fail); }
.gap.open { fill: none; stroke: var(--open); stroke-dasharray: 5 3; }
.gap.toothless { fill: none; stroke: var(--soft); stroke-dasharray: 1 3; }
.bar { fill: currentColor; fill-opacity: .28; stroke: currentColor; }
.tau { stroke: var(--fg); stroke-width: 1; }
.ties { stroke: var(--score); stroke-width: 4; } .note { display: inline-block; min-width: 1.6rem; padding: .1rem .3rem;
  text-align: center; }
.rows th, .rows td { padding-right: .6rem; } .rows td:last-child { white-space: nowrap; }
.rows tbody th { min-width: 7rem; } .bare { overflow: hidden; }
.queries.under { fill: var(--fail); } text.below { fill: var(--fail); font-weight: 600; }
details { margin: .75rem 0; } summary { cursor: pointer; font-weight: 600; padding: .2rem 0; }
.expected { stroke: var(--null); stroke-width: 3; }
.queries { fill: var(--score); } .null-line { fill: none; stroke: var(--null); stroke-width: 2; }
.ci95 { stroke: var(--fg); stroke-width: 5; } .ci { stroke: var(--fg); stroke-width: 1.5; }
.cap { stroke: var(--fg); stroke-width: 1.5; }
.dot { fill: var(--fg); } .dot.small { fill: var(--bg); stroke: var(--fg); stroke-width: 1.5; }
.legend svg { display: inline-block; vertical-align: middle; margin-right: .4rem; }
.legend li { list-style: none; } .legend ul { padding-left: 0; }
.strip { margin: .6rem 0; } .strip figcaption { color: var(--fg); }
.floor-zone { fill: var(--zone); } .system { stroke: var(--bg); stroke-width: 1; } .system.pass { fill: var(--pass); }
.system.open { fill: var(--open); } .system.soft { fill: var(--soft); }
path.system.fail { stroke: var(--fail); stroke-width: 2.5; fill: none; }
thead button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-decoration: underline dotted; }
input, select { font: inherit; }
footer { margin-top: 2rem; color: var(--soft); font-size: .9rem; }
@media print { :root { --bg: #fff; --fg: #000; --soft: #444; --rule: #bbb; --panel: #fff; --zone: #bbb;
  --score: #0b57a4;
  --pass: #00735c; --fail: #b3381a; --open: #7a5a00; } body { max-width: none; padding: 0; font-size: 10pt; }
  .scroll { overflow: visible; } table { font-size: 8pt; } tr, .steps { break-inside: avoid; }
  h2, h3, caption, summary { break-after: avoid; }
  details::details-content { content-visibility: visible; height: auto; }
  th, td { padding-right: .5rem; } }
"""
