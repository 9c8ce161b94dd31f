/** The OpenAPI document and the pages that show it: valid OpenAPI 3.1, and nothing from another host. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { controlPlaneDocument, ENDPOINTS } from '../../../../../src/control-plane/api/endpoints.ts'
import { mountPages } from '../../../../../src/control-plane/api/http/pages.ts'

const document = controlPlaneDocument({ apiUrl: 'https://api.example/', version: '1.2.3' })

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    const result = await validator.validate(structuredClone(document) as Record<string, unknown>)
    expect(result.errors ?? []).toEqual([])
    expect([result.valid, validator.version]).toEqual([true, '3.1'])
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' } })
  })

  it('has a unique operationId and an action for every operation, below the public address', () => {
    const ids = ENDPOINTS.map(endpoint => endpoint.id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const endpoint of ENDPOINTS) expect(endpoint.action).toMatch(/^control\.[a-z]+\.[a-z]+$/)
    expect(document).toMatchObject({ servers: [{ url: 'https://api.example/v1' }] })
  })

  it('covers the documented endpoints, except metrics', () => {
    const served = ENDPOINTS.map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}')}`,
    )
    const t = '/tenants/{}'
    expect(served).toEqual(
      expect.arrayContaining([
        'POST /tenants',
        'GET /tenants',
        ...['GET', 'PATCH', 'DELETE'].map(method => `${method} ${t}`),
        `POST ${t}/apis`,
        `GET ${t}/apis`,
        ...['GET', 'PATCH', 'DELETE'].map(method => `${method} ${t}/apis/{}`),
        `POST ${t}/subscriptions`,
        `GET ${t}/subscriptions`,
        `GET ${t}/subscriptions/{}`,
        `POST ${t}/subscriptions/{}/approve`,
        `DELETE ${t}/subscriptions/{}`,
        `GET ${t}/subscriptions/{}/usage`,
        `GET ${t}/apikeys`,
        `POST ${t}/apikeys`,
        `POST ${t}/apikeys/{}/rotate`,
        `DELETE ${t}/apikeys/{}`,
        `POST ${t}/webhooks`,
        `GET ${t}/webhooks`,
        `PATCH ${t}/webhooks/{}`,
        `DELETE ${t}/webhooks/{}`,
        `GET ${t}/webhooks/{}/deliveries`,
        `POST ${t}/webhooks/{}/deliveries/{}/retry`,
        `POST ${t}/webhooks/{}/test`,
        'POST /plans',
        'GET /apis',
        'GET /apis/{}',
        'GET /subscriptions',
        'GET /consumers',
        'GET /gateways',
        'GET /portal/apis',
        'GET /deployments/{}',
        'POST /deployments/{}/sync',
      ]),
    )
  })
})

describe('the pages', () => {
  const app = new Hono()
  mountPages(app, '')

  it.each(['/docs', '/redoc'])(
    '%s loads its scripts and styles from here, and is kept from loading others',
    async path => {
      const page = await app.request(path)
      const html = await page.text()
      expect(html).not.toMatch(/(src|href)="(https?:)?\/\//)
      const assets = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(match => match[1]!)
      expect(assets.length).toBeGreaterThan(1)
      for (const asset of assets) {
        const reply = await app.request(`/${asset}`)
        const type = reply.headers.get('content-type')
        expect([asset, reply.status, type]).toEqual([asset, 200, expect.stringMatching(/; charset=utf-8$/)])
        expect((await reply.arrayBuffer()).byteLength).toBeGreaterThan(50)
      }
      const rules = page.headers.get('content-security-policy')!
      expect(rules).toContain("default-src 'none'")
      expect(rules).toContain("frame-ancestors 'none'")
      expect(page.headers.get('referrer-policy')).toBe('same-origin')
      expect(rules).not.toMatch(/https?:|\*/)
    },
  )
})
