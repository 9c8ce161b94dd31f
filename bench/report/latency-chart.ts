/** Latency over percentiles as SVG: each nine as wide as the one before, milliseconds on a logarithmic scale. */
import { shown } from '../units.ts'
import { colour, legend, picture, tag, text } from './svg.ts'

export interface LatencyCurve {
  readonly name: string
  /** Percentile → milliseconds. */
  readonly percentiles: Readonly<Record<string, number>>
}

const SIZE = { width: 640, height: 300 }
const PLOT = { left: 64, right: 620, top: 14, bottom: 262 }
/** Below what clocks of load generators can report. */
const LEAST_MS = 0.001

/** How many nines: 50 → 0.3, 99 → 2, 99.9 → 3. */
const nines = (percent: number): number => -Math.log10(1 - percent / 100)

export function latencyChart(title: string, curves: readonly LatencyCurve[]): string {
  const series = curves.map(({ name, percentiles }) => ({
    name,
    points: Object.entries(percentiles)
      .map(([percent, ms]) => ({ percent: Number(percent), ms: Math.max(ms, LEAST_MS) }))
      .filter(({ percent }) => percent >= 50 && percent < 100)
      .sort((a, b) => a.percent - b.percent),
  }))
  const points = series.flatMap(one => one.points)
  const percents = [...new Set(points.map(({ percent }) => percent))].sort((a, b) => a - b)
  const [low, high] = decades(points.map(({ ms }) => ms))
  const [from, to] = [nines(percents[0]!), nines(percents.at(-1)!)]
  const x = (percent: number): number =>
    PLOT.left + ((nines(percent) - from) / (to - from || 1)) * (PLOT.right - PLOT.left)
  const y = (ms: number): number =>
    PLOT.bottom - ((Math.log10(ms) - low) / (high - low)) * (PLOT.bottom - PLOT.top)
  return tag(
    'figure',
    { class: 'latency' },
    tag('figcaption', {}, text(title)),
    legend(series.map(({ name }) => name)),
    picture(
      SIZE,
      `${title}: latency from p${percents[0]} to p${percents.at(-1)}`,
      ...grid(low, high, y),
      ...percents.map(percent =>
        tag('text', { x: x(percent), y: PLOT.bottom + 20, 'text-anchor': 'middle' }, `p${percent}`),
      ),
      ...series.map((one, at) => curve(one, at, x, y)),
    ),
  )
}

/** The powers of ten around all of them. */
function decades(values: readonly number[]): [number, number] {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.ceil(Math.log10(Math.max(...values)))
  return [low, Math.max(high, low + 1)]
}

function grid(low: number, high: number, y: (ms: number) => number): string[] {
  return Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)).map(
    ms =>
      tag('line', { x1: PLOT.left, x2: PLOT.right, y1: y(ms), y2: y(ms), class: 'grid' }) +
      tag('text', { x: PLOT.left - 8, y: y(ms) + 4, 'text-anchor': 'end' }, text(shown(ms, 'ms'))),
  )
}

function curve(
  { name, points }: { readonly name: string; readonly points: readonly { percent: number; ms: number }[] },
  at: number,
  x: (percent: number) => number,
  y: (ms: number) => number,
): string {
  const path = points.map(({ percent, ms }, step) => `${step === 0 ? 'M' : 'L'}${x(percent)} ${y(ms)}`)
  return tag(
    'g',
    {},
    tag('path', { d: path.join(''), class: 'curve', style: `stroke:${colour(at)}` }),
    ...points.map(({ percent, ms }) =>
      tag(
        'circle',
        { cx: x(percent), cy: y(ms), r: 4, style: `fill:${colour(at)}` },
        tag('title', {}, text(`${name}, p${percent}: ${shown(ms, 'ms')}`)),
      ),
    ),
  )
}
