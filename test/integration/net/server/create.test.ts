/** Which listener is chosen, in child processes: on a platform without a native build, and where the JavaScript fallback of uWebSockets is requested. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { listenerSupport } from '../../../../src/net/server/create.ts'

const run = promisify(execFile)

/** Runs in its own process, so that the native module is not loaded yet. */
async function inProcess(prelude: string, env: Record<string, string> = {}): Promise<unknown> {
  const script = `
    ${prelude}
    import(${JSON.stringify(new URL('../../../../src/net/server/create.ts', import.meta.url).href)}).then(({ createListener, listenerSupport }) => {
      const options = { host: '127.0.0.1', port: 0, handler() {}, limits: { bodyTimeoutMs: 1000, maxHeaderBytes: 1000, maxUrlBytes: 1000, maxHeaders: 10 }, onRefused() {} }
      const kindOf = kind => { try { return createListener(kind, options).kind } catch (error) { return error.message } }
      console.log(JSON.stringify({ support: listenerSupport(), auto: kindOf('auto'), uws: kindOf('uws'), node: kindOf('node') }))
      process.exit()
    })`
  const { stdout, stderr } = await run(process.execPath, ['--import', 'tsx', '-e', script], {
    env: { ...process.env, ...env },
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

describe('createListener', () => {
  it('takes node and refuses uws with a reason where no native build exists', async () => {
    const response = (await inProcess(
      `Object.defineProperty(process, 'platform', { value: 'plan9' })`,
    )) as Record<string, unknown>
    expect(response).toMatchObject({ support: { kinds: ['node'] }, auto: 'node', node: 'node' })
    expect(response.uws).toMatch(
      /HTTP_SERVER=uws cannot be used on this system: .*no build for plan9_.* set HTTP_SERVER=auto or node/,
    )
  })

  it.skipIf(!listenerSupport().kinds.includes('uws'))(
    'never takes the imitation in JavaScript (skipped where no native build loads)',
    async () => {
      expect(await inProcess('', { UWS_USE_FALLBACK: '1' })).toEqual({
        support: { kinds: ['uws', 'node'], uwsBuild: listenerSupport().uwsBuild },
        auto: 'uws',
        uws: 'uws',
        node: 'node',
      })
    },
  )
})
