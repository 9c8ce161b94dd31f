/**
 * nginx as a reverse proxy with one worker and kept-alive connections to the backend: at `/` without any check, the reference; below
 * `/checked` with `limit_req` by caller and an `auth_request` to the backend, the nearest it comes to what a gateway does.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, type ProxyServer, startProxy } from './proxy.ts'

export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).error === undefined
}

export async function startNginx(upstream: string): Promise<ProxyServer> {
  const dir = mkdtempSync(join(tmpdir(), 'nginx-'))
  const port = await freePort()
  const config = join(dir, 'nginx.conf')
  writeFileSync(
    config,
    `daemon off; master_process off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path ${dir}; proxy_temp_path ${dir}; fastcgi_temp_path ${dir}; uwsgi_temp_path ${dir}; scgi_temp_path ${dir};
  keepalive_requests 100000000;
  upstream backend { server ${upstream.replace('http://', '')}; keepalive 64; keepalive_requests 100000000; }
  limit_req_zone $http_authorization zone=callers:1m rate=1000000r/s;
  proxy_http_version 1.1; proxy_set_header Connection "";
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://backend; }
    location /checked/ { limit_req zone=callers burst=100000 nodelay; auth_request /auth; proxy_pass http://backend/; }
    location = /auth { internal; proxy_pass http://backend/auth; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header Connection ""; }
  }
}`,
  )
  const child = await startProxy({ name: 'nginx', command: `nginx -c ${config} -p ${dir}`, port, path: '/' })
  return {
    ...child,
    async stop() {
      await child.stop()
      const errors = readFileSync(join(dir, 'error.log'), 'utf8')
      if (/\[(emerg|alert|crit)\]/.test(errors)) console.error(errors.slice(0, 2000))
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
