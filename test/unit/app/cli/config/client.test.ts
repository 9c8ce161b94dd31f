/** `toolgate config` with a control plane whose responses are cut or in another form: a message and exit code 1, over real connections. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { runToolgate } from '../../../../fixtures/command.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolgate-config-'))
const file = join(folder, 'toolgate.yaml')
let server: Server | undefined
beforeAll(() => writeFileSync(file, 'apiVersion: toolgate.dev/v1\nkind: Configuration\n'))
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const UNCHANGED = { changes: [], drift: [], foreign: [], unlisted: [], missing_secrets: [] }

/** Responds to a dry run, and with `respond` to the other requests. */
async function run(
  command: readonly string[],
  respond: (response: ServerResponse) => void,
  expected: object = UNCHANGED,
) {
  server = createServer((request, response) => {
    request.resume().once('end', () => {
      if (request.url!.includes('dry_run=true')) response.end(JSON.stringify(expected))
      else respond(response)
    })
  })
  await new Promise<void>(resolve => server!.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, ...(await runToolgate(['config', ...command, '--url', url], { TOOLGATE_TOKEN: 'token' })) }
}

/** A response whose connection ends after a part of the body. */
function cut(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"changes"', () => response.socket!.destroySoon())
}

it('says that the changes of an apply may have been made when its response is cut', async () => {
  const { url, code, err } = await run(['apply', file], cut)
  expect(code).toBe(1)
  expect(err).toContain(`toolgate: The response from ${url} is incomplete: `)
  expect(err).toContain('Check with `toolgate config diff` whether the changes were applied, then retry.')
})

it('says that the changes of an apply may have been made when no response comes', async () => {
  const { url, code, err } = await run(['apply', file], response => response.socket!.destroy())
  expect(code).toBe(1)
  expect(err).toContain(`toolgate: ${url} did not respond: `)
  expect(err).toContain('Check with `toolgate config diff` whether the changes were applied, then retry.')
})

it('says that the response of an export is cut', async () => {
  const { url, code, err } = await run(['export'], cut)
  expect([code, err]).toEqual([1, expect.stringMatching(/ is incomplete: .*\. Retry\.\n$/)])
  expect(err).toContain(url)
})

it('says that another server responds', async () => {
  const { code, err } = await run(['diff', file], cut, {})
  expect([code, err]).toEqual([
    1,
    expect.stringContaining('Set --url to a control plane that has the same version as this command.'),
  ])
})
