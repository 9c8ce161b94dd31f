/** The last report of a gateway that stops: it has the counts made meanwhile, also when the report before fails. */
import { expect, it } from 'vitest'
import { Reporter } from '../../../../src/data-plane/follower/reporter.ts'
import type { Report } from '../../../../src/link/report.ts'
import type { ControlPlaneTransport } from '../../../../src/link/transport.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'

it('counts that were made while a report fails are sent when the gateway stops', async () => {
  const sent: Report[] = []
  let fail: (error: Error) => void = () => {}
  const transport = {
    report(_: string, report: Report) {
      sent.push(report)
      if (sent.length > 1) return Promise.resolve(true)
      return new Promise((_resolve, reject) => {
        fail = reject
      })
    },
  } as unknown as ControlPlaneTransport
  let seen = ['before']
  const reporter = new Reporter({
    transport,
    bookPath: undefined,
    onDamage: () => {},
    workers: 1,
    adminActions: { pending: () => [], confirm: async () => {}, onAdded: () => {} },
    takeState() {
      const consumersSeen = seen.map(subject => ({ tenantId: 't', subject, at: new Date(0) }))
      seen = []
      return { status: 'online', usage: [], keysUsed: [], consumersSeen }
    },
    log: SILENT,
  })
  await reporter.start()
  reporter.handleRegistration({ gateway_id: 'g' })
  await expect.poll(() => sent.length).toBe(1)
  seen = ['after']
  const closed = reporter.close()
  fail(new Error('the control plane closed the connection'))
  await closed
  const subjects = sent.slice(1).flatMap(report => report.consumersSeen.map(({ subject }) => subject))
  // the report that failed is repeated as it was
  expect(subjects).toEqual(['before', 'after'])
  expect(sent.at(-1)!.status).toBe('draining')
})
