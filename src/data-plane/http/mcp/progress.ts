/** Progress of a call → `notifications/progress`, strictly increasing (every version, "Progress"). */
import type { OnProgress } from '../../pipeline/transport.ts'
import type { RpcRequest } from './message.ts'
import { metaOf } from './modern.ts'

/** undefined when the client did not request progress or cannot receive messages before the reply. */
export function progressSink(
  request: RpcRequest,
  send: ((json: string) => void) | undefined,
): OnProgress | undefined {
  const progressToken = metaOf(request)?.progressToken
  if (send === undefined || (typeof progressToken !== 'string' && typeof progressToken !== 'number'))
    return undefined
  return (progress, total, message) => {
    send(
      JSON.stringify({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: {
          progressToken,
          progress,
          // JSON leaves out what is undefined
          total,
          message,
        },
      }),
    )
  }
}
