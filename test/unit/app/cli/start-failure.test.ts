/** Errors of the system at a start: ports and files of other directories are not taken for DATA_DIR. */
import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { startFailure } from '../../../../src/app/cli/start-failure.ts'
import { openPlainServer } from '../../../../src/net/server/plain-server.ts'

const PLACES = { dataDir: '/srv/toolgate/data', auth: { devPort: 8082 }, example: { port: 80 } }

/** As Node makes them. */
function denied(syscall: string, details: object): Error {
  const message = `EACCES: permission denied, ${syscall}`
  return Object.assign(new Error(message), { code: 'EACCES', syscall, ...details })
}

it('names the setting of a port that this user may not open', () => {
  expect(startFailure(denied('listen', { address: '127.0.0.1', port: 80 }), PLACES)).toBe(
    'cannot listen on 127.0.0.1:80: this user may not open the port; set EXAMPLE_PORT to a free port that this user may open',
  )
  expect(startFailure(denied('listen', { address: '127.0.0.1', port: 8082 }), PLACES)).toContain(
    'set AUTH_PORT to',
  )
})

it('names the setting of a port that is taken', async () => {
  const taken = await openPlainServer(createServer(), { host: '127.0.0.1', port: 0 })
  try {
    const { port } = taken
    const error = await openPlainServer(createServer(), { host: '127.0.0.1', port }).catch(reason => reason)
    expect(startFailure(error, { ...PLACES, example: { port } })).toBe(
      `cannot listen on 127.0.0.1:${port}: the port is taken; set EXAMPLE_PORT to a free port that this user may open`,
    )
  } finally {
    await taken.close()
  }
})

it.each([
  ['a directory in DATA_DIR', { path: '/srv/toolgate/data/metering' }],
  ['DATA_DIR', { path: '/srv/toolgate/data' }],
  ['the directory above', { path: '/srv/toolgate' }],
  ['a write without a path', {}],
])('names DATA_DIR for %s', (_, details) => {
  expect(startFailure(denied('mkdir', details), PLACES)).toMatch(
    /^DATA_DIR \(\/srv\/toolgate\/data\) is not writable by this user/,
  )
})

it.each([
  ['a file elsewhere', denied('open', { path: '/etc/toolgate/key.pem' })],
  ['a directory with a similar name', denied('open', { path: '/srv/toolgate/database' })],
  ['a socket', denied('connect', { address: '/var/run/postgresql/.s.PGSQL.5432' })],
])('leaves the message of %s as it is', (_, error) => {
  expect(startFailure(error, PLACES)).toBe(error.message)
})
