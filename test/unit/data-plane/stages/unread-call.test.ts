/** What log, ring and details hold of a call whose caller was refused before its body was read: the action, no name and no arguments. */
import { expect, it } from 'vitest'
import { CallDetails } from '../../../../src/data-plane/calls/call-details.ts'
import { CallRing } from '../../../../src/data-plane/calls/call-ring.ts'
import { RecordedCalls } from '../../../../src/data-plane/calls/recorded-calls.ts'
import { UNREAD_CALL } from '../../../../src/data-plane/pipeline/operation.ts'
import { type AccessRecord, logAccess } from '../../../../src/data-plane/stages/6-settle/log-access.ts'
import { refuse } from '../../../../src/model/refusal.ts'
import { exchange, peerAddressOf } from '../../../fixtures/exchange.ts'

function refused() {
  const unread = exchange({ operation: UNREAD_CALL })
  unread.final = refuse('token_missing')
  return unread
}

it('is logged as a call of an unknown tool', () => {
  const lines: AccessRecord[] = []
  void logAccess({ wanted: true, write: record => lines.push(record) }, peerAddressOf).run(refused())
  expect(lines).toMatchObject([{ action: 'tools.call', outcome: 'token_missing', status: 401 }])
  expect(lines[0]!.requested_tool).toBeUndefined()
})

it('is recorded without tool, name and arguments', () => {
  const calls = new RecordedCalls(new CallRing(1, name => name, 4), new CallDetails('all', peerAddressOf))
  calls.record(refused(), 'token_missing', 401)
  const [row] = calls.before({}, undefined, 1, 0).rows
  expect(row).toMatchObject({ action: 'tools.call', tool: null, outcome: 'token_missing', detailed: true })
  expect(row).not.toHaveProperty('requested_tool')
  const found = calls.find(calls.ring.name, 0)
  expect(found?.detail).toMatchObject({ arguments: undefined, argumentsState: 'not_recorded' })
  const seen: (string | undefined)[] = []
  calls.ring.visit({}, ({ tool }) => seen.push(tool) > 0)
  expect(seen).toEqual([undefined])
})
