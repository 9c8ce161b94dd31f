/** Reads query parameters and cursors of the admin API and the tenant that a caller is limited to, and defines their fault. */
import { parseTimeMs } from '../../base/calendar-date.ts'
import { type Principal, reachesEveryTenant } from '../../model/principal.ts'
import type { CallQuery } from '../calls/call-query.ts'
import { readCursor } from '../calls/process-calls.ts'
import type { Positions } from '../calls/recorded-calls.ts'

/** For a request: why its query or body is not valid. */
export class ParameterFault extends Error {}

const MAX_VALUE = 200
/** For a cursor, which has a part for each of up to 64 threads. */
const MAX_CURSOR = 2_000
const MAX_LIMIT = 500
const DEFAULT_LIMIT = 100

export class Parameters {
  readonly #search: URLSearchParams

  constructor(query: string) {
    this.#search = new URLSearchParams(query)
  }

  /** undefined when absent or empty. @throws ParameterFault */
  text(name: string, maxCharacters = MAX_VALUE): string | undefined {
    const value = this.#search.get(name) ?? ''
    if (value.length > maxCharacters)
      throw new ParameterFault(`${name} has more than ${maxCharacters} characters.`)
    return value === '' ? undefined : value
  }

  /** As `text`. */
  cursor(): string | undefined {
    return this.text('cursor', MAX_CURSOR)
  }

  /** @throws ParameterFault */
  number(name: string, min: number, max: number): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = Number(text)
    if (!(value >= min && value <= max))
      throw new ParameterFault(`${name} must be a number from ${min} to ${max}.`)
    return value
  }

  /** @throws ParameterFault */
  limit(): number {
    return Math.trunc(this.number('limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT)
  }

  /** Unix ms. @throws ParameterFault */
  time(name: string): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const ms = parseTimeMs(text)
    if (ms === undefined) throw new ParameterFault(`${name} must be a time such as 2026-11-22T20:00:00Z.`)
    return ms
  }
}

/** For the calls that the caller may see. @throws ParameterFault */
export function callQuery(parameters: Parameters, caller: Principal): CallQuery {
  const query: Record<string, string | number | undefined> = {
    within: tenantSeenBy(caller),
    tenant: parameters.text('tenant'),
    consumer: parameters.text('consumer'),
    tool: parameters.text('tool'),
    toolset: parameters.text('toolset'),
    access: parameters.text('access'),
    action: parameters.text('action'),
    outcome: parameters.text('outcome'),
    requestId: parameters.text('request_id'),
    minMs: parameters.number('min_ms', 0, 1e9),
  }
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}

/** The only tenant whose data the caller may see; undefined: every tenant's. */
export function tenantSeenBy(caller: Principal): string | undefined {
  return reachesEveryTenant(caller) ? undefined : (caller.tenant ?? '')
}

/** @throws ParameterFault */
export function positionsOf(text: string | undefined, name: string): Positions {
  if (text === undefined || text === '') return undefined
  const positions = readCursor(text)
  if (positions === undefined) throw new ParameterFault(`${name} was not issued by this gateway.`)
  return positions
}
