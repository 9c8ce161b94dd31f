/** The requests of `toolgate config follow` to a control plane that is silent, over real connections. With a cluster, it is tested in test/services. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../../../../src/app/cli/config/client.ts'
import { accessOf } from '../../../../../src/app/cli/config/follow.ts'

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** @param begin whether the server begins a response, which it never ends */
async function silent(begin: boolean) {
  server = createServer((_, response) => {
    if (begin) response.writeHead(200, { 'content-type': 'application/json' }).write('{')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const access = accessOf(await connect({ url }, { TOOLGATE_TOKEN: 'token' }), { readMs: 200, applyMs: 300 })
  return { url, access }
}

it('ends a read after its time, with what happened and what to check', async () => {
  const { url, access } = await silent(false)
  const message = `${url} did not respond within 0.2 s. Check --url, and check that the control plane runs.`
  await expect(access.gateways()).rejects.toThrow(message)
  await expect(access.apiId('acme', '/orders')).rejects.toThrow(message)
  await expect(access.deployment('api_1', 'gw_1')).rejects.toThrow(message)
})

it('ends an apply after its time, which may have made its changes', async () => {
  const { url, access } = await silent(false)
  await expect(access.apply({}, { overwriteDrift: false })).rejects.toThrow(
    `${url} did not respond within 0.3 s. Check with \`toolgate config diff\` whether the changes were applied`,
  )
})

it('ends a response that stops in the middle', async () => {
  const { url, access } = await silent(true)
  await expect(access.gateways()).rejects.toThrow(
    `The response from ${url} is incomplete: it did not end within 0.2 s. Retry.`,
  )
})

it('waits 10 s for a read and 30 s for an apply when nothing else is set', async () => {
  const timeouts: unknown[] = []
  const access = accessOf(async ({ timeoutMs }) => {
    timeouts.push(timeoutMs)
    return { body: { items: [] }, etag: '' }
  })
  await access.gateways()
  await access.apply({}, { overwriteDrift: false })
  expect(timeouts).toEqual([10_000, 30_000])
})
