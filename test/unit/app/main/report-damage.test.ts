/** The texts for files that are damaged or cannot be read, in the log and as a condition. The readers are tested with their parts. */
import { expect, it } from 'vitest'
import { Conditions } from '../../../../src/app/main/conditions.ts'
import { createDamageReport } from '../../../../src/app/main/report-damage.ts'
import { type Log, SILENT } from '../../../../src/telemetry/log.ts'

function reported(error?: NodeJS.ErrnoException): { logged: string[]; conditions: unknown } {
  const logged: string[] = []
  const log: Log = { ...SILENT, error: (_, message) => logged.push(message) }
  const conditions = new Conditions()
  const report = createDamageReport(log, conditions)
  for (let time = 0; time < 2; time++) report('/data/documents/shop', 'its tools are unavailable', error)
  return { logged, conditions: conditions.all }
}

const errorOf = (code: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: not possible, open '/data/documents/shop'`), { code })

it('says of a damaged file that the disk has to be checked, once', () => {
  expect(reported()).toEqual({
    logged: [
      '/data/documents/shop is damaged: its tools are unavailable. Check the disk. /mcp/health reports this fault until the process is restarted',
    ],
    conditions: [['files', '/data/documents/shop is damaged: its tools are unavailable']],
  })
})

it.each(['EACCES', 'EPERM'])('names %s as the reason, and asks for permissions', code => {
  const { logged, conditions } = reported(errorOf(code))
  const reason = `/data/documents/shop cannot be read (${code}: not possible, open '/data/documents/shop'): its tools are unavailable`
  expect(logged).toEqual([
    `${reason}. Give the user that runs the gateway read permission for the file and its folders. /mcp/health reports this fault until the process is restarted`,
  ])
  expect(conditions).toEqual([['files', reason]])
})

it('asks to check file and disk for another error', () => {
  expect(reported(errorOf('EISDIR')).logged).toEqual([
    expect.stringMatching(/cannot be read \(EISDIR.*Check that it is a file, and check the disk\./),
  ])
})
