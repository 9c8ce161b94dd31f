/** What tests of the egress client share: a client over each of its two carriers, and its closing. */
import { beforeEach, describe, onTestFinished } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress, EgressRequest } from '../../../src/net/egress/egress.ts'
import type { TestBackend } from './backend.ts'

/** Plain http goes over own connections or over undici; a caller sees no difference. */
const CARRIERS = [
  ['own connections', true],
  ['undici', false],
] as const
let ownHttp1 = true
/** Each test twice. */
export const overBoth = (title: string, tests: () => void): void =>
  describe.each(CARRIERS)(`${title}, over %s`, (_, own) => {
    beforeEach(() => {
      ownHttp1 = own
      // files share their worker: others have the default
      return () => {
        ownHttp1 = true
      }
    })
    tests()
  })
/** Closed when the test is over that opens it, the last one first. */
export function keep<T extends { close(): Promise<void> }>(part: T): T {
  onTestFinished(() => part.close())
  return part
}
export function client(options: Partial<Parameters<typeof createEgress>[0]> = {}): Egress {
  return keep(createEgress({ ownHttp1, allow: [], allowLoopback: true, ...options }))
}
export function get(backend: TestBackend, more: Partial<EgressRequest> = {}): EgressRequest {
  return {
    method: 'GET',
    url: `${backend.url}/`,
    headers: [],
    // only against what hangs: a test of a time-out sets a shorter one
    timeoutMs: 20_000,
    maxResponseBytes: 1 << 20,
    ...more,
  }
}
export const text = (body: Uint8Array): string => Buffer.from(body).toString()
