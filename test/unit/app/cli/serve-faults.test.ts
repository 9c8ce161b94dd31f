/** `toolgate serve` with faults in variables, files and addresses: all of them at once, and exit code 78. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runToolgate } from '../../../fixtures/command.ts'

const directory = mkdtempSync(join(tmpdir(), 'toolgate-faults-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

it('reports every fault together', async () => {
  const plans = join(directory, 'plans.yaml')
  writeFileSync(plans, 'plans: {x: {perSecnd: 1}}')
  const { code, err } = await runToolgate(['serve'], {
    NODE_ENV: 'production',
    AUTH_ISSUER: 'http://id.example.com',
    GATEWAY_URL: 'https://gw.example.com',
    API_URL: 'https://api.example.com',
    GATEWAY_PROT: '1',
    DATA_DIR: directory,
    PLANS: plans,
    POLICY_BUNDLE: plans,
    DATABASE_URL: 'mysql://user:hidden@host/db',
    EGRESS_ALLOW: '10.0.0.0/99',
  })
  expect(code).toBe(78)
  expect(err).toContain('6 settings are invalid')
  for (const fault of [
    /AUTH_ISSUER is a plain http/,
    /GATEWAY_PROT is not a setting\. Did you mean GATEWAY_PORT\?/,
    /PLANS is not valid: .*plans\.yaml.*\n.*perSecnd/,
    /POLICY_BUNDLE is not valid: .*not a gzip file/,
    /DATABASE_URL is .*not a valid database address/,
    /EGRESS_ALLOW .*10\.0\.0\.0\/99/,
  ])
    expect(err).toMatch(fault)
  expect(err).not.toContain('hidden')
})
