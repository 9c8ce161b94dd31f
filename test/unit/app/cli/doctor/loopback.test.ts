/** The verdict of `toolgate doctor` on plain http at loopback addresses other than 127.0.0.1, over real connections. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { CLIENTS } from '../../../../../src/app/cli/doctor/clients.ts'
import { reach } from '../../../../../src/app/cli/doctor/steps/reach.ts'
import type { Visit } from '../../../../../src/app/cli/doctor/visit.ts'

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** The warnings of the first step for a server that requires a token. @param host of the URL, which the server listens on */
async function warningsAt(host: string, listenOn: string, client: Visit['client']): Promise<unknown> {
  server = createServer((_, response) => response.writeHead(401).end())
  await new Promise<void>(resolve => server.listen(0, listenOn, resolve))
  const url = `http://${host}:${(server.address() as AddressInfo).port}/mcp`
  return reach.run({ url, client } as Visit)
}

const on = (fromInternet: boolean) =>
  Object.values(CLIENTS).find(client => client.callsFromTheInternet === fromInternet)!

it.each([
  ['127.0.0.2', '127.0.0.2'],
  ['[::ffff:127.0.0.1]', '127.0.0.1'],
])('accepts plain http at %s, which only this machine reaches', async (host, listenOn) => {
  expect(await warningsAt(host, listenOn, on(false))).toMatchObject({ warnings: [] })
})

it('says of a client in the internet that it cannot reach 127.0.0.2', async () => {
  expect(await warningsAt('127.0.0.2', '127.0.0.2', on(true))).toMatchObject({
    warnings: [expect.stringContaining('cannot reach a loopback address')],
  })
})
