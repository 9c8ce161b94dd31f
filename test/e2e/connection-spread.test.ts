/** Connections are spread over the threads of a gateway by the kernel of the operating system. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHI_SQUARE_OF_4, spreadConnections } from '../fixtures/connection-spread.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const THREADS = 4
const CONNECTIONS = 400

describe(`${CONNECTIONS} connections to ${THREADS} threads`, () => {
  let gateway: Deployment
  beforeAll(async () => {
    gateway = await deploy({
      WORKERS: String(THREADS),
      RATE_LIMIT_PER_MIN: '100000',
    })
  }, 240_000)
  afterAll(() => gateway?.stop())

  it('reach every thread, as evenly as a random choice', async () => {
    const { counts, chiSquare } = await spreadConnections(
      gateway,
      await gateway.token('demo-admin'),
      CONNECTIONS,
    )
    process.stdout.write(`connections per thread: ${counts.join(', ')}; chi-square ${chiSquare.toFixed(2)}\n`)
    expect(counts).toHaveLength(THREADS)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(CONNECTIONS)
    expect(chiSquare).toBeLessThan(CHI_SQUARE_OF_4.oneIn1000000)
  })
})
