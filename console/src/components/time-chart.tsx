/** Values over time, drawn by uPlot: stacked columns or lines, with a cursor that moves with pointer and arrow keys. */
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { theme } from '../state/theme.ts'
import type { Tone } from './text.tsx'

/** Values of one kind; null: there was nothing to measure. */
export interface TimeSeries {
  readonly name: string
  readonly tone: Tone
  readonly values: readonly (number | null)[]
}

export interface TimeChartProps {
  /** What is shown, and the sums that a reader would take from it. */
  readonly label: string
  /** Unix seconds, ascending and evenly spaced; as many as each series has values. */
  readonly times: readonly number[]
  /** `columns` are stacked in this order from the bottom. */
  readonly series: readonly TimeSeries[]
  readonly kind: 'columns' | 'lines'
  readonly format: (value: number) => string
}

const HEIGHT_PX = 150
const AXIS_PX = 56
/** Share of the width of a column that is filled. */
const COLUMN_SHARE = 0.8
const MAX_COLUMN_PX = 60
/** Free space above the highest value. */
const HEADROOM = 1.05
/** Left of the chart, where uPlot hides the cursor. */
const HIDDEN_PX = -10

/** Index of the time that is looked at, in all charts of a page; null: the last one. */
const cursor = signal<number | null>(null)

const clock = (seconds: number): string => new Date(seconds * 1000).toLocaleTimeString()

export function TimeChart(props: TimeChartProps) {
  const { label, times, series, format } = props
  const figure = useRef<HTMLElement>(null)
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const shown = useRef(props)
  shown.current = props

  useEffect(() => {
    // a page that is left at once has no elements any more when the library is there
    const [element, caption] = [place.current, figure.current]
    if (element === null || caption === null) return
    const observer = new ResizeObserver(() => plot.current?.setSize(sizeOf(element)))
    let isGone = false
    const moved = ({ cursor: { idx } }: uPlot): void => {
      cursor.value = idx ?? null
    }
    void import('uplot').then(({ default: Plot }) => {
      if (isGone) return
      const { current } = shown
      const color = (name: string): string => colorOf(caption, name)
      plot.current = new Plot(
        { ...sizeOf(element), ...optionsOf(current, Plot, color), hooks: { setCursor: [moved] } },
        dataOf(current),
        element,
      )
      observer.observe(element)
    })
    return () => {
      isGone = true
      observer.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
  }, [])
  useEffect(() => plot.current?.setData(dataOf(props)), [times, series])
  useEffect(() => {
    const redraw = (): void => plot.current?.redraw(false)
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', redraw)
    redraw()
    return () => system.removeEventListener('change', redraw)
  }, [theme.value])

  const last = times.length - 1
  const looked = cursor.value
  const at = looked !== null && looked <= last ? looked : last
  useEffect(() => {
    const { current } = plot
    if (current === null || current.cursor.idx === looked) return
    const time = looked === null ? undefined : times[looked]
    current.setCursor({ left: time === undefined ? HIDDEN_PX : current.valToPos(time, 'x'), top: 0 }, false)
  }, [looked])
  const moveBy = (event: KeyboardEvent): void => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
    if (to === undefined || last < 0) return
    event.preventDefault()
    cursor.value = Math.min(last, Math.max(0, to))
  }
  const values = series.map(({ name, values: all }) => {
    const value = all[at]
    return `${name} ${value === null || value === undefined ? '–' : format(value)}`
  })
  return (
    <figure class="chart" ref={figure}>
      <div
        class="plot"
        ref={place}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={Math.max(0, at)}
        aria-valuetext={last < 0 ? 'no data' : `${clock(times[at]!)}: ${values.join(', ')}`}
        onKeyDown={moveBy}
      />
      <figcaption>
        <span class="muted num axis">{last < 0 ? 'no data' : clock(times[at]!)}</span>
        {series.map(({ name, tone }, index) => (
          <span key={name} class={`status ${tone}`}>
            {values[index]}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function sizeOf(place: HTMLElement): { readonly width: number; readonly height: number } {
  return { width: place.clientWidth, height: HEIGHT_PX }
}

/** The canvas takes no variables of CSS: it has the color of the word in the caption. */
function colorOf(figure: HTMLElement, selector: string): string {
  return getComputedStyle(figure.querySelector(selector)!).color
}

/** Highest first, so that each column covers the lower part of the one before. */
function dataOf({ times, series, kind }: TimeChartProps): uPlot.AlignedData {
  if (kind === 'lines') return [[...times], ...series.map(({ values }) => [...values])]
  const sums = series.map((_, index) =>
    times.map((_, at) => series.slice(0, index + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  )
  return [[...times], ...sums.reverse()]
}

function optionsOf(
  { series, kind, times, format }: TimeChartProps,
  Plot: typeof uPlot,
  color: (selector: string) => string,
): Pick<uPlot.Options, 'axes' | 'cursor' | 'legend' | 'scales' | 'series'> {
  const halfStep = times.length > 1 ? (times[1]! - times[0]!) / 2 : 0.5
  const drawn = series.map(({ name, tone }): uPlot.Series => {
    const own = () => color(`.status.${tone}`)
    return kind === 'lines'
      ? { label: name, stroke: own, width: 1.5, spanGaps: true }
      : {
          label: name,
          stroke: own,
          fill: own,
          width: 0,
          points: { show: false },
          paths: Plot.paths.bars!({ size: [COLUMN_SHARE, MAX_COLUMN_PX] }),
        }
  })
  const axis = { stroke: () => color('.axis'), ticks: { show: false } }
  return {
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: (_, min, max) => [min - halfStep, max + halfStep] },
      y: { range: (_, _min, max) => [0, max > 0 ? max * HEADROOM : 1] },
    },
    axes: [
      { ...axis, grid: { show: false } },
      {
        ...axis,
        size: AXIS_PX,
        grid: { stroke: () => `color-mix(in srgb, ${color('.axis')} 20%, transparent)`, width: 1 },
        values: (_, splits) => splits.map(format),
      },
    ],
    series: [{}, ...(kind === 'lines' ? drawn : drawn.reverse())],
  }
}
