/** What requests to an MCP server receive beside their responses: by id, the only one of a kind, and nothing of an ended call. */
import { expect, it } from 'vitest'
import { RequestReceivers } from '../../../../src/mcp/client/receivers.ts'

const onLog = () => {}
const onProgress = () => {}
const onServerRequest = async () => undefined

it('keeps nothing for a request that receives nothing', () => {
  const receivers = new RequestReceivers()
  expect(receivers.add(1, undefined, undefined, undefined)).toBeUndefined()
  expect(receivers.get(1)).toBeUndefined()
})

it('names the only receiver of a kind, whatever the others receive', () => {
  const receivers = new RequestReceivers()
  const first = receivers.add(1, onProgress, undefined, onLog)!
  receivers.add(2, undefined, onServerRequest, undefined)
  expect(receivers.only('onLog')).toBe(onLog)
  expect(receivers.only('onServerRequest')).toBe(onServerRequest)
  receivers.add('thread-1:3', undefined, undefined, () => {})
  expect(receivers.only('onLog')).toBeUndefined()
  expect(receivers.get(1)?.onProgress).toBe(onProgress)
  receivers.end(1, first)
  expect(receivers.get(1)).toBeUndefined()
  expect(receivers.only('onProgress')).toBeUndefined()
})

it('holds no function of a request that has ended', () => {
  const receivers = new RequestReceivers()
  const ended = receivers.add(1, onProgress, onServerRequest, onLog)!
  receivers.end(1, ended)
  expect(Object.values(ended)).toEqual([undefined, undefined, undefined])
})
