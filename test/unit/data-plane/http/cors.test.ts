/** Which origins a page may call from. The headers on the wire are tested in test/e2e/cors.test.ts. */
import { describe, expect, it } from 'vitest'
import { Cors } from '../../../../src/data-plane/http/cors.ts'

const cors = (origins: readonly string[]) =>
  new Cors({
    origins,
    methods: ['GET', 'POST'],
    allowHeaders: [],
    exposeHeaders: [],
    maxAgeSecs: 60,
    ownOrigin: 'http://gateway.example:8080',
  })

describe('an allowed origin', () => {
  const allowed = cors(['http://localhost:3000'])

  it.each(['', 'http://localhost:3000', 'http://gateway.example:8080'])('accepts %j', origin => {
    expect(allowed.allows(origin)).toBe(true)
  })

  it.each([
    'http://localhost:3000.evil.example',
    'http://localhost:30001',
    'http://localhost:300',
    'http://localhost',
    'https://localhost:3000',
    'http://evil.example/http://localhost:3000',
    'http://sub.localhost:3000',
    'http://gateway.example:8080.evil.example',
    'null',
  ])('rejects %j, which only resembles it', origin => {
    expect(allowed.allows(origin)).toBe(false)
    expect(allowed.headers(origin)).toEqual(['vary', 'origin'])
  })

  it('is every origin when the setting is *', () => {
    expect(cors(['*']).allows('http://localhost:3000.evil.example')).toBe(true)
  })
})
