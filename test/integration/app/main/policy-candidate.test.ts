/** A candidate at an address: fetched with the token, compared and promoted as one in a file is; a draft of the editor cannot take its place. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createContext } from '../../../../src/app/main/app-context.ts'
import { type GatewayPolicy, openGatewayPolicy } from '../../../../src/app/main/policy.ts'
import { type OpenPolicyOwner, policyOwner } from '../../../../src/app/main/policy-served.ts'
import { readBundle } from '../../../../src/policy/bundle.ts'
import { Closers } from '../../../../src/telemetry/closers.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { altered, inputOf, manifestWith, SHIPPED } from '../../../fixtures/policy/inputs.ts'
import { readSettings } from '../../../fixtures/settings.ts'

const WAIT = { timeout: 30_000, interval: 20 }

function named(revision: string): Buffer {
  return altered({
    '.manifest': manifestWith(manifest => {
      manifest.revision = revision
    }),
  })
}

describe('a candidate at an address', { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'candidate-'))
  const live = join(dir, 'bundle.tar.gz')
  const closers = new Closers(SILENT)
  const tokens = new Set<string | undefined>()
  let published: { readonly bundle: Uint8Array; readonly etag: string; readonly status: number }
  let server: Server
  let owner: OpenPolicyOwner
  let gateway: GatewayPolicy

  beforeAll(async () => {
    cpSync(fileURLToPath(SHIPPED), live)
    published = { bundle: named('first'), etag: '"first"', status: 200 }
    server = createServer((request, response) => {
      const { bundle, etag, status } = published
      tokens.add(request.headers.authorization)
      if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.writeHead(status, { etag }).end(bundle)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const settings = readSettings({
      DATA_DIR: dir,
      POLICY_BUNDLE: live,
      POLICY_SHADOW: `http://127.0.0.1:${(server.address() as AddressInfo).port}/candidate.tar.gz`,
      POLICY_TOKEN: 'the-token',
      POLICY_POLL: '20ms',
    })
    const context = createContext(settings, SILENT, closers, false)
    owner = await policyOwner(context)
    gateway = await openGatewayPolicy(context)
  })
  afterAll(async () => {
    await closers.close()
    server?.closeAllConnections()
    server?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const status = async () =>
    (await owner.candidate.status()) as { revision?: string; compared?: number; fault?: string }
  const revision = () => expect.poll(async () => (await status()).revision, WAIT)

  it('is fetched, and again when it has changed', async () => {
    await revision().toBe('first')
    expect([...tokens]).toEqual(['Bearer the-token'])
    published = { bundle: named('second'), etag: '"second"', status: 200 }
    await revision().toBe('second')
  })

  it('is not replaced by a draft, whose refusal says what to do', async () => {
    expect(await owner.candidate.offer(named('draft'))).toBe(
      'POLICY_SHADOW is a URL: publish revision draft at that URL, or unset POLICY_SHADOW.',
    )
    expect((await status()).revision).toBe('second')
    expect(existsSync('http:')).toBe(false)
  })

  it('that cannot be fetched says why', async () => {
    published = { bundle: Buffer.from('no'), etag: '"none"', status: 500 }
    await expect.poll(async () => (await status()).fault, WAIT).toMatch(/responded with status 500/)
    published = { bundle: named('third'), etag: '"third"', status: 200 }
    await revision().toBe('third')
    expect((await status()).fault).toBeUndefined()
  })

  it('is promoted once it was compared', async () => {
    expect(await owner.candidate.promote()).toContain('has not been compared')
    const decision = await gateway.current().decide(inputOf(), 'k', 0)
    gateway.decisions.recordDecision(inputOf(), decision, Date.now())
    await expect.poll(async () => (await status()).compared, WAIT).toBe(1)
    expect(await owner.candidate.promote()).toBeUndefined()
    expect(gateway.current().revision).toBe('third')
    expect(readBundle(readFileSync(live)).revision).toBe('third')
  })
})
