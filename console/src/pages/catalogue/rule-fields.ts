/** The rules of an API for its calls, as fields of a form: their labels, and how values become text and text becomes values. */

export interface RuleField {
  /** Within the rule. */
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number' | 'words' | 'numbers' | 'check' | 'choice' | 'headers' | 'weights'
  readonly hint?: string
  readonly choices?: readonly (readonly [value: string, title: string])[]
  readonly required?: boolean
}

export interface Rule {
  /** Path within `traffic`; empty: the fields are its own. */
  readonly path: readonly string[]
  readonly title: string
  /** Absent: the rule cannot be off. */
  readonly off?: string
  readonly fields: readonly RuleField[]
}

const METHODS = 'Separated by commas, such as GET, POST. Empty: the methods that the API allows.'

export const RULES: readonly Rule[] = [
  {
    path: [],
    title: 'Requests',
    fields: [
      { name: 'methods', label: 'Methods', kind: 'words', hint: 'Separated by commas. Empty: every method.' },
      { name: 'max_request_bytes', label: 'Maximum body size in bytes', kind: 'number' },
      {
        name: 'timeout_ms',
        label: 'Timeout in ms',
        kind: 'number',
        hint: 'Maximum duration of a call, including all attempts.',
      },
    ],
  },
  {
    path: ['request_headers'],
    title: 'Request headers',
    fields: [
      {
        name: 'set',
        label: 'Set',
        kind: 'headers',
        hint: 'One header per line, as "name: value". All users who may view the API see the values.',
      },
      { name: 'remove', label: 'Remove', kind: 'words', hint: 'Header names, separated by commas.' },
    ],
  },
  {
    path: ['response_headers'],
    title: 'Response headers',
    fields: [
      { name: 'set', label: 'Set', kind: 'headers', hint: 'One header per line, as "name: value".' },
      { name: 'remove', label: 'Remove', kind: 'words', hint: 'Header names, separated by commas.' },
    ],
  },
  {
    path: ['cors'],
    title: 'Cross-origin requests',
    off: 'the CORS settings of the gateway apply',
    fields: [
      {
        name: 'origins',
        label: 'Origins',
        kind: 'words',
        hint: 'Origins whose pages may read responses, separated by commas. "*": every origin. Empty: none.',
        required: true,
      },
      { name: 'methods', label: 'Methods', kind: 'words', hint: METHODS },
      { name: 'allow_headers', label: 'Allowed request headers', kind: 'words' },
      { name: 'expose_headers', label: 'Exposed response headers', kind: 'words' },
      { name: 'credentials', label: 'Allow credentials', kind: 'check' },
      {
        name: 'max_age_secs',
        label: 'Seconds for which browsers may cache the response to a preflight',
        kind: 'number',
      },
    ],
  },
  {
    path: ['cache'],
    title: 'Cache',
    off: 'no response is cached',
    fields: [
      {
        name: 'scope',
        label: 'Reuse a cached response for',
        kind: 'choice',
        choices: [
          ['caller', 'the caller that received it'],
          ['public', 'every caller, if the backend allows that'],
        ],
      },
      {
        name: 'default_age_secs',
        label: 'Default freshness lifetime in seconds',
        kind: 'number',
        hint: 'For responses that have no Expires header, and no max-age or s-maxage in Cache-Control.',
      },
      { name: 'max_age_secs', label: 'Maximum freshness lifetime in seconds', kind: 'number' },
      { name: 'max_response_bytes', label: 'Maximum size of a cached response in bytes', kind: 'number' },
    ],
  },
  {
    path: ['retry'],
    title: 'Retries',
    off: 'no call is retried',
    fields: [
      { name: 'max_attempts', label: 'Maximum attempts, including the first', kind: 'number' },
      {
        name: 'statuses',
        label: 'Response statuses after which the gateway retries',
        kind: 'numbers',
        hint: 'Such as 502, 503.',
      },
      {
        name: 'methods',
        label: 'Methods that the gateway retries',
        kind: 'words',
        hint: 'Empty: GET, OPTIONS, PUT and DELETE.',
      },
      { name: 'first_delay_ms', label: 'Delay before the first retry in ms', kind: 'number' },
      { name: 'max_delay_ms', label: 'Maximum delay before a retry in ms', kind: 'number' },
      { name: 'budget_percent', label: 'Maximum retries per hundred calls', kind: 'number' },
    ],
  },
  {
    path: ['circuit_breaker'],
    title: 'Circuit breaker',
    off: 'the default circuit breaker applies',
    fields: [
      { name: 'opens_after', label: 'Failures in a row that open the circuit', kind: 'number' },
      { name: 'open_ms', label: 'Initial open time of the circuit in ms', kind: 'number' },
      { name: 'max_open_ms', label: 'Maximum open time of the circuit in ms', kind: 'number' },
      {
        name: 'statuses',
        label: 'Response statuses that count as failures',
        kind: 'numbers',
        hint: 'Such as 500, 503.',
      },
    ],
  },
  {
    path: ['upstreams'],
    title: 'Upstream addresses',
    off: 'every call goes to the backend of the API',
    fields: [
      {
        name: 'addresses',
        label: 'Addresses',
        kind: 'weights',
        hint: 'One address and its weight per line, such as "https://a.example.com 3".',
        required: true,
      },
    ],
  },
  {
    path: ['upstreams', 'health_check'],
    title: 'Health checks of the upstream addresses',
    off: 'the gateway checks no address and sends calls to every address',
    fields: [
      { name: 'path', label: 'Path', kind: 'text' },
      { name: 'interval_ms', label: 'Interval in ms', kind: 'number' },
      { name: 'timeout_ms', label: 'Timeout in ms', kind: 'number' },
      {
        name: 'unhealthy_after',
        label: 'Failed checks in a row after which an address is unhealthy',
        kind: 'number',
      },
      {
        name: 'healthy_after',
        label: 'Successful checks in a row after which an address is healthy again',
        kind: 'number',
      },
    ],
  },
  {
    path: ['connections'],
    title: 'Connections',
    off: 'each connection has at most one HTTP/1.1 request in flight',
    fields: [{ name: 'http2', label: 'HTTP/2', kind: 'check' }],
  },
  {
    path: ['mirror'],
    title: 'Mirrored requests',
    off: 'no request is mirrored',
    fields: [
      { name: 'url', label: 'Address that receives the mirrored requests', kind: 'text', required: true },
      { name: 'percent', label: 'Percentage of requests to mirror', kind: 'number', required: true },
      { name: 'methods', label: 'Methods of requests to mirror', kind: 'words', hint: 'Empty: GET.' },
      { name: 'max_body_bytes', label: 'Maximum body size of a mirrored request in bytes', kind: 'number' },
      { name: 'timeout_ms', label: 'Timeout in ms', kind: 'number' },
    ],
  },
]

