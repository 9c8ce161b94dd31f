/** HAProxy as a reverse proxy with one thread that does what a gateway does: it verifies the caller's token and counts the caller's requests. */
import { spawnSync } from 'node:child_process'
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keysOf } from './control-api.ts'
import { freePort, type ProxyServer, startProxy } from './proxy.ts'

export function hasHaproxy(): boolean {
  return spawnSync('haproxy', ['-v']).error === undefined
}

/** @param issuer whose tokens are accepted; its first RSA key verifies them */
export async function startHaproxy(upstream: string, issuer: string): Promise<ProxyServer> {
  const dir = mkdtempSync(join(tmpdir(), 'haproxy-'))
  const port = await freePort()
  const [config, key] = [join(dir, 'haproxy.cfg'), join(dir, 'key.pem')]
  writeFileSync(key, await publicKeyOf(issuer))
  writeFileSync(
    config,
    `global
  nbthread 1
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend callers
  bind 127.0.0.1:${port}
  stick-table type string len 64 size 100k expire 2m store http_req_rate(1m)
  http-request return status 200 if { path /ready }
  http-request set-var(txn.bearer) http_auth_bearer
  http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')
  http-request set-var(txn.iss) var(txn.bearer),jwt_payload_query('$.iss')
  http-request set-var(txn.sub) var(txn.bearer),jwt_payload_query('$.sub')
  http-request set-var(txn.exp) var(txn.bearer),jwt_payload_query('$.exp','int')
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 unless { var(txn.alg) -m str RS256 }
  http-request deny deny_status 401 unless { var(txn.iss) -m str ${issuer} }
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_verify(txn.alg,"${key}") 1 }
  http-request deny deny_status 401 if { var(txn.exp),sub(txn.now) -m int lt 0 }
  http-request track-sc0 var(txn.sub)
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 100000000 }
  default_backend backend
backend backend
  server one ${upstream.replace('http://', '')}
`,
  )
  const child = await startProxy({
    name: 'HAProxy',
    command: `haproxy -db -q -f ${config}`,
    port,
    path: '/ready',
  })
  return {
    ...child,
    async stop() {
      await child.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** PEM, as `jwt_verify` reads it. @throws Error when the issuer names no RSA key */
async function publicKeyOf(issuer: string): Promise<string> {
  const { keys } = JSON.parse(await keysOf(issuer)) as { readonly keys: readonly JsonWebKey[] }
  const key = keys.find(({ kty }) => kty === 'RSA')
  if (key === undefined) throw new Error(`${issuer} has no RSA key`)
  return createPublicKey({ format: 'jwk', key }).export({ format: 'pem', type: 'spki' }).toString()
}
