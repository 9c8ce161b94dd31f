/** The process that the kill rounds kill: a control plane on a given database that takes each caller for the platform. It is started, not imported. */
import { createControlPlane } from '../../../src/control-plane/api/control-plane.ts'
import { openMigratedStore } from '../../../src/control-plane/store/open-store.ts'
import { principal } from '../../../src/model/principal.ts'
import { serve } from './serve.ts'

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
const store = await openMigratedStore({ url, dataDir, now: Date.now, onFault })
const control = createControlPlane({
  store,
  verifier: { ready: true, verify: () => platform, clearCache: () => 0, close() {} },
  // What may be done is not the question here; the policy's own suites ask it.
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
  now: Date.now,
  maxBodyBytes: 1024 * 1024,
  onFault,
})
const served = await serve(control)
process.stdout.write(`${served.url}\n`)
