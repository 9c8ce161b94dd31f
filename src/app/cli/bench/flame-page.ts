/** A call tree as one HTML file: flame graph, search and table of functions. It needs no other file and asks no server. */
import type { CallNode, HotFunction } from './call-tree.ts'
import { FLAME_SCRIPT } from './flame-script.ts'
import { FLAME_STYLE } from './flame-style.ts'
import type { ProfileReport } from './profile-report.ts'

/** Index into the functions, µs of its own, calls. */
type PageNode = readonly [number, number, readonly PageNode[]]

/** Below this share of the whole a call is not drawn: it would be narrower than a hair at any zoom that shows its caller. */
const LEAST_SHARE = 0.0001

export function flamePage(tree: CallNode, functions: readonly HotFunction[], report: ProfileReport): string {
  const index = new Map(functions.map(({ name, place }, at) => [`${name} ${place}`, at]))
  const leastUs = tree.totalUs * LEAST_SHARE
  const page = (node: CallNode): PageNode => {
    const drawn = node.children.filter(({ totalUs }) => totalUs >= leastUs)
    // what is not drawn is counted to the caller, so that widths add up
    const drawnUs = drawn.reduce((sum, { totalUs }) => sum + totalUs, 0)
    return [index.get(`${node.name} ${node.place}`)!, Math.round(node.totalUs - drawnUs), drawn.map(page)]
  }
  const data = {
    cpuUsPerRequest: report.cpuUsPerRequest,
    functions: functions.map(({ name, place, origin, selfUs, totalUs }) => [
      name,
      place,
      origin,
      Math.round(selfUs),
      Math.round(totalUs),
    ]),
    calls: tree.children.filter(({ totalUs }) => totalUs >= leastUs).map(page),
    totalUs: Math.round(tree.totalUs),
  }
  const figures = [
    ['requests', String(report.requests)],
    ['requests a second', report.requestsPerSecond.toFixed(0)],
    ['CPU time per request', `${report.cpuUsPerRequest.toFixed(1)} µs`],
    ['busy', `${(report.busyShare * 100).toFixed(0)} % of the time`],
    ['connections', String(report.connections)],
    ['toolgate', report.version],
    ['Node', report.node],
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>toolgate profile: ${text(report.work)}</title>
<style>${FLAME_STYLE}</style>
</head>
<body>
<header>
<h1>Where the time of <code>${text(report.work)}</code> goes</h1>
<dl>${figures.map(([name, value]) => `<div><dt>${text(name!)}</dt><dd>${text(value!)}</dd></div>`).join('')}</dl>
<div class="tools">
<input id="search" type="search" placeholder="Search functions and files ( / )" aria-label="Search functions and files" autocomplete="off" spellcheck="false">
<button id="reset" type="button">Whole graph</button>
<output id="found" for="search"></output>
<ul id="legend" aria-label="Colours"></ul>
</div>
</header>
<main>
<canvas id="graph" role="img" aria-label="Flame graph; the table below holds the same functions"></canvas>
<p id="hint">Callers above, calls below; the width is time. Click a call to zoom, the same again or Escape to go back.</p>
<h2>Functions by time of their own</h2>
<table>
<thead><tr><th class="n">self</th><th class="n">total</th><th class="n">CPU µs/request</th><th>function</th><th>where</th></tr></thead>
<tbody id="functions"></tbody>
</table>
</main>
<div id="tip" role="tooltip" hidden></div>
<script type="application/json" id="data">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>
<script>${FLAME_SCRIPT}</script>
</body>
</html>
`
}

function text(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
