/** What the access log holds of a call, and that it holds no secret. */
import { describe, expect, it } from 'vitest'
import { type AccessRecord, logAccess } from '../../../../../src/data-plane/stages/6-settle/log-access.ts'
import { refuse } from '../../../../../src/model/refusal.ts'
import { aPrincipal, aTool, compiled, exchange, peerAddressOf } from '../../../../fixtures/exchange.ts'

const CALL = { action: 'tools.call', tool: 'get_order', arguments: { id: '7' } } as const

describe('log-access', () => {
  it('records caller, operation and outcome, and nothing secret', () => {
    const lines: AccessRecord[] = []
    const x = exchange({
      operation: { ...CALL, arguments: { id: 'canary-argument' } },
      credentials: { authorization: 'Bearer canary-token', apiKey: '', tenant: '' },
    })
    x.principal = aPrincipal()
    x.tenant = 'acme'
    x.tool = compiled(aTool())
    x.final = refuse('policy_denied')
    x.backendFault = 'http://10.0.0.1 closed the connection without a response: ECONNRESET'
    void logAccess({ wanted: true, write: record => lines.push(record) }, peerAddressOf).run(x)
    expect(lines[0]).toMatchObject({
      consumer: 'demo-agent',
      tool: 'get_order',
      outcome: 'policy_denied',
      status: 403,
      backend_fault: expect.stringMatching(/10\.0\.0\.1.*ECONNRESET/),
    })
    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  it('makes no record below the log level', () => {
    const lines: AccessRecord[] = []
    const x = exchange({ operation: CALL })
    x.final = refuse('policy_denied')
    void logAccess({ wanted: false, write: record => lines.push(record) }, peerAddressOf).run(x)
    expect(lines).toEqual([])
  })
})
