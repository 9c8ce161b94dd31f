/** How small values are shown, such as states, times and code. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain'

/** A state as colored dot and word: the color never stands alone. */
export function Status({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`status ${tone}`}>{children}</span>
}

const TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  approved: 'good',
  success: 'good',
  synced: 'good',
  online: 'good',
  ready: 'good',
  healthy: 'good',
  pending: 'warn',
  pending_approval: 'warn',
  provisioning: 'warn',
  rotating: 'warn',
  deprecated: 'warn',
  degraded: 'warn',
  draining: 'warn',
  syncing: 'info',
  drift: 'bad',
  error: 'bad',
  failed: 'bad',
  blocked: 'bad',
  suspended: 'bad',
  refused: 'warn',
}

/** A state word of the API. */
export function State({ of }: { readonly of: string }) {
  return <Status tone={TONES[of] ?? 'plain'}>{of.replaceAll('_', ' ')}</Status>
}

const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** How long ago; the whole time as tooltip. */
export function Ago({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return <span class="muted">never</span>
  const ms = Date.parse(at) - Date.now()
  const [unit, size] = UNITS.find(([, each]) => Math.abs(ms) >= each) ?? UNITS[3]
  return (
    <time dateTime={at} title={DATE_TIME.format(new Date(at))}>
      {RELATIVE.format(Math.trunc(ms / size), unit)}
    </time>
  )
}

/** Text with a button that copies it. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  const state = useSignal('Copy')
  const copy = async (): Promise<void> => {
    try {
      // undefined on an address without TLS; the user may refuse
      await navigator.clipboard.writeText(text)
      state.value = 'Copied'
    } catch {
      state.value = 'Copy failed'
    }
    setTimeout(() => {
      state.value = 'Copy'
    }, 2_000)
  }
  return (
    <span class="copyable">
      <code>{text}</code>
      <button type="button" class="button small" onClick={() => void copy()} aria-label={`Copy ${label}`}>
        {state.value}
      </button>
    </span>
  )
}

/** A block of code or JSON, which scrolls in both directions. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
    <section class="code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  )
}

export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <Code text={JSON.stringify(value, null, 2) ?? 'null'} label={label} />
}

/** Names and values of one thing. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
