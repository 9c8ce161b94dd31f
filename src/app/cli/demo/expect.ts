/** Checks of responses, which throw a DemoFailure, and readers of their fields. */
import { isObject } from '../../../base/json/is-object.ts'
import { DemoFailure } from './demo-failure.ts'
import type { DemoExchange } from './exchange.ts'

/** @throws DemoFailure unless `holds` */
export function expect(holds: boolean, expected: string, got: unknown): asserts holds {
  if (!holds) throw new DemoFailure(expected, typeof got === 'string' ? got : shortJson(got))
}

/** @throws DemoFailure unless the response has this status */
export function expectStatus(found: DemoExchange, status: number): void {
  if (found.status !== status)
    throw new DemoFailure(
      `status ${status} from ${found.url}`,
      `${found.status} ${shortJson(found.response)}`,
    )
}

/** A member of the response body; undefined when absent. */
export function field({ response }: DemoExchange, name: string): unknown {
  return isObject(response) ? response[name] : undefined
}

/** @throws DemoFailure unless the response body has this text */
export function text(found: DemoExchange, name: string): string {
  const value = field(found, name)
  expect(typeof value === 'string', `${name} in the response from ${found.url}`, found.response)
  return value
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 600 ? `${text.slice(0, 600)}… (${text.length} characters)` : text
}
