/** The look of the page, light and dark; it needs no font, picture or script from anywhere. */

export const STYLE = `
:root { color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --ink: #1b1b1a; --soft: #5c5b57; --line: #e3e2de; --track: #ecebe7;
  --good: #0a7a3d; --bad: #c62f2e; --ours: #2a78d6; --theirs: #a9a8a2;
  --series-1: #2a78d6; --series-2: #eb6834; --series-3: #1baf7a; --series-4: #c98500;
  --series-5: #d55181; --series-6: #008300; --series-7: #4a3aa7; --series-8: #8a8983; }
@media (prefers-color-scheme: dark) { :root {
  --page: #161615; --card: #1f1f1d; --ink: #f2f1ed; --soft: #aeada6; --line: #383733; --track: #302f2c;
  --good: #4cc38a; --bad: #ff7b72; --ours: #3987e5; --theirs: #6b6a65;
  --series-1: #3987e5; --series-2: #d95926; --series-3: #199e70; --series-4: #c98500;
  --series-5: #d55181; --series-6: #35a135; --series-7: #9085e9; --series-8: #8a8983; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 32px 24px 64px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 28px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 40px 0 12px; }
p, small, caption, figcaption, footer { color: var(--soft); } p { max-width: 75ch; margin: 0 0 12px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 20px 0; }
.tiles div { flex: 1 1 150px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px; }
.tiles b { display: block; font-size: 30px; line-height: 1.2; } .tiles .good b { color: var(--good); } .tiles .bad b { color: var(--bad); }
figure { margin: 0 0 16px; padding: 16px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
figcaption { font-weight: 600; color: var(--ink); margin-bottom: 8px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 16px; } .pair figure { margin: 0; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; } svg text.value { fill: var(--ink); }
svg text.inside { fill: #fff; font-weight: 600; }
.grid { stroke: var(--line); } .mark { stroke: var(--ink); stroke-dasharray: 3 2; } .whisker { stroke: var(--ink); stroke-width: 1.5; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; } circle { stroke: var(--card); stroke-width: 1.5; }
.ours { fill: var(--ours); } .theirs { fill: var(--theirs); } .track { fill: var(--track); }
rect.met, rect.stretch { fill: var(--good); } rect.missed { fill: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; margin: 0 0 8px; padding: 0; font-size: 13px; }
i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; margin-bottom: 20px; }
caption { text-align: left; font-weight: 600; padding: 6px 0; color: var(--ink); font-size: 15px; }
th, td { text-align: left; vertical-align: top; padding: 6px 10px; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--soft); font-size: 12px; } small { display: block; font-size: 12px; } th small { font-family: ui-monospace, monospace; font-size: 11px; }
.budget { table-layout: fixed; min-width: 1000px; } .budget th, .budget td { overflow-wrap: anywhere; }
.budget th:nth-child(1) { width: 24%; } .budget th:nth-child(2) { width: 13%; } .budget th:nth-child(3) { width: 17%; } .budget th:nth-child(4) { width: 16%; }
.budget th:nth-child(5) { width: 12%; } .budget th:nth-child(6) { width: 11%; } .budget th:nth-child(7) { width: 7%; }
.figure { white-space: nowrap; } .figure svg, td svg { max-width: 100%; } td.verdict { white-space: nowrap; font-weight: 600; } td svg { width: 120px; margin: 3px 0; }
tr.met .verdict, tr.stretch .verdict { color: var(--good); } tr.missed .verdict { color: var(--bad); } tr.unmeasured { color: var(--soft); }
tr.why td { color: var(--soft); padding: 0 10px 10px 24px; max-width: 90ch; } .parts { width: auto; margin: 12px 0 0; } .parts td { border: 0; padding: 2px 14px 2px 0; }
summary { cursor: pointer; font-weight: 600; margin: 8px 0; } footer { margin-top: 40px; font-size: 13px; }
`