type Values = Readonly<Record<string, unknown>>

/** The rule within `traffic`; undefined: it is off. */
export function valuesOf(traffic: Values | null, { path }: Rule): Values | undefined {
  let at: unknown = traffic ?? {}
  for (const name of path) at = (at as Values | null | undefined)?.[name]
  return (at ?? undefined) as Values | undefined
}

/** A value as the form shows it. */
export function textOf(value: unknown, kind: RuleField['kind']): string {
  if (value === null || value === undefined) return ''
  if (kind === 'headers')
    return Object.entries(value as Record<string, string>)
      .map(([name, text]) => `${name}: ${text}`)
      .join('\n')
  if (kind === 'weights')
    return (value as readonly { url: string; weight: number }[])
      .map(({ url, weight }) => `${url} ${weight}`)
      .join('\n')
  return Array.isArray(value) ? value.join(', ') : String(value)
}

export function fieldName({ path }: Rule, name: string): string {
  return [...path, name].join('.')
}

export function switchName({ path }: Rule): string {
  return `on.${path.join('.')}`
}

/** `traffic` as the form says. An empty field gets its preset from the control plane, which also checks all of them. */
export function trafficOf(form: FormData): Record<string, unknown> {
  const traffic: Record<string, unknown> = {}
  for (const rule of RULES) {
    const parent = rule.path.slice(0, -1).reduce<unknown>((at, name) => (at as Values)[name], traffic)
    // a part of a rule that is off
    if (parent === undefined || parent === null) continue
    const isOn = rule.off === undefined || form.get(switchName(rule)) === 'on'
    const values = isOn ? readRule(rule, form) : null
    const name = rule.path.at(-1)
    if (name === undefined) Object.assign(traffic, values)
    else (parent as Record<string, unknown>)[name] = values
  }
  return traffic
}

function readRule(rule: Rule, form: FormData): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const { name, kind, required } of rule.fields) {
    const text = String(form.get(fieldName(rule, name)) ?? '').trim()
    if (kind === 'check') values[name] = text === 'on'
    else if (text !== '' || required === true) values[name] = read(text, kind)
  }
  return values
}

function read(text: string, kind: RuleField['kind']): unknown {
  const words = () => text.split(/[\s,]+/).filter(word => word !== '')
  const lines = () => text.split('\n').filter(line => line.trim() !== '')
  switch (kind) {
    case 'number':
      return numberOf(text)
    case 'words':
      return words()
    case 'numbers':
      return words().map(numberOf)
    case 'headers':
      return Object.fromEntries(
        lines().map(line => {
          const [name = '', ...rest] = line.split(':')
          return [name.trim(), rest.join(':').trim()]
        }),
      )
    case 'weights':
      return lines().map(line => {
        const [url = '', weight] = line.trim().split(/\s+/)
        return weight === undefined ? { url } : { url, weight: numberOf(weight) }
      })
    default:
      return text
  }
}

/** What is not a number stays text, which the control plane refuses by the name of the field. */
function numberOf(text: string): number | string {
  const value = Number(text)
  return Number.isNaN(value) ? text : value
}
