/** The checks of the demo: a failed check ends the demo with the expected and the actual value. */
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

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 600 ? `${text.slice(0, 600)}… (${text.length} characters)` : text
}
