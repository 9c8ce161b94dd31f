/** The table of places where credentials may be: what is outside of it fails a run, and so does a run that saw none. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'

const dir = mkdtempSync(join(tmpdir(), 'canary-'))
afterAll(() => rmSync(dir, { recursive: true }))

const TOKEN = { form: 'jwt', owner: 'demo-agent', to: 'socket', by: 'src/net/egress/connector' }

it.each([
  ['a token of a caller for a backend', { ...TOKEN, header: 'authorization', request: 'GET /orders' }, 1],
  ['a token in a body', { ...TOKEN, request: 'POST /orders' }, 1],
  ['a token in the log', { form: 'jwt', to: 'file', from: 'src/telemetry/log', file: '1' }, 1],
  ['a key in the log', { form: 'api key', to: 'file', from: 'sonic-boom/index', file: '1' }, 1],
  ['a key in a list', { form: 'api key', to: 'response', by: 'node', request: 'GET /v1/apikeys' }, 1],
  ['nothing', undefined, 1],
  ['a token at the issuer', { ...TOKEN, request: 'POST /oauth/token' }, 0],
])('%s', (_, finding, code) => {
  const file = join(dir, 'findings')
  writeFileSync(file, finding === undefined ? '' : `${JSON.stringify(finding)}\n`)
  const { status, stdout } = spawnSync(process.execPath, ['test/canary/judge.mjs', file], {
    encoding: 'utf8',
  })
  expect([status, stdout]).toEqual([code, expect.stringContaining(' places are not permitted')])
})
