/** What the demo demands of an answer: a failed demand ends it and says what was expected and what came. */

export class DemoFailure extends Error {
  readonly expected: string
  readonly got: string

  constructor(expected: string, got: string) {
    super(`expected ${expected}, got ${got}`)
    this.name = 'DemoFailure'
    this.expected = expected
    this.got = got
  }
}

/** @throws DemoFailure unless `holds` */
export function expect(holds: boolean, expected: string, got: unknown): asserts holds {
  if (!holds) throw new DemoFailure(expected, typeof got === 'string' ? got : shortJson(got))
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 600 ? `${text.slice(0, 600)}… (${text.length} characters)` : text
}
