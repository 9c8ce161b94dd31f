/** Errors that no code expected, in the process of a control plane: which of them end it, and that the others are counted and logged without secrets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ServeProcess } from '../fixtures/planes.ts'

const PORTS = { GATEWAY_PORT: '0', API_PORT: '0', METRICS_PORT: '0' }
const SECRET = 'hunter2-of-the-test'

/** A control plane whose process runs `code` on SIGUSR2. */
async function startWith(code: string): Promise<{ readonly process: ServeProcess; readonly dir: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-unexpected-'))
  const fault = join(dir, 'fault.mjs')
  writeFileSync(fault, `process.once('SIGUSR2', () => { ${code} })`)
  const serve = new ServeProcess({
    ...PORTS,
    ROLE: 'control-plane',
    AUTH_ISSUER: 'none',
    DATA_DIR: join(dir, 'data'),
    LOG_LEVEL: 'silent',
    NODE_OPTIONS: `--import ${fault}`,
  })
  await serve.start()
  return { process: serve, dir }
}

it('an unexpected rejection or error event does not end the process; it is counted, logged without secrets, and fails the test', async () => {
  const { process: serve, dir } = await startWith(`
    Promise.reject(new Error('refused redis://user:${SECRET}@host'))
    import('node:events').then(({ EventEmitter }) => setImmediate(() =>
      new EventEmitter().emit('error', Object.assign(new Error('lost'), { command: ['AUTH', '${SECRET}'] }))))`)
  try {
    process.kill(serve.pid!, 'SIGUSR2')
    const metrics = async () => (await fetch(`${serve.addresses.metrics_url}/metrics`)).text()
    for (const kind of ['rejection', 'error_event'])
      await expect.poll(metrics).toContain(`platform_unexpected_errors_total{kind="${kind}"} 1`)
    expect((await fetch(`${serve.addresses.api_url}/ready`)).status).toBe(200)
    const ended = serve.end('SIGTERM')
    await expect(ended).rejects.toThrow(/unexpected error/)
    await expect(ended).rejects.not.toThrow(SECRET)
  } finally {
    await serve.end('SIGKILL').catch(() => {})
    rmSync(dir, { recursive: true, force: true })
  }
}, 180_000)

it('a programming error in a callback ends the process', async () => {
  const { process: serve, dir } = await startWith('setTimeout(() => undefined.missing)')
  try {
    process.kill(serve.pid!, 'SIGUSR2')
    await expect.poll(() => serve.running).toBe(false)
  } finally {
    await serve.end('SIGKILL').catch(() => {})
    rmSync(dir, { recursive: true, force: true })
  }
}, 180_000)
