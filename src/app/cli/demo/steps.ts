/** The steps of the demo in order, each with its checks. They depend on the example shop and the seeded clients. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseJson } from '../../../base/json/parse-json.ts'
import { LATEST_LEGACY } from '../../../mcp/versions.ts'
import { type DemoExchange, exchange } from './exchange.ts'
import { expect, expectStatus, field } from './expect.ts'
import { findTokenEndpoint, getToken } from './token.ts'
import type { Transcript } from './transcript.ts'

export interface DemoOptions {
  readonly url: string
  readonly authUrl: string
}

/** More than the plan of `demo-agent` (5 per second) admits at once. */
const BURST = 8
const MIN_TOOLS = 12
const MAX_WAIT_SECS = 61
const PROTOCOL_VERSION = LATEST_LEGACY

/** @throws DemoFailure at the first unexpected response. */
export async function walk({ url, authUrl }: DemoOptions, transcript: Transcript): Promise<void> {
  transcript.step('discover', 'Discover the token endpoint')
  const endpoint = await findTokenEndpoint(url, authUrl, transcript)
  transcript.ok(`the token endpoint is ${endpoint}`)

  transcript.step('token', 'Get a token as demo-agent, a client that may read and execute')
  const agent = await getToken(endpoint, 'demo-agent', transcript)
  transcript.ok('a signed JWT')

  transcript.step('list', 'List the tools')
  await listTools(url, agent, transcript)

  transcript.step('call-rest', 'Place an order over REST')
  const order = orderArguments()
  const placed = await admitted(() => callOverRest(url, agent, 'shop_placeOrder', order), transcript)
  const orderId = orderIdOf(placed, placed.response)
  transcript.ok(`the shop accepted order ${orderId}`)

  transcript.step('call-jsonrpc', 'Make the same call over JSON-RPC, as MCP clients do')
  await callOverJsonRpc(url, agent, order, orderId, transcript)

  transcript.step('denied', 'Make the same call as demo-viewer, a client that may only read')
  await beDenied(url, await getToken(endpoint, 'demo-viewer', transcript), order, transcript)

  transcript.step('quota', `Make ${BURST} simultaneous calls on a plan that allows 5 calls per second`)
  const waitSecs = await exceedQuota(url, agent, orderId, transcript)

  transcript.step('recovered', `Wait ${waitSecs} s (Retry-After), then cancel the order`)
  await sleep(waitSecs * 1000)
  const cancelled = await admitted(
    () => callOverRest(url, agent, 'shop_cancelOrder', { orderId, reason: 'The demo is over.' }),
    transcript,
  )
  orderIdOf(cancelled, cancelled.response)
  transcript.ok('the call was admitted; the order is canceled')
}

/** With the same Idempotency-Key, a repeated call returns the first order. */
function orderArguments(): { readonly [name: string]: unknown } {
  return {
    'Idempotency-Key': `demo-${randomUUID()}`,
    customerId: 'K-1',
    lines: [{ productId: 'P-1001', quantity: 1 }],
    shippingAddress: {
      recipient: 'Ada Vega',
      street: 'Lindenallee 7',
      postalCode: '50968',
      city: 'Köln',
      country: 'DE',
    },
  }
}

async function listTools(url: string, token: string, transcript: Transcript): Promise<void> {
  const listed = await exchange({
    method: 'POST',
    url: `${url}/mcp/v1/tools`,
    headers: bearer(token),
    body: {},
  })
  transcript.show(listed)
  expectStatus(listed, 200)
  const tools = field(listed, 'tools')
  expect(Array.isArray(tools) && tools.length >= MIN_TOOLS, `at least ${MIN_TOOLS} tools`, listed.response)
  const names = tools.map(tool => (tool as { name?: unknown }).name)
  for (const name of ['shop_placeOrder', 'shop_getOrder', 'shop_cancelOrder'])
    expect(names.includes(name), `the tool ${name}`, names)
  expect(!names.includes('shop_deleteOrder'), 'only tools that the client may call', names)
  transcript.note(names.join(', ').replace(/(.{80,110}), /g, '$1,\n   '))
  transcript.ok(`${tools.length} tools; the client may call all of them`)
}

