/** Single figures: a share of a limit as a bar, and a number with its name. */
import { number } from './numbers.ts'

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
