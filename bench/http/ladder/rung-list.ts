/** The rungs of the ladder and the variants of `invoke`, by name, for code that only compares names: it loads nothing of the gateway. */

/** In their order; each has the parts of the one before and one more. `floor` is a whole program, as is `gateway`. */
export const RUNGS = [
  ['floor', 'bare uWS, raw sockets, no check'],
  ['listener', '+ our listener: head checks, bounds, framing'],
  ['envelope', '+ ids, trace, body read as a call, response head'],
  ['invoke', '+ request built, our connections, response parsed, result framed, MCP'],
  ['token', '+ token verified, tool and subscription found'],
  ['quota', '+ five windows and the bucket of the tool'],
  ['decision', '+ policy, arguments, headers, obligations'],
  ['settle', '+ usage, metrics, access log'],
  ['meter', '+ metering event in its file before the response'],
] as const
export type Rung = (typeof RUNGS)[number][0]

/** The rung `invoke` over other connections to the backend, beside the line: `token` adds to `invoke` itself. */
export const VARIANTS = [
  { id: 'invoke-32', name: 'invoke, 32 callers', callers: 32 },
  { id: 'invoke-http2', name: 'invoke, 32 callers, HTTP/2', callers: 32, transport: { http2: true } },
  { id: 'invoke-unix', name: 'invoke over a Unix socket' },
] as const
export type Variant = (typeof VARIANTS)[number]['id']

/** A whole program beside the line: `meter` without the stages. */
export const LEAST = ['least', 'each check once, in place, without stages: a bound for a fast path'] as const

/** The built program, with its listener, router and timers. */
export const GATEWAY = ['gateway', '+ the program as it is deployed'] as const

/** The same with calls of other clients, beside the line. */
export const CALLS = [
  ['gateway-session', 'gateway, a call in a session (MCP 2025-11-25)'],
  ['gateway-modern', 'gateway, a call of MCP 2026-07-28'],
  ['gateway-proxied', 'gateway, a proxied GET with an API key'],
] as const
export type GatewayCall = (typeof GATEWAY)[0] | (typeof CALLS)[number][0]
