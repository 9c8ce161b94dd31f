/**
 * Sizes of URL and headers: what fits is served, what is too big is rejected where that is safe, and nothing
 * behind it is run.
 */
import { expect, it } from 'vitest'
import { head, isStrictUws, onEachListener, openListener, pause, RawClient } from './kit.ts'

onEachListener('limits of a head', kind => {
  it('takes a URL of 8 KiB and responds 414 to a longer one', async () => {
    const { port, refused } = await openListener(kind, (request, response) =>
      response.send(200, [], `${request.path.length + request.query.length}`),
    )
    const fits = `/${'a'.repeat(4000)}?${'b'.repeat(8192 - 4001)}`
    await new RawClient(port).send(head(`GET ${fits} HTTP/1.1`)).until('\r\n\r\n8192')
    const text = await new RawClient(port).send(head(`GET ${fits}b HTTP/1.1`)).untilClosed()
    expect(text).toMatch(/^HTTP\/1\.1 414 /)
    expect(text.toLowerCase()).toContain('connection: close')
    expect(refused).toEqual(['url_too_long'])
  })

  it('takes headers of 16 KiB and responds 431 to more', async () => {
    const { port, refused } = await openListener(kind, (request, response) =>
      response.send(200, [], `${request.header('x').length}`),
    )
    const spaceBytes = 16 * 1024 - 'hosttest.examplex'.length
    await new RawClient(port)
      .send(head('GET / HTTP/1.1', `X: ${'a'.repeat(spaceBytes)}`))
      .until(`\r\n\r\n${spaceBytes}`)
    const text = await new RawClient(port)
      .send(head('GET / HTTP/1.1', `X: ${'a'.repeat(spaceBytes + 1)}`))
      .untilClosed()
    expect(text).toMatch(/^HTTP\/1\.1 431 /)
    expect(refused).toEqual(['headers_too_large'])
  })

  it('counts headers against their bound', async () => {
    const { port, refused } = await openListener(
      kind,
      (request, response) => response.send(200, [], `${request.rawHeaders.length / 2} headers`),
      { limits: { maxHeaders: 20 } },
    )
    const lines = Array.from({ length: 19 }, (_, n) => `X-${n}: a`)
    await new RawClient(port).send(head('GET / HTTP/1.1', ...lines)).until('20 headers')
    expect(await new RawClient(port).send(head('GET / HTTP/1.1', ...lines, 'Y: b')).untilClosed()).toMatch(
      / 431 /,
    )
    expect(refused).toEqual(['headers_too_large'])
  })

  if (kind === 'node') {
    it('takes 64 headers, where the older native parser of uws stops at 48', async () => {
      const { port } = await openListener(kind, (request, response) =>
        response.send(200, [], `${request.rawHeaders.length / 2} headers`),
      )
      const lines = Array.from({ length: 63 }, (_, n) => `X-${n}: a`)
      await new RawClient(port).send(head('GET / HTTP/1.1', ...lines)).until('64 headers')
      expect(await new RawClient(port).send(head('GET / HTTP/1.1', ...lines, 'Y: b')).untilClosed()).toMatch(
        / 431 /,
      )
    })
  }

  const isShortHeadOnly = kind === 'uws' && !isStrictUws

  it(`${isShortHeadOnly ? 'closes on' : 'reads'} a head of 6 KiB that arrives in two reads`, async () => {
    const { port } = await openListener(kind, (request, response) =>
      response.send(200, [], `${request.header('x').length}`),
    )
    const client = new RawClient(port).send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(3000)}`)
    await pause(30)
    client.send(`${'a'.repeat(3000)}\r\n\r\n`)
    if (isShortHeadOnly) expect(await client.untilClosed()).toBe('')
    else await client.until('\r\n\r\n6000')
  })

  it('runs nothing that was pipelined behind a head too big', async () => {
    const ran: string[] = []
    const { port } = await openListener(kind, (request, response) => {
      ran.push(request.path)
      response.send(200, [])
    })
    const client = new RawClient(port)
    client.send(head(`GET /${'a'.repeat(8193)} HTTP/1.1`) + head('GET /behind HTTP/1.1'))
    await client.untilClosed()
    await pause(30)
    expect(ran).toEqual([])
  })

  it('ends a head that grows without end', async () => {
    const { port } = await openListener(kind, (_request, response) => response.send(200, []))
    const client = new RawClient(port).send('GET / HTTP/1.1\r\nHost: a\r\n')
    for (let n = 0; n < 200 && !client.closed; n++) {
      client.send(`X-${n}: ${'a'.repeat(500)}\r\n`)
      await pause(2)
    }
    expect(await client.untilClosed()).toMatch(isShortHeadOnly ? /^$/ : / 431 /)
  })
})
