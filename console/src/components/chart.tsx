/** Small charts as SVG: columns over time, and bars of a share. They load nothing and need no library. */
import { number } from './text.tsx'

export interface Column {
  readonly title: string
  readonly good: number
  readonly warn: number
  readonly bad: number
}

const HEIGHT = 96
const WIDTH = 600

/** Stacked columns: success, refused, failed. The table beside it, or `label`, says the same in words. */
export function Columns({ of, label }: { readonly of: readonly Column[]; readonly label: string }) {
  const highest = Math.max(1, ...of.map(({ good, warn, bad }) => good + warn + bad))
  const width = WIDTH / Math.max(1, of.length)
  const height = (value: number): number => (value / highest) * HEIGHT
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {of.map(({ title, good, warn, bad }, at) => {
          const [g, w, b] = [height(good), height(warn), height(bad)]
          const place = { x: at * width + 1, width: Math.max(1, width - 2) }
          return (
            <g key={title}>
              <title>{`${title}: ${good} successful, ${warn} refused, ${bad} failed`}</title>
              <rect class="good" {...place} y={HEIGHT - g} height={g} />
              <rect class="warn" {...place} y={HEIGHT - g - w} height={w} />
              <rect class="bad" {...place} y={HEIGHT - g - w - b} height={b} />
            </g>
          )
        })}
      </svg>
      <figcaption>
        <span class="status good">successful</span>
        <span class="status warn">refused</span>
        <span class="status bad">failed</span>
        <span class="muted">highest column: {number(highest)}</span>
      </figcaption>
    </figure>
  )
}

/** A share of a limit; the text beside it names both numbers. */
export function Meter({
  value,
  limit,
  label,
}: {
  readonly value: number
  readonly limit: number
  readonly label: string
}) {
  const share = limit === 0 ? 0 : Math.min(1, value / limit)
  const tone = share >= 0.95 ? 'bad' : share >= 0.8 ? 'warn' : ''
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element meter cannot be styled alike in all browsers
    <div
      class={`bar ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={Math.min(value, limit)}
      aria-valuetext={`${number(value)} of ${number(limit)}`}
    >
      <div style={{ width: `${share * 100}%` }} />
    </div>
  )
}

export function Figure({
  name,
  value,
  more,
}: {
  readonly name: string
  readonly value: string
  readonly more?: string
}) {
  return (
    <div class="card figure">
      <span class="name">{name}</span>
      <span class="value">{value}</span>
      {more !== undefined && <span class="more">{more}</span>}
    </div>
  )
}
