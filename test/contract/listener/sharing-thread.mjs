/**
 * A worker thread that listens on a shared port, responds with its id, and closes or throws when instructed to.
 * JavaScript, because a thread does not inherit the loader of the tests.
 */
import { parentPort, threadId, workerData } from 'node:worker_threads'
import { register } from 'tsx/esm/api'

register()
const { createListener } = await import('../../../src/net/server/create.ts')
const { DEFAULT_LISTENER_LIMITS } = await import('../../../src/net/server/listener.ts')

const listener = createListener('uws', {
  host: '127.0.0.1',
  port: workerData,
  limits: DEFAULT_LISTENER_LIMITS,
  allowChunkedRequests: false,
  sharePort: true,
  onRefused: () => {},
  handler: (_request, response) => response.send(200, [], `thread ${threadId};`),
})
parentPort.postMessage(await listener.listen())
parentPort.once('message', async order => {
  if (order === 'throw') throw new Error('a bug in the thread')
  await listener.close()
  parentPort.close()
})
