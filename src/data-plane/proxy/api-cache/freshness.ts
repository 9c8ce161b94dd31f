/** Rules of the response cache (RFC 9111): what may be kept and for how long, what a request wants, matching of tags. */
import type { CacheRule } from '../../../model/schema/cache.ts'
import { type Directives, directivesOf, secondsOf } from '../../../net/cache-control.ts'

/** Reads one header; '' when absent. */
type ReadHeader = (name: string) => string

/** Request headers that name a call or its client, and select no representation. */
export const OF_THE_CALL: readonly string[] = [
  'x-forwarded-for',
  'x-request-id',
  'traceparent',
  'tracestate',
  'baggage',
]
/** A response that varies on them is not kept. */
const CHANGING: ReadonlySet<string> = new Set(['*', 'x-forwarded-host', 'x-forwarded-proto', ...OF_THE_CALL])

export interface Storable {
  /** Seconds from its receipt in which it may be used without asking; 0: never. */
  readonly freshSecs: number
  /** Age when the response was received. */
  readonly ageSecs: number
}

/** undefined: the response must not be kept. @param hadCredential the request had one, which the upstream never saw */
export function storable(
  rule: CacheRule,
  status: number,
  header: ReadHeader,
  hadCredential: boolean,
  nowMs: number,
): Storable | undefined {
  const control = directivesOf(header('cache-control'))
  if (status !== 200 || control.has('no-store') || header('set-cookie') !== '') return undefined
  const isShared = rule.scope === 'public'
  if (isShared && control.has('private')) return undefined
  // §3.5: what a credential opened is shared only where the upstream says so
  const isOpen = control.has('public') || control.has('s-maxage') || control.has('must-revalidate')
  if (isShared && hadCredential && !isOpen) return undefined
  if (namesOf(header('vary')).some(name => CHANGING.has(name))) return undefined
  const ageSecs = Number(/^\d{1,15}$/.exec(header('age'))?.[0] ?? 0)
  const lifeSecs = control.has('no-cache')
    ? 0
    : (lifeOf(control, header, isShared, nowMs) ?? rule.defaultAgeSecs ?? 0)
  const freshSecs = Math.max(0, Math.min(lifeSecs - ageSecs, rule.maxAgeSecs))
  // a response that is never fresh is of use only if the upstream can confirm it
  if (freshSecs === 0 && header('etag') === '' && header('last-modified') === '') return undefined
  return { freshSecs, ageSecs }
}

/** §4.2.1 */
function lifeOf(
  control: Directives,
  header: ReadHeader,
  isShared: boolean,
  nowMs: number,
): number | undefined {
  const own = (isShared ? secondsOf(control, 's-maxage') : undefined) ?? secondsOf(control, 'max-age')
  if (own !== undefined) return own
  const expires = header('expires')
  if (expires === '') return undefined
  const untilMs = Date.parse(expires)
  const sentMs = Date.parse(header('date'))
  // §5.3: a date that is not valid, such as 0, has passed
  if (Number.isNaN(untilMs)) return 0
  return Math.max(0, Math.floor((untilMs - (Number.isNaN(sentMs) ? nowMs : sentMs)) / 1000))
}

/** How a request wants kept responses to be used. */
export interface Wishes {
  /** Neither look nor keep. */
  readonly bypasses: boolean
  /** Ask the upstream first. */
  readonly revalidates: boolean
  readonly maxAgeSecs: number
  readonly minFreshSecs: number
}

export function wishesOf(header: ReadHeader): Wishes {
  const control = directivesOf(header('cache-control'))
  return {
    bypasses: control.has('no-store') || header('range') !== '',
    revalidates: control.has('no-cache') || (control.size === 0 && header('pragma') === 'no-cache'),
    maxAgeSecs: secondsOf(control, 'max-age') ?? Number.POSITIVE_INFINITY,
    minFreshSecs: secondsOf(control, 'min-fresh') ?? 0,
  }
}

/** RFC 9110 §13.1.2: true when the client has the representation with this tag already. */
export function hasTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '' || etag === '') return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return (ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? []).some(tag => opaque(tag) === opaque(etag))
}

function namesOf(list: string): string[] {
  return list
    .toLowerCase()
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}
