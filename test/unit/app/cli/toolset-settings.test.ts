/** The settings of `toolgate toolset`: each fault ends the command before it reads the file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runToolgate } from '../../../fixtures/command.ts'
import { documentOf } from '../../catalog/deployment.ts'

const directory = mkdtempSync(join(tmpdir(), 'toolset-settings-'))
afterAll(() => rmSync(directory, { recursive: true }))
const document = join(directory, 'api.json')
writeFileSync(document, documentOf('listOrders'))
const missing = join(directory, 'missing')

describe.each(['lint', 'render'])('toolgate toolset %s', command => {
  const run = (env: Record<string, string>) => runToolgate(['toolset', command, document, '--json'], env)

  it('accepts settings that are valid', async () => {
    const { out, err } = await run({ NODE_ENV: 'production', EGRESS_ALLOW: '10.0.0.0/8' })
    expect([JSON.parse(out), err]).toEqual([expect.anything(), ''])
  })

  it.each<[env: Record<string, string>, messages: readonly RegExp[]]>([
    [{ NODE_ENV: 'prod' }, [/^ {2}NODE_ENV is "prod"\. Use one of development, production, test\.$/m]],
    [{ EGRESS_ALLOW_FILE: missing }, [/^ {2}EGRESS_ALLOW_FILE names a file that/m]],
    [
      { EGRESS_ALLOW: '10.0.0.0/8', EGRESS_ALLOW_FILE: missing },
      [/EGRESS_ALLOW and EGRESS_ALLOW_FILE are both set/],
    ],
    [{ EGRESS_ALLOW: '10.0.0.0/99' }, [/^ {2}EGRESS_ALLOW is not valid: "10\.0\.0\.0\/99"/m]],
    [
      { NODE_ENV: 'prod', EGRESS_ALLOW: '10.0.0.0/99' },
      [/^toolgate: 2 settings are invalid:$/m, /NODE_ENV is "prod"/, /EGRESS_ALLOW is not valid/],
    ],
  ])('ends with 78 and all faults for %j', async (env, messages) => {
    const { code, out, err } = await run(env)
    expect([code, out]).toEqual([78, ''])
    for (const message of messages) expect(err).toMatch(message)
  })
})