async function callOverJsonRpc(
  url: string,
  token: string,
  order: object,
  orderId: string,
  transcript: Transcript,
): Promise<void> {
  const params = { name: 'shop_placeOrder', arguments: order }
  const called = await admitted(
    () =>
      exchange({
        method: 'POST',
        url: `${url}/mcp/sse`,
        headers: {
          ...bearer(token),
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': PROTOCOL_VERSION,
        },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      }),
    transcript,
  )
  expect(field(called, 'id') === 1, 'a response with the id of the request', called.response)
  const same = orderIdOf(called, field(called, 'result'))
  expect(same === orderId, `the same order ${orderId}, because the Idempotency-Key is the same`, same)
  transcript.ok(`the response contains the same order ${same}: the shop did not place a second order`)
}

async function beDenied(url: string, token: string, order: object, transcript: Transcript): Promise<void> {
  const denied = await callOverRest(url, token, 'shop_placeOrder', order)
  transcript.show(denied)
  expectStatus(denied, 403)
  expect(field(denied, 'error') === 'forbidden', 'error "forbidden"', denied.response)
  const reasons = field(denied, 'reasons')
  expect(Array.isArray(reasons) && reasons.length > 0, 'the reasons for the denial', denied.response)
  expect(typeof field(denied, 'decision_id') === 'string', 'a decision_id', denied.response)
  transcript.ok('the policy denied the call and gave its reasons')
}

/** @returns seconds to wait before calling again */
async function exceedQuota(
  url: string,
  token: string,
  orderId: string,
  transcript: Transcript,
): Promise<number> {
  const burst = await Promise.all(
    Array.from({ length: BURST }, () => callOverRest(url, token, 'shop_getOrder', { orderId })),
  )
  transcript.showMany(burst)
  const refused = burst.filter(responded => responded.status === 429)
  const strange = burst.find(responded => responded.status !== 429 && responded.status !== 200)
  expect(strange === undefined, 'only 200 and 429', strange)
  expect(
    refused.length > 0,
    `status 429 for some of ${BURST} simultaneous calls`,
    `status 200 for all ${BURST} calls`,
  )
  for (const one of refused) {
    expect(retryAfterSecs(one) > 0, 'a Retry-After header', one.responseHeaders)
    expect(field(one, 'error') === 'quota_exceeded', 'error "quota_exceeded"', one.response)
  }
  transcript.note('One of the refused calls:')
  transcript.show(refused[0]!)
  transcript.ok(
    `calls admitted: ${BURST - refused.length}; calls refused with 429 and Retry-After: ${refused.length}`,
  )
  return Math.min(MAX_WAIT_SECS, Math.max(...refused.map(retryAfterSecs)))
}

function callOverRest(url: string, token: string, name: string, args: object): Promise<DemoExchange> {
  const body = { name, arguments: args }
  return exchange({ method: 'POST', url: `${url}/mcp/tools/call`, headers: bearer(token), body })
}

/** Waits once if an earlier run has used the quota, so that the demo can be repeated. */
async function admitted(call: () => Promise<DemoExchange>, transcript: Transcript): Promise<DemoExchange> {
  let responded = await call()
  const waitSecs = retryAfterSecs(responded)
  // over JSON-RPC a rejected call is a result with HTTP 200; both transports send the header
  if (waitSecs > 0 && waitSecs <= MAX_WAIT_SECS) {
    transcript.note(`The quota is used up; waiting ${waitSecs} s.`)
    await sleep(waitSecs * 1000)
    responded = await call()
  }
  transcript.show(responded)
  expectStatus(responded, 200)
  return responded
}

function orderIdOf(responded: DemoExchange, result: unknown): string {
  const { content, isError } = (result ?? {}) as { content?: { text?: unknown }[]; isError?: unknown }
  const text = content?.[0]?.text
  expect(isError !== true && typeof text === 'string', 'a tool result with text', responded.response)
  const { id } = (parseJson(text) ?? {}) as { id?: unknown }
  expect(typeof id === 'string', 'an order with an id in the text of the tool result', text)
  return id
}

function retryAfterSecs(responded: DemoExchange): number {
  return Number(responded.responseHeaders['retry-after'] ?? 0)
}

function bearer(token: string): { readonly [name: string]: string } {
  return { authorization: `Bearer ${token}` }
}
