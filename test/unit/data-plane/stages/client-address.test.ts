/** The client of a call in the log and in its span: the address that a trusted proxy forwards, otherwise that of the peer. */
import { expect, it } from 'vitest'
import { type AccessRecord, logAccess } from '../../../../src/data-plane/stages/6-settle/log-access.ts'
import { traceCall } from '../../../../src/data-plane/stages/6-settle/trace-call.ts'
import { clientAddresses } from '../../../../src/net/server/client-address.ts'
import { exchange } from '../../../fixtures/exchange.ts'

const clientAddress = clientAddresses(['10.0.0.0/8'])
const SERVER = { scheme: 'http', address: 'gateway.example', port: 80 } as const

it.each([
  ['10.0.0.1', '192.0.2.7'],
  ['203.0.113.5', '203.0.113.5'],
])('of a request from %s is %s', (peerAddress, client) => {
  const header = (name: string) => (name === 'x-forwarded-for' ? '192.0.2.7' : '')
  const call = exchange({ peer: { peerAddress, method: 'POST', path: '/mcp/v1/tools', header } })
  call.timings = []
  const lines: AccessRecord[] = []
  void logAccess({ wanted: true, write: record => lines.push(record) }, clientAddress).run(call)
  expect(lines).toMatchObject([{ client }])
  const spans: unknown[] = []
  const traces = { call: (span: unknown) => void spans.push(span), close: async () => {} }
  void traceCall(traces, SERVER, clientAddress).run(call)
  expect(spans).toMatchObject([{ attributes: { 'client.address': client } }])
})
