/** The process that the kill rounds kill: a control plane that sends its webhooks, and one endpoint whose change is always rolled back. */

import { createSealer } from '../../../src/base/secrets/sealer.ts'
import { createControlPlane } from '../../../src/control-plane/api/control-plane.ts'
import { revokeSubscription } from '../../../src/control-plane/api/services/subscriptions.ts'
import { openMigratedStore } from '../../../src/control-plane/store/open-store.ts'
import { startWebhooks } from '../../../src/control-plane/webhooks/webhook-sending.ts'
import { principal } from '../../../src/model/principal.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { serve } from '../control/serve.ts'

const [url = '', dataDir = ''] = process.argv.slice(2)
const onFault = (message: string, error: unknown) => process.stderr.write(`${message}: ${String(error)}\n`)
const platform = principal({
  kind: 'token',
  subject: 'platform',
  consumer: 'platform',
  tenant: undefined,
  roles: ['cpi-admin'],
  scopes: [],
  subscriptionId: undefined,
  expiresAtMs: Number.MAX_SAFE_INTEGER,
})
const now = Date.now
const store = await openMigratedStore({ url, dataDir, now, onFault, sealer: createSealer('crash') })
await startWebhooks({
  store,
  egress: createEgress({ allow: [], allowLoopback: true }),
  now,
  httpsOnly: false,
  userAgent: 'toolgate/crash',
  timeoutMs: 1_500,
  leaseMs: 4_000,
  pollMs: 250,
  onOutcome: () => {},
  onFault,
})
const control = createControlPlane({
  store,
  verifier: { ready: true, verify: () => platform, clearCache: () => 0, close() {} },
  // Everything is allowed here: the suites of the policy test its decisions.
  policy: () => ({
    engine: 'opa-wasm',
    revision: 'crash',
    decide: () => ({ allow: true, reasons: [], revision: 'crash' }),
    cached: 0,
    listKey: () => undefined,
    clearCache: () => 0,
    close() {},
  }),
  gatewayUrl: 'http://gw.example',
  apiUrl: 'http://api.example',
  version: '0.1.0',
  now,
  maxBodyBytes: 1024 * 1024,
  onFault,
})

/** Does all of a revocation, event included, and then fails. */
async function rollBack(tenant: string, id: string): Promise<Response> {
  try {
    await store.write(tenant, async tx => {
      const subscription = await tx.subscriptions.find(id, 'lock')
      await revokeSubscription(tx, subscription!, 'rolled back')
      throw new Error('rolled back on purpose')
    })
  } catch (error) {
    return new Response(String(error), { status: 418 })
  }
  return new Response('not rolled back', { status: 200 })
}

const served = await serve({
  fetch(request) {
    const [, first, tenant, id] = new URL(request.url).pathname.split('/')
    return first === 'roll-back' ? rollBack(tenant!, id!) : control.fetch(request)
  },
})
process.stdout.write(`${served.url}\n`)
