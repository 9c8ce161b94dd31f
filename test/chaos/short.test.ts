/** The short form of a chaos run: one seed, three faults, and the oracles; too short to judge the growth of memory. `npm run chaos` is the long one. */
import { expect, it } from 'vitest'
import { WITHOUT_POSTGRES } from '../contract/store/postgres-cluster.ts'
import { hasKafka, KAFKA_HINT } from '../services/kafka/kafka-server.ts'
import { withoutRedis } from '../services/redis/redis-server.ts'
import { runChaos } from './run.ts'

const SEED = 1
const skipped = withoutRedis || WITHOUT_POSTGRES || !hasKafka()

it.skipIf(skipped)(
  `three faults under load: the oracles find nothing (${KAFKA_HINT}, Redis and PostgreSQL)`,
  {
    timeout: 300_000,
  },
  async () => {
    const result = await runChaos({
      seed: SEED,
      forMs: 24_000,
      everyMs: 8_000,
      gateways: 2,
      controls: 2,
      rate: 0.5,
      kinds: ['gateway-kill', 'redis-reset', 'postgres-terminate'],
    })
    // the report of a run shows the message and no difference of values
    const said = `npm run chaos -- --seed ${SEED}; logs in ${result.dir}; ${result.findings.join(' ')}`
    expect(result.findings, said).toEqual([])
    expect(result.faults).toHaveLength(3)
    expect(result.availability.counted).toBeGreaterThan(1_000)
    expect(result.metering.required).toBeGreaterThan(1_000)
    expect(result.webhooks.promised).toBeGreaterThan(0)
  },
)
