/**
 * A web-standard handler on every listener: the same requests in, the same responses out, bounded and cancelled
 * alike.
 */
import { expect, it } from 'vitest'
import { mountWeb, type WebHandler, type WebMountOptions } from '../../../src/net/server/web.ts'
import {
  head,
  type OpenListener,
  onEachListenerAndLot,
  openListener,
  pause,
  RawClient,
  waitFor,
} from './kit.ts'

onEachListenerAndLot('web handlers', kind => {
  const failures: unknown[] = []
  const mount = (handler: WebHandler, options: Partial<WebMountOptions> = {}): Promise<OpenListener> =>
    openListener(
      kind,
      mountWeb(handler, {
        maxBodyBytes: 1 << 20,
        scheme: 'http',
        onError: error => failures.push(error),
        ...options,
      }),
    )

  it('shows method, URL, headers and body of the request', async () => {
    const { url, port } = await mount(async request =>
      Response.json({
        method: request.method,
        url: request.url,
        type: request.headers.get('content-type'),
        body: await request.text(),
      }),
    )
    const response = await fetch(`${url}/v1/tenants?limit=5`, {
      method: 'POST',
      body: '{"ä":1}',
      headers: { 'content-type': 'application/json' },
    })
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('content-length')).not.toBeNull()
    expect(await response.json()).toEqual({
      method: 'POST',
      url: `http://127.0.0.1:${port}/v1/tenants?limit=5`,
      type: 'application/json',
      body: '{"ä":1}',
    })
  })

  it('sends status, repeated cookies and a response without body', async () => {
    const { url } = await mount(() => {
      const headers = new Headers({ 'x-a': 'b' })
      headers.append('set-cookie', 'a=1')
      headers.append('set-cookie', 'b=2')
      return new Response(null, { status: 204, headers })
    })
    const response = await fetch(url, { method: 'DELETE' })
    expect(response.status).toBe(204)
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(response.headers.get('x-a')).toBe('b')
  })

  it('responds to HEAD with the head alone', async () => {
    const { port } = await mount(() => new Response('text', { headers: { 'content-length': '4' } }))
    const text = await new RawClient(port).send(head('HEAD / HTTP/1.1')).until('\r\n\r\n')
    expect(text.toLowerCase()).toContain('content-length: 4')
    expect(text.endsWith('\r\n\r\n')).toBe(true)
  })

  it('calls the handler before the body has arrived, and rejects one over the bound', async () => {
    let read = ''
    const { url } = await mount(
      async request => {
        if (new URL(request.url).pathname === '/unread') return new Response('unread')
        read = await request.text()
        return new Response('no')
      },
      { maxBodyBytes: 100 },
    )
    const response = await fetch(url, { method: 'POST', body: 'x'.repeat(101) })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: 'payload_too_large' })
    expect(read).toBe('')
    const unread = await fetch(`${url}/unread`, { method: 'POST', body: 'x'.repeat(101) })
    expect(await unread.text()).toBe('unread')
  })

  it('responds with 500 when the handler throws and reports the reason to the operator only', async () => {
    failures.length = 0
    const { url } = await mount(() => {
      throw new Error('the secret reason')
    })
    const response = await fetch(url)
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
    expect(String(failures)).toContain('the secret reason')
  })

  it('streams a response piece by piece while it is made', async () => {
    let step: (() => void) | undefined
    const { port } = await mount(() => {
      const body = new ReadableStream({
        async start(controller) {
          for (const text of ['one;', 'two;']) {
            controller.enqueue(new TextEncoder().encode(text))
            await new Promise<void>(resolve => {
              step = resolve
            })
          }
          controller.close()
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
    const client = new RawClient(port).send(head('GET / HTTP/1.1'))
    await client.until('one;')
    expect(client.text).not.toContain('two;')
    step!()
    await client.until('two;')
    step!()
    await client.until('0\r\n\r\n')
  })

  it('asks the handler for no more than the client reads, and cancels it when the client disconnects', async () => {
    let made = 0
    let cancelled = false
    let signalled = false
    const { port } = await mount(request => {
      request.signal.addEventListener('abort', () => {
        signalled = true
      })
      return new Response(
        new ReadableStream({
          async pull(controller) {
            made++
            controller.enqueue(new Uint8Array(64 << 10))
            await pause(0)
          },
          cancel() {
            cancelled = true
          },
        }),
      )
    })
    const client = new RawClient(port)
    client.socket.pause()
    client.send(head('GET / HTTP/1.1'))
    let last = -1
    await waitFor(() => made > 10)
    while (made !== last) {
      last = made
      await pause(150)
    }
    expect(made * (64 << 10)).toBeLessThan(48 << 20)
    client.socket.destroy()
    await waitFor(() => cancelled && signalled)
  })

  it('breaks the connection when the body fails half-way, and reports it', async () => {
    failures.length = 0
    const { port } = await mount(() => {
      let pulls = 0
      return new Response(
        new ReadableStream({
          async pull(controller) {
            await pause(10)
            if (pulls++ > 1) throw new Error('the source broke')
            controller.enqueue(new TextEncoder().encode('half'))
          },
        }),
      )
    })
    const text = await new RawClient(port).send(head('GET / HTTP/1.1')).untilClosed()
    expect(text).toContain('half')
    expect(text).not.toMatch(/\r\n0\r\n/)
    expect(String(failures)).toContain('the source broke')
  })
})
