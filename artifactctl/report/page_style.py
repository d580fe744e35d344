"""The page's style sheet. Its digest stands in the content security policy, so nothing else can style the page."""

import base64
import hashlib

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --surface: #ffffff; --ink: #16191f; --soft: #5b6472; --line: #dfe3e8;
  --blue: #2a6fdb; --teal: #1c9a8b; --amber: #e09b00; --violet: #8a63d2; --grey: #8d95a1; --free: #e4e8ee;
  --good: #1a7f4b; --bad: #b3372f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101318; --surface: #181c23; --ink: #e8ebf0; --soft: #9aa4b2; --line: #2c333d;
    --blue: #4d8df0; --teal: #2fb5a5; --amber: #e7ac2a; --violet: #a585e6; --grey: #717b89; --free: #2a313b;
    --good: #4fbf87; --bad: #ef8078;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 17px; margin: 0 0 4px; }
h3 { font-size: 15px; margin: 20px 0 8px; }
p { margin: 0 0 12px; }
.soft, .none, footer { color: var(--soft); }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px;
  margin-top: 20px; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 16px; margin-top: 20px; }
.figures div { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 16px 20px; }
.figures span { display: block; color: var(--soft); font-size: 13px; }
.figures strong { display: block; font-size: 24px; line-height: 1.3; letter-spacing: -0.01em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 600; font-size: 12.5px; }
th, td { text-align: left; padding: 6px 16px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: break-word; }
tbody tr:last-child td { border-bottom: 0; }
.number { text-align: right; }
.number, .short { white-space: nowrap; }
.picture { width: 42%; padding-right: 0; vertical-align: middle; }
.bar { display: block; width: 100%; height: 16px; border-radius: 4px; background: var(--free); }
.bar rect { stroke: var(--surface); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.volume { margin: 0 0 18px; }
.volume .bar { height: 24px; }
.volume p { display: flex; justify-content: space-between; gap: 16px; margin: 0 0 4px; }
.legend { font-size: 13px; color: var(--soft); margin: 8px 0 16px; }
.legend span { margin-right: 20px; white-space: nowrap; }
.swatch { width: 11px; height: 11px; margin-right: 6px; border-radius: 3px; }
.live, .catalogued { fill: var(--blue); }
.building, .restoring { fill: var(--teal); }
.quarantined { fill: var(--amber); }
.reserved { fill: var(--violet); }
.unaccounted, .other { fill: var(--grey); }
.free { fill: var(--free); }
pre { margin: 0; overflow-x: auto; font: 13px/1.55 ui-monospace, "DejaVu Sans Mono", monospace; }
ul { margin: 0; padding-left: 18px; }
.goes { color: var(--good); font-weight: 600; white-space: nowrap; }
.stays { color: var(--bad); font-weight: 600; white-space: nowrap; }
footer { margin-top: 24px; font-size: 13px; }
@media print { body { background: #fff; } section, .figures div { break-inside: avoid; } }
""".strip()


def content_security_policy() -> str:
    """Return a policy that lets the page load nothing and run nothing; only this style sheet applies."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
