/** The whole walk of `toolgate demo` against a real deployment; how it takes bad gateways is a unit test. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { walk } from '../../src/app/cli/demo/steps.ts'
import { JsonTranscript } from '../../src/app/cli/demo/transcript.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

let gateway: Deployment
beforeAll(async () => {
  gateway = await deploy()
})
afterAll(() => gateway.stop())

it('behaves in every step, twice in a row, and shows no token', async () => {
  for (const _ of [1, 2]) {
    let out = ''
    const transcript = new JsonTranscript(text => {
      out += text
    })
    await walk({ url: gateway.url, authUrl: gateway.running.addresses.auth_url }, transcript)
    transcript.end()
    const steps = out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(steps.map(step => [step.step, step.ok])).toEqual(
      ['discover', 'token', 'list', 'call-rest', 'call-jsonrpc', 'denied', 'quota', 'recovered'].map(id => [
        id,
        true,
      ]),
    )
    expect(out).not.toMatch(/eyJ[\w-]{20}/)
  }
})
