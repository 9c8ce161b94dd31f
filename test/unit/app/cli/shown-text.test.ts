/** Text of other people in the output of a command: characters that steer a terminal or are invisible are written as escapes. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { type Changes, showChanges } from '../../../../src/app/cli/config/show.ts'
import { TextReport } from '../../../../src/app/cli/doctor/report.ts'
import { shownText } from '../../../../src/app/cli/shown-text.ts'
import { runToolgate } from '../../../fixtures/command.ts'

/** ESC, DEL, CSI of C1, a line separator, a change of the writing direction, a line feed. */
const HOSTILE = '\u001b[2J\u007f\u009b1A\u2028\u202e\n'
const ESCAPED = '\\u001b[2J\\u007f\\u009b1A\\u2028\\u202e\\u000a'
const INVISIBLE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

it('is one line of visible characters, and other text stays as it is', () => {
  expect(shownText(HOSTILE)).toBe(ESCAPED)
  expect(shownText('Größe „10“ → 日本 🙂')).toBe('Größe „10“ → 日本 🙂')
})

it('is shown so in each part of the changes of a configuration', () => {
  const named = `orders${HOSTILE}`
  const changes: Changes = {
    changes: [
      { action: 'create', path: named, fields: [{ field: named, from: null, to: named }] },
      { action: 'update', path: named, fields: [{ field: named, from: named, to: { [named]: 1 } }] },
      { action: 'delete', path: named, fields: [] },
    ],
    drift: [
      { path: named, field: null, applied: null, live: null },
      { path: named, field: named, applied: named, live: named },
    ],
    foreign: [{ path: named, owner: named }],
    unlisted: [named],
    missing_secrets: [named],
  }
  const shown = showChanges(changes, false)
  expect(shown).not.toMatch(INVISIBLE)
  expect(shown.trimEnd().split('\n')).toHaveLength(11)
  expect(shown.split(`orders${ESCAPED.slice(0, 11)}`).length - 1).toBe(18)
})

it('is shown so in the report of doctor', () => {
  let shown = ''
  const report = new TextReport(text => (shown += text), false)
  report.step({ step: 'reach', status: 'failed', found: HOSTILE, warnings: [HOSTILE], fix: HOSTILE })
  expect(shown).not.toMatch(INVISIBLE)
  expect(shown.trimEnd().split('\n')).toHaveLength(3)
})

it('is shown so where the control plane refuses a configuration', async () => {
  const server = createServer((request, response) => {
    request.resume()
    const error = { code: 'invalid', message: HOSTILE, details: [{ field: HOSTILE, message: HOSTILE }] }
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, err } = await runToolgate(['config', 'export', '--url', url], { TOOLGATE_TOKEN: 'token' })
  server.closeAllConnections()
  server.close()
  expect(code).toBe(1)
  expect(err).toContain(`refused the request with 400 invalid: ${ESCAPED}`)
  expect(err).not.toMatch(INVISIBLE)
})
