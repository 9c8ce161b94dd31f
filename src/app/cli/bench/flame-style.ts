/** How the page of a flame graph looks, light and dark. */

export const FLAME_STYLE = `
:root {
  color-scheme: light dark;
  --back: #fbfbfa; --text: #1d1f21; --faint: #6b7075; --line: #dfe1e3; --panel: #fff;
  --gateway: #f2a65a; --dependency: #8fb8de; --node: #a9cf9c; --wasm: #c8a8e0; --native: #c9ccd0; --hit: #d6336c;
  --on-call: #1d1f21;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #16181a; --text: #e6e7e8; --faint: #989da3; --line: #303439; --panel: #1f2225;
    --gateway: #b8682a; --dependency: #3d6a94; --node: #4c7a42; --wasm: #7b549c; --native: #50555b; --hit: #e64980;
    --on-call: #fff;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif }
header, main { max-width: 1600px; margin: 0 auto; padding: 12px 20px }
h1 { font-size: 20px; margin: 4px 0 10px } h2 { font-size: 16px; margin: 20px 0 8px }
dl { display: flex; flex-wrap: wrap; gap: 6px 28px; margin: 0 0 12px }
dt { color: var(--faint); font-size: 12px } dd { margin: 0; font-variant-numeric: tabular-nums }
.tools { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center }
input, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 5px 10px }
input { width: 20em; max-width: 100% } button { cursor: pointer }
output { color: var(--hit); font-variant-numeric: tabular-nums }
#legend { display: flex; flex-wrap: wrap; gap: 4px 14px; list-style: none; margin: 0; padding: 0; color: var(--faint); font-size: 12px }
#legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 5px; vertical-align: -1px }
canvas { display: block; width: 100%; cursor: pointer; background: var(--panel); border: 1px solid var(--line); border-radius: 6px }
#hint { color: var(--faint); font-size: 12px; margin: 6px 0 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 3px 10px; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
th { font-weight: 600; position: sticky; top: 0; background: var(--back) }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; width: 1% }
tbody tr { cursor: pointer } tbody tr:hover, tbody tr:focus { background: var(--panel); outline: none }
td:nth-child(4) { font-family: ui-monospace, monospace; font-size: 13px } td:nth-child(5) { color: var(--faint) }
#tip { position: fixed; z-index: 1; pointer-events: none; max-width: min(520px, 90vw); padding: 6px 10px; border-radius: 6px; background: var(--text); color: var(--back); font-size: 12px; white-space: pre-line; overflow-wrap: anywhere }
`
