/** Requests that the egress client refuses before it opens a connection, and what becomes of calls when it is closed. */
import { once } from 'node:events'
import { expect, it } from 'vitest'
import type { EgressRequest } from '../../../src/net/egress/egress.ts'
import { httpBackend } from './backend.ts'
import { client, get, keep, overBoth } from './carriers.ts'

overBoth('requests that must not leave', () => {
  const bad: Record<string, Partial<EgressRequest>> = {
    'a relative address': { url: '/x' },
    'another scheme': { url: 'ftp://127.0.0.1/' },
    'a file': { url: 'file:///etc/passwd' },
    'credentials in the address': { url: 'http://user:secret@127.0.0.1/' },
    'a backslash in the host': { url: 'http://127.0.0.1\\@example.com/' },
    'a space in the path': { url: 'http://127.0.0.1/a b' },
    'a line break in the path': { url: 'http://127.0.0.1/a\r\nX: y' },
    'a line break in a header value': { headers: ['x', 'a\r\ny: b'] },
    'a line break in a header name': { headers: ['x\r\ny', 'b'] },
    'a method that is not a token': { method: 'GET /\r\n' },
    'a port out of range': { url: 'http://127.0.0.1:99999/' },
  }
  for (const [name, part] of Object.entries(bad)) {
    it(`refuses ${name} without a connection, without throwing, without showing a secret`, async () => {
      const backend = keep(await httpBackend((_, response) => response.end()))
      const request = { ...get(backend), ...part }
      const egress = client()
      const reply = await egress.request(request)
      expect(reply).toMatchObject({ kind: 'failure', reason: 'unsendable', sent: false })
      expect(JSON.stringify(reply)).not.toContain('secret')
      const { body: _, ...head } = request
      expect(await egress.stream(head)).toMatchObject({ kind: 'failure', reason: 'unsendable', sent: false })
    })
  }

  it('responds after close with a failure', async () => {
    const backend = keep(await httpBackend((_, response) => response.end()))
    const egress = client()
    await egress.close()
    expect(await egress.request(get(backend))).toMatchObject({ kind: 'failure', sent: false })
    expect(backend.connections()).toBe(0)
  })

  it('fails what is in flight when it is closed', async () => {
    const backend = keep(await httpBackend(() => {}))
    const egress = client()
    const pending = egress.request(get(backend))
    await once(process, 'beforeExit', { signal: AbortSignal.timeout(50) }).catch(() => {})
    await egress.close()
    expect(await pending).toMatchObject({ kind: 'failure' })
  })
})
